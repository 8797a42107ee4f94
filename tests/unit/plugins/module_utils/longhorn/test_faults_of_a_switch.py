"""Faults and rare volumes during the switch of a node from outside: each is named, and the next run finishes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.temporary_changes import ATTEMPTS

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.asking import replica_on
from tests.sandbox.longhorn.description import Described, Machine, Volume
from tests.sandbox.longhorn.kinds import ENGINES, MANAGERS, NODES, SHARES, SNAPSHOTS, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.web import Answer, Request
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, NODES_OF_THREE, SPREAD, Driver, outliving

ONE = Volume("vol-1", SPREAD, "n1")
AT_NODES = [each for each in NODES_OF_THREE if each != "n1"]


def finished(driver: Driver) -> None:
    """The next run finishes, everything is put back, and no act took anything."""
    driver.longhorn.faults.mend_all(NODES_OF_THREE)
    driver.run = "run-2"
    done = driver.switch("n1", wait_timeout=900)
    if "volume_interrupted" in {each.code for each in done.verdict.deciding()}:
        # By the fault; a person has seen that its workload is well.
        assert driver.longhorn.observer.losses
        assert driver.switch(state="restored", wait_timeout=900).verdict.passed
        driver.switch(state="cleaned")
        done = driver.switch("n1", wait_timeout=900)
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.switch(state="restored", wait_timeout=900).verdict.passed
    assert driver.leftovers() == []
    assert driver.images()["n1"] == "v1.12.0"
    assert driver.longhorn.observer.by_acts == []


def told(done: Outcome) -> str:
    assert done.verdict.state is State.REFUSED
    return " ".join(each.sentence() for each in done.verdict.deciding())


def test_a_shared_volume_is_switched_on_every_node(drive: type[Driver]) -> None:
    driver = drive(outliving(Volume("vol-1", SPREAD, "n1", access="rwx")))
    assert driver.plan().verdict.reasons == ()
    done = driver.switch(*NODES_OF_THREE)
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []
    assert driver.longhorn.observer.losses == []
    assert driver.longhorn.volume("vol-1")["status"]["robustness"] == "healthy"
    assert driver.longhorn.get(SHARES, "vol-1")["status"]["state"] == "running"


FIXED = {
    "standby": (Volume("vol-1", SPREAD, "n1", standby=True), "frontend_disabled", State.REFUSED),
    "hidden": (Volume("vol-1", SPREAD, "n1", hidden=True), "frontend_disabled", State.WAITING),
    "ublk": (Volume("vol-1", SPREAD, "n1", frontend="ublk"), "frontend_ublk", State.REFUSED),
    "strict-local": (Volume("vol-1", ("n1",), "n1", locality="strict-local"), "strict_local", State.REFUSED),
}


@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize("state", ["switched", "evacuated"])
def test_no_node_is_begun_from_which_an_engine_cannot_be_moved(drive: type[Driver], kind: str, state: str) -> None:
    """Neither by a plan nor by a node whose volume was attached since."""
    volume, code, found = FIXED[kind]
    driver = drive(outliving(volume, Volume("vol-2", SPREAD, "n2")))
    reasons = driver.plan(extra_replicas=True, wait=False).verdict.reasons
    assert {each.code: each.state for each in reasons if "room" not in each.code} == {code: found}
    done = driver.switch("n1", state=state, extra_replicas=True)
    assert code in {each.code for each in done.verdict.deciding()}
    assert (done.changed, driver.leftovers()) == (False, [])
    if kind != "strict-local":
        # Its replicas on the other nodes need no engine to be moved.
        assert driver.plan(nodes=["n2"]).verdict.passed
        assert driver.switch("n2", "n3").verdict.passed
        assert driver.gate("after_upgrade").verdict.passed
    assert driver.longhorn.observer.losses == []


def test_a_strict_local_volume_that_is_attached_in_mid_run_gets_no_second_replica(drive: type[Driver]) -> None:
    local = Volume("vol-1", ("n1",), locality="strict-local")
    driver = drive(outliving(local, Volume("vol-2", SPREAD, "n1")))
    driver.longhorn.faults.when(
        NODES, lambda item: not item["spec"]["allowScheduling"], lambda: driver.longhorn.attach("vol-1", "n1")
    )
    done = driver.switch("n1", extra_replicas=True, accept_unverified=[*ACCEPTED, "detached_without_snapshot"])
    assert "strict_local" in {each.code for each in done.verdict.deciding()}, driver.said
    assert driver.images()["n1"] == "v1.11.2"
    assert driver.switch(state="restored").verdict.passed
    assert (driver.leftovers(), driver.longhorn.observer.losses) == ([], [])


def moved(item: Json) -> bool:
    """Whether the engine of the volume is away from n1."""
    return item["metadata"]["name"] == "vol-1" and item["status"].get("currentEngineNodeID") in AT_NODES


def gone(item: Json) -> bool:
    """Whether the new instance manager of n1 starts."""
    return item["spec"]["nodeID"] == "n1" and item.get("status", {}).get("currentState") == "starting"


def rebuilding(item: Json) -> bool:
    """Whether a replica of the volume is being rebuilt."""
    return "WO" in (item.get("status", {}).get("replicaModeMap") or {}).values()


def lender(longhorn: Longhorn) -> str:
    """The node at which the engine is now."""
    return str(longhorn.volume("vol-1")["status"]["currentEngineNodeID"])


Fault = Callable[[Longhorn], object]
FAULTS: list[tuple[str, Fault, str]] = [
    ("the disk is lost", lambda found: found.faults.disk_lost("n1"), "Disks of node n1 are not ready yet: block-disk."),
    ("no slot is free", lambda found: found.faults.slots_exhausted("n1"), "It is rebuilt once a rebuild slot"),
    (
        "the temporary node dies before the old manager goes",
        lambda found: found.faults.when(VOLUMES, moved, lambda: found.faults.node_dies(lender(found))),
        "vol-1",
    ),
    (
        "the temporary node dies while there is no manager",
        lambda found: found.faults.when(MANAGERS, gone, lambda: found.faults.node_dies(lender(found))),
        "vol-1",
    ),
    (
        "the node dies again while its replica is rebuilt",
        lambda found: found.faults.when(ENGINES, rebuilding, lambda: found.faults.node_dies("n1")),
        "of node n1 is unknown",
    ),
    ("no snapshot is ready", lambda found: found.faults.snapshots_stuck("vol-1"), "vol-1"),
    ("every switch reverts", lambda found: found.faults.switch_reverts("vol-1"), "vol-1"),
]


@pytest.mark.parametrize(("spoil", "words"), [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS])
def test_a_fault_that_lasts_is_named_and_the_next_run_finishes(drive: type[Driver], spoil: Fault, words: str) -> None:
    driver = drive(outliving(ONE, Volume("vol-2", SPREAD, "n2")))
    spoil(driver.longhorn)
    done = driver.switch("n1", wait_timeout=90)
    assert words in told(done)
    assert driver.longhorn.observer.by_acts == []
    finished(driver)


def test_controllers_that_are_away_for_minutes_are_waited_for(drive: type[Driver]) -> None:
    driver = drive(outliving(ONE))
    driver.longhorn.faults.when(VOLUMES, moved, lambda: driver.longhorn.faults.controllers_away(300))
    assert driver.switch("n1", wait_timeout=600).verdict.passed
    finished(driver)


def test_an_engine_that_is_wanted_on_a_node_that_is_none_is_named(drive: type[Driver]) -> None:
    driver = drive(outliving(ONE))
    driver.longhorn.write(VOLUMES, "vol-1", {"engineNodeID": "nowhere"})
    driver.longhorn.clock.advance(2)
    assert "Volume vol-1 wants its engine on node nowhere, which Longhorn does not have." in told(driver.plan())
    assert "Volume vol-1 wants its engine on node nowhere" in told(driver.switch("n1", wait_timeout=30))
    driver.longhorn.write(VOLUMES, "vol-1", {"engineNodeID": ""})
    finished(driver)


def test_no_instance_manager_is_removed_by_a_look_that_took_long(drive: type[Driver]) -> None:
    """The last list of a look comes late. In between the other replica of a volume fails."""
    driver = drive(outliving(Volume("vol-1", ("n1", "n2"), "n3")))
    longhorn, answer, late = driver.longhorn, driver.api.answer, list[str]()

    def slowly(request: Request) -> Answer:
        ready = [each for each in longhorn.objects.all(SNAPSHOTS) if each.get("status", {}).get("readyToUse")]
        if request.path.endswith("/volumeattachments") and ready and not late:
            late.append(request.path)
            longhorn.faults.rebuild_stuck("vol-1")
            longhorn.faults.replica_fails(replica_on(longhorn, "n2", "vol-1")["metadata"]["name"])
            longhorn.clock.advance(20.0)
        return answer(request)

    driver.api.answer = slowly  # type: ignore[method-assign]
    done = driver.switch("n1")
    assert late
    assert "Volume vol-1 has no healthy replica outside node n1" in told(done)
    assert longhorn.observer.by_acts == []
    finished(driver)


def test_no_upgrade_is_made_by_a_look_that_took_long(drive: type[Driver]) -> None:
    driver = drive(Longhorn(Described(tuple(map(Machine, SPREAD)), (ONE,), offers="v1.13", frontends_outlive=True)))
    longhorn, answer = driver.longhorn, driver.api.answer
    asked = list[str]()

    def slowly(request: Request) -> Answer:
        if request.path.endswith("/volumeattachments"):
            longhorn.clock.advance(0.0 if asked else 20.0)
            asked.append("look")
        if request.method == "POST" and request.path.endswith("/instancemanagerupgrades"):
            asked.append("made")
        return answer(request)

    driver.api.answer = slowly  # type: ignore[method-assign]
    done = driver.switch("n1")
    assert done.verdict.passed, (done.verdict, driver.said)
    assert asked.count("made") == 1
    assert asked.index("made") == 2


def test_a_node_is_done_only_once_its_mark_is_gone(drive: type[Driver]) -> None:
    """Something else changes the node before each attempt to put it back, for as long as one look makes attempts."""
    driver = drive(outliving(ONE))
    longhorn, answer, lost = driver.longhorn, driver.api.answer, list[str]()

    def changed_before(request: Request) -> Answer:
        at_the_end = driver.said[-1:] == ["node n1: finalizing"]
        if request.method == "PATCH" and request.path.endswith("/nodes/n1") and at_the_end and len(lost) < ATTEMPTS:
            lost.append(request.path)
            longhorn.objects.change(NODES, "n1", lambda item: item["spec"].update(tags=[f"tag-{len(lost)}"]))
        return answer(request)

    driver.api.answer = changed_before  # type: ignore[method-assign]
    done = driver.switch("n1")
    assert len(lost) == ATTEMPTS
    assert done.verdict.passed, (done.verdict, driver.said)
    assert {each.partition(":")[0] for each in driver.leftovers()} == {"replica-replenishment-wait-interval"}
