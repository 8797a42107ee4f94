"""The switch of nodes by the kinds with which Longhorn upgrades them itself, end to end on controllers in memory."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.switch_method import (
    DATA_ENGINE_UPGRADES,
    INSTANCE_MANAGER_UPGRADES,
    OUTSIDE,
    SwitchMethod,
    method_of,
)

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.description import NEW_IMAGE, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import DATA_ENGINE_UPGRADES as MANAGERS
from tests.sandbox.longhorn.kinds import MANAGER_UPGRADES, NODE_UPGRADES, NODES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver, Killed, Killing

DESIGN, NEWER = "design", "v1.13"
MADE = {DESIGN: MANAGERS, NEWER: MANAGER_UPGRADES}
AT_NODE = {DESIGN: NODE_UPGRADES, NEWER: MANAGER_UPGRADES}
S1 = tuple(Volume(f"vol-{number}", SPREAD, "n1") for number in (1, 2, 3))
S2 = tuple(Volume(f"vol-{number}", ("n2", "n3"), "n1") for number in (1, 2, 3))
S3 = tuple(Volume(f"vol-{number}", SPREAD, f"n{number}") for number in (1, 2, 3))
ONE = (Volume("vol-1", SPREAD, "n1"),)
STATES = [
    *(
        (DESIGN, state)
        for state in (
            "pending",
            "initializing",
            "failing-replicas",
            "switching-over",
            "upgrading-instance-manager",
            "switching-back",
            "rebuilding-replica",
            "finalizing",
        )
    ),
    *(
        (NEWER, state)
        for state in (
            "pending",
            "relocating-engines",
            "waiting-for-source-im",
            "restoring-engines",
            "waiting-for-healthy-volumes",
        )
    ),
]
OUTER = set(OUTSIDE.kinds)


def offering(kinds: str, *volumes: Volume) -> Longhorn:
    machines = tuple(Machine(name) for name in NODES_OF_THREE)
    return Longhorn(Described(machines, volumes, offers=kinds, frontends_outlive=True))


def made(driver: Driver, kinds: str) -> list[Json]:
    return list(driver.longhorn.objects.all(MADE[kinds]))


def switch(driver: Driver, *nodes: str, **more: object) -> Outcome:
    return driver.switch(*nodes, **{"accept_unverified": [], **more})


@pytest.mark.parametrize(
    ("offered", "way"),
    [
        (OUTER, OUTSIDE),
        (OUTER | DATA_ENGINE_UPGRADES.kinds, DATA_ENGINE_UPGRADES),
        (OUTER | INSTANCE_MANAGER_UPGRADES.kinds | {"instancemanagerupgrades/status"}, INSTANCE_MANAGER_UPGRADES),
    ],
)
def test_the_way_is_what_the_api_server_offers(offered: set[str], way: SwitchMethod) -> None:
    assert method_of(offered) is way


@pytest.mark.parametrize(
    ("offered", "code"),
    [
        (OUTER | {"dataengineupgrademanagers"}, "kinds_incomplete"),
        (OUTER | {"instancemanagerupgradecontrols"}, "kinds_incomplete"),
        (OUTER | DATA_ENGINE_UPGRADES.kinds | INSTANCE_MANAGER_UPGRADES.kinds, "kinds_ambiguous"),
        ({"volumes"}, "way_missing"),
    ],
)
def test_the_way_is_never_a_guess(offered: set[str], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        method_of(offered)
    assert refused.value.verdict.reasons[0].code == code


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
def test_a_volume_that_is_attached_for_maintenance_is_waited_for_before_longhorn_is_asked(
    drive: type[Driver], kinds: str
) -> None:
    driver = drive(offering(kinds, Volume("vol-1", SPREAD, "n1", hidden=True)))
    (reason,) = driver.plan(accept_unverified=[], wait=False).verdict.deciding()
    assert (reason.code, reason.state) == ("frontend_disabled", State.WAITING)
    (reason,) = switch(driver, "n1", wait=False).verdict.deciding()
    assert (reason.code, made(driver, kinds)) == ("frontend_disabled", [])
    driver.longhorn.detach("vol-1")
    driver.longhorn.clock.advance(20)
    assert switch(driver, "n1").verdict.passed, driver.said


def test_an_engine_of_a_standby_volume_stays_where_it_is_with_longhorn_1_13(drive: type[Driver]) -> None:
    standby = Volume("vol-1", SPREAD, "n1", standby=True)
    driver = drive(offering(NEWER, standby))
    assert driver.plan(accept_unverified=[], wait=False).verdict.passed
    assert switch(driver, "n1").verdict.passed, driver.said
    other = drive(offering(DESIGN, standby))
    assert {each.code for each in other.plan(accept_unverified=[], wait=False).verdict.deciding()} == {
        "frontend_disabled"
    }
    assert {each.code for each in switch(other, "n1", wait=False).verdict.deciding()} == {"frontend_disabled"}


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
@pytest.mark.parametrize("volumes", [S1, S2, S3], ids=["S1", "S2", "S3"])
def test_the_succeeding_cases_of_the_design_are_completed(
    drive: type[Driver], kinds: str, volumes: tuple[Volume, ...]
) -> None:
    driver = drive(offering(kinds, *volumes))
    planned = driver.plan(accept_unverified=[])
    assert planned.verdict.reasons == ()
    done = switch(driver, *NODES_OF_THREE)
    assert done.verdict.passed, (done.verdict, driver.said)
    assert set(driver.images().values()) == {NEW_IMAGE.rpartition(":")[2]}
    assert [each["spec"].get("nodes") or [each["spec"]["nodeID"]] for each in made(driver, kinds)].count(["n2"]) == 1
    switch(driver, state="restored")
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []
    again = switch(driver, *NODES_OF_THREE)
    assert (again.verdict.state, again.changed, len(made(driver, kinds))) == (State.PASSED, False, 3)


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
@pytest.mark.parametrize("place", ["n1", "n2"], ids=["F1", "F2"])
def test_the_failing_cases_of_the_design_are_refused_before_anything(
    drive: type[Driver], kinds: str, place: str
) -> None:
    driver = drive(offering(kinds, Volume("vol-1", (place,), "n1"), *S1[1:]))
    planned = driver.plan(accept_unverified=[])
    assert "single_replica" in {each.code for each in planned.verdict.reasons}
    assert "vol-1" in " ".join(each.message for each in planned.verdict.reasons)
    assert made(driver, kinds) == []


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
@pytest.mark.parametrize("place", ["n1", "n2"], ids=["F1", "F2"])
def test_with_an_extra_replica_for_a_while_they_are_completed(drive: type[Driver], kinds: str, place: str) -> None:
    driver = drive(offering(kinds, Volume("vol-1", (place,), "n1"), *S1[1:]))
    assert driver.plan(accept_unverified=[], extra_replicas=True).verdict.passed
    done = switch(driver, *NODES_OF_THREE, extra_replicas=True)
    assert done.verdict.passed, done.verdict
    assert driver.longhorn.volume("vol-1")["spec"]["numberOfReplicas"] == 2
    assert switch(driver, state="restored").verdict.passed
    assert driver.longhorn.volume("vol-1")["spec"]["numberOfReplicas"] == 1
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
def test_a_look_ahead_makes_nothing(drive: type[Driver], kinds: str) -> None:
    driver = drive(offering(kinds, *ONE))
    assert switch(driver, "n1", check_mode=True).changed
    assert made(driver, kinds) == []


@pytest.mark.parametrize(("kinds", "where"), STATES)
def test_a_stall_in_every_state_is_explained_and_the_next_run_goes_on(
    drive: type[Driver], kinds: str, where: str
) -> None:
    driver = drive(offering(kinds, *ONE))
    driver.longhorn.faults.upgrade_stalls(AT_NODE[kinds], where)
    stalled = switch(driver, "n1", wait_timeout=60)
    assert stalled.verdict.state is State.REFUSED
    assert f"is in state {where}" in stalled.more["nodes"][0]["message"]
    # The next run follows the upgrade, which alone repairs the volumes that it has degraded.
    assert driver.plan(wait=False).verdict.passed
    driver.longhorn.faults.mend_all()
    done = switch(driver, "n1")
    assert done.verdict.passed, (done.verdict, driver.said)
    assert len(made(driver, kinds)) == 1
    assert driver.longhorn.observer.by_acts == []


# Longhorn v1.13 brings engines home before it calls an upgrade failed, which this fault leaves out.
ENDS = [(*each, settles) for each in STATES for settles in (False, True) if each[0] == DESIGN or not settles]


@pytest.mark.parametrize(("kinds", "where", "settles"), ENDS)
def test_an_error_in_every_state_is_told_and_the_next_run_finishes(
    drive: type[Driver], kinds: str, where: str, settles: bool
) -> None:
    driver = drive(offering(kinds, *ONE))
    driver.longhorn.faults.upgrade_fails(AT_NODE[kinds], where, "on purpose")
    failed = switch(driver, "n1")
    assert [each.code for each in failed.verdict.reasons] == ["upgrade_failed"]
    assert "on purpose" in failed.verdict.reasons[0].message
    assert kinds == NEWER or driver.longhorn.engine("vol-1")["spec"]["nodeID"] == "n1"
    driver.longhorn.faults.mend_all()
    driver.run = "run-2"
    if settles:
        assert switch(driver, state="restored", wait_timeout=900).verdict.passed
        assert driver.leftovers() == []
    assert driver.plan(accept_unverified=[], wait_timeout=900).verdict.passed
    done = switch(driver, "n1", wait_timeout=900)
    assert done.verdict.passed, (done.verdict, driver.said)
    assert switch(driver, state="restored").verdict.passed
    assert kinds == NEWER or driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
def test_an_upgrade_that_somebody_else_made_is_followed(drive: type[Driver], kinds: str) -> None:
    driver = drive(offering(kinds, *ONE))
    spec = {DESIGN: {"dataEngine": "v2", "nodes": ["n1"]}, NEWER: {"nodeID": "n1", "targetImage": NEW_IMAGE}}
    driver.longhorn.objects.create(MADE[kinds], {"metadata": {"name": "by-hand"}, "spec": spec[kinds]})
    done = switch(driver, "n1")
    assert (done.verdict.reasons, done.changed) == ((), False)
    assert [each["metadata"]["name"] for each in made(driver, kinds)] == ["by-hand"]


def test_an_upgrade_of_v1_13_is_taken_back(drive: type[Driver]) -> None:
    driver = drive(offering(NEWER, *ONE))
    driver.longhorn.faults.upgrade_stalls(MANAGER_UPGRADES, "relocating-engines")
    switch(driver, "n1", wait_timeout=60)
    driver.longhorn.faults.mend_all()
    back = switch(driver, state="restored", wait_timeout=300)
    assert back.verdict.passed, back.verdict
    (aborted,) = made(driver, NEWER)
    assert (aborted["status"]["state"], aborted["status"]["abortRequested"]) == ("failed", True)
    assert driver.leftovers() == []
    driver.run = "run-2"
    assert switch(driver, "n1").verdict.passed
    assert driver.longhorn.observer.by_acts == []


def test_an_upgrade_of_the_design_is_waited_for_since_nothing_takes_it_back(drive: type[Driver]) -> None:
    driver = drive(offering(DESIGN, *ONE))
    driver.longhorn.faults.upgrade_stalls(NODE_UPGRADES, "switching-over")
    switch(driver, "n1", wait_timeout=60)
    waits = switch(driver, state="restored", wait_timeout=60)
    assert "upgrade_goes_on" in [each.code for each in waits.verdict.reasons]
    driver.longhorn.faults.mend_all()
    assert switch(driver, state="restored", wait_timeout=600).verdict.passed
    assert driver.leftovers() == []


def test_engines_of_the_design_stay_while_their_instance_manager_does_not_run_and_return_later(
    drive: type[Driver],
) -> None:
    driver = drive(offering(DESIGN, *ONE))
    driver.longhorn.faults.manager_never_runs("n1")
    assert switch(driver, "n1", wait_timeout=60).verdict.state is State.REFUSED
    driver.longhorn.faults.upgrade_fails(NODE_UPGRADES, "upgrading-instance-manager", "on purpose")
    failed = switch(driver, "n1")
    assert [each.code for each in failed.verdict.reasons] == ["upgrade_failed", "engine_stays"]
    settled = switch(driver, state="restored", wait_timeout=60)
    assert [each.code for each in settled.verdict.reasons] == ["engine_stays"]
    # All that does not wait for the engine is put back.
    assert {each.partition(":")[0] for each in driver.leftovers()} == {"n1", "vol-1"}
    driver.longhorn.faults.mend_all()
    driver.longhorn.faults.manager_runs("n1")
    assert driver.manager_runs("n1")
    driver.run = "run-2"
    done = switch(driver, "n1", wait_timeout=900)
    assert done.verdict.passed, (done.verdict, driver.said)
    assert switch(driver, state="restored").verdict.passed
    assert driver.leftovers() == []


def test_a_node_that_took_no_replicas_before_takes_none_after_an_error(drive: type[Driver]) -> None:
    driver = drive(offering(DESIGN, *ONE))
    driver.longhorn.write(NODES, "n1", {"allowScheduling": False})
    driver.longhorn.faults.upgrade_fails(NODE_UPGRADES, "switching-over", "on purpose")
    assert [each.code for each in switch(driver, "n1").verdict.reasons] == ["upgrade_failed"]
    assert switch(driver, state="restored").verdict.passed
    assert driver.leftovers() == ["n1: unschedulable"]


def test_what_an_upgrade_of_somebody_else_has_left_is_told_with_what_a_person_must_do(drive: type[Driver]) -> None:
    driver = drive(offering(DESIGN, *ONE))
    driver.longhorn.objects.create(
        MANAGERS, {"metadata": {"name": "by-hand"}, "spec": {"dataEngine": "v2", "nodes": ["n1"]}}
    )
    driver.longhorn.faults.upgrade_fails(NODE_UPGRADES, "upgrading-instance-manager", "on purpose")
    failed = switch(driver, "n1").verdict.reasons
    assert [each.code for each in failed] == ["upgrade_failed", "upgrade_left_node"]
    assert "has left engines of volumes vol-1 away from it and it closed for replicas" in failed[1].message
    assert failed[1].remedy == (
        "Set engineNodeID of vol-1 to n1 once its instance manager runs."
        " Set allowScheduling of Longhorn node n1 to true."
    )


def killed(driver: Driver, guard: Killing) -> bool:
    """Whether a run was killed."""
    driver.guard = guard
    try:
        assert switch(driver, "n1", wait_timeout=600, wait_sleep=0.5).verdict.passed
    except Killed:
        return True
    finally:
        driver.run, driver.guard = "run-2", None
    return False


def ended(driver: Driver, kinds: str, *, goes_on: bool) -> None:
    """The next run goes on with the node, or everything is put back; both make no second upgrade of it."""
    if goes_on:
        done = switch(driver, "n1", wait_timeout=600)
        assert done.verdict.passed, (done.verdict, driver.said)
        assert len(made(driver, kinds)) == 1
        assert driver.images()["n1"] == NEW_IMAGE.rpartition(":")[2]
    assert switch(driver, state="restored", wait_timeout=600).verdict.passed
    assert len(made(driver, kinds)) <= 1
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []


@pytest.mark.parametrize("goes_on", [True, False], ids=["run again", "settle"])
@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
def test_a_kill_before_any_act_leaves_nothing(drive: type[Driver], kinds: str, goes_on: bool) -> None:
    for acts in range(9):
        driver = drive(offering(kinds, *ONE))
        more = killed(driver, Killing(acts))
        ended(driver, kinds, goes_on=goes_on)
        if not more:
            break
    assert not more
    assert acts > 0


@pytest.mark.parametrize("goes_on", [True, False], ids=["run again", "settle"])
@pytest.mark.parametrize(("kinds", "where"), STATES)
def test_a_kill_in_any_state_leaves_nothing(drive: type[Driver], kinds: str, where: str, goes_on: bool) -> None:
    driver = drive(offering(kinds, *ONE))
    driver.longhorn.faults.upgrade_stalls(AT_NODE[kinds], where)

    def there() -> bool:
        return any(each["status"].get("state") == where for each in driver.longhorn.objects.all(AT_NODE[kinds]))

    assert killed(driver, Killing(at=there))
    driver.longhorn.faults.mend_all()
    ended(driver, kinds, goes_on=goes_on)


@pytest.mark.parametrize("kinds", [DESIGN, NEWER])
def test_an_extra_replica_stays_while_the_node_is_gone_on_with(drive: type[Driver], kinds: str) -> None:
    driver = drive(offering(kinds, Volume("vol-1", ("n1",), "n1")))
    driver.longhorn.faults.upgrade_stalls(AT_NODE[kinds], "pending")
    switch(driver, "n1", wait_timeout=60, extra_replicas=True)
    driver.run = "run-2"
    switch(driver, state="restored", keep=["n1"])
    assert driver.longhorn.volume("vol-1")["spec"]["numberOfReplicas"] == 2
    driver.longhorn.faults.mend_all()
    assert switch(driver, "n1", extra_replicas=True, wait_timeout=600).verdict.passed
    assert switch(driver, state="restored").verdict.passed
    assert driver.longhorn.volume("vol-1")["spec"]["numberOfReplicas"] == 1
    assert driver.longhorn.observer.by_acts == []
