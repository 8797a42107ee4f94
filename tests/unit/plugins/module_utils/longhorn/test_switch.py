"""The switch of nodes from outside, end to end on Longhorn's controllers in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State

from tests.sandbox.longhorn.description import QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE, NODES, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import (
    NODES_OF_THREE,
    SPREAD,
    Driver,
    Killing,
    outliving,
    three,
)

S1 = tuple(Volume(f"vol-{number}", SPREAD, "n1") for number in (1, 2, 3))
S2 = tuple(Volume(f"vol-{number}", ("n2", "n3"), "n1") for number in (1, 2, 3))
S3 = tuple(Volume(f"vol-{number}", SPREAD, f"n{number}") for number in (1, 2, 3))


@pytest.mark.parametrize("volumes", [S1, S2, S3], ids=["S1", "S2", "S3"])
def test_the_succeeding_cases_of_the_design_are_completed(drive: type[Driver], volumes: tuple[Volume, ...]) -> None:
    driver = drive(outliving(*volumes))
    planned = driver.plan()
    assert planned.verdict.reasons == ()
    assert [batch["members"] for batch in planned.more["batches"]] == [["n1"], ["n2"], ["n3"]]
    done = driver.switch(*NODES_OF_THREE)
    assert done.verdict.passed, (done.verdict, driver.said)
    moved = {name: each for node in done.more["nodes"] for name, each in node["volumes"].items()}
    assert {name: each["original"] for name, each in moved.items()} == {each.name: each.attached for each in volumes}
    assert all(each["temporary"] not in {"", each["original"]} for each in moved.values())
    assert {each["state"] for each in moved.values()} == {"completed"}
    assert driver.images() == dict.fromkeys(NODES_OF_THREE, "v1.12.0")
    # A refused write at the end is made again.
    driver.api.server.faults.answer(503, "PATCH", "/")
    driver.api.server.faults.answer(503, "DELETE", "/snapshots/")
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []
    assert driver.gate("after_upgrade", target_version="v1.12.0").verdict.passed
    assert driver.snapshots() > 0
    assert driver.switch(state="cleaned").verdict.passed
    assert driver.longhorn.until(lambda: driver.snapshots() == 0)
    again = driver.switch(*NODES_OF_THREE)
    assert (again.verdict.state, again.changed) == (State.PASSED, False)


F1 = (Volume("vol-1", ("n1",), "n1"), Volume("vol-2", SPREAD, "n1"))
F2 = (Volume("vol-1", ("n2",), "n1"), Volume("vol-2", SPREAD, "n1"))


@pytest.mark.parametrize("volumes", [F1, F2], ids=["F1", "F2"])
def test_the_failing_cases_of_the_design_are_refused_and_nothing_is_touched(
    drive: type[Driver], volumes: tuple[Volume, ...]
) -> None:
    driver = drive(outliving(*volumes))
    planned = driver.plan()
    assert [each.code for each in planned.verdict.deciding()] == ["single_replica"]
    assert "Volume vol-1 has a single replica" in planned.verdict.reasons[0].message
    assert driver.leftovers() == []


@pytest.mark.parametrize("volumes", [F1, F2], ids=["F1", "F2"])
def test_with_an_extra_replica_for_a_while_they_are_completed(drive: type[Driver], volumes: tuple[Volume, ...]) -> None:
    driver = drive(outliving(*volumes))
    assert driver.plan(extra_replicas=True).verdict.passed
    done = driver.switch("n1", "n2", extra_replicas=True)
    assert done.verdict.passed, done.verdict
    assert driver.longhorn.volume("vol-1")["spec"]["numberOfReplicas"] == 2
    assert driver.switch(state="restored").verdict.passed
    assert driver.longhorn.volume("vol-1")["spec"]["numberOfReplicas"] == 1
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []


TWO = (Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n2", engine="n1"))
HOMES = {"vol-1": "n1", "vol-2": "n1"}
MOST_ACTS = 20


def test_a_run_that_is_killed_before_any_act_is_gone_on_with(drive: type[Driver]) -> None:
    for acts in range(MOST_ACTS):
        driver = drive(outliving(*TWO))
        killed = driver.killed_before(acts)
        driver.run, driver.guard = "run-2", None
        done = driver.switch("n1")
        assert done.verdict.passed, (acts, done.verdict, driver.said)
        assert driver.switch(state="restored").verdict.passed
        # The engine of the second volume was on n1 before, as its user wants it.
        assert driver.leftovers() == ["vol-2: engine on n1"], acts
        assert driver.longhorn.observer.by_acts == [], acts
        assert driver.images()["n1"] == "v1.12.0"
        if not killed:
            break
    assert not killed
    assert acts > 8


def test_what_a_killed_run_leaves_is_put_back_before_any_act(drive: type[Driver]) -> None:
    for acts in range(MOST_ACTS):
        driver = drive(outliving(*TWO))
        killed = driver.killed_before(acts)
        driver.run, driver.guard = "run-2", None
        assert driver.manager_runs("n1")
        back = driver.switch(state="restored")
        assert back.verdict.passed, (acts, back.verdict)
        assert driver.leftovers() == ["vol-2: engine on n1"], acts
        assert driver.longhorn.observer.by_acts == [], acts
        if not killed:
            break
    assert not killed


def test_one_pass_at_a_time_comes_to_the_same_end(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    for number in range(60):
        driver.run = f"run-{number}"
        done = driver.switch("n1", wait=False)
        if done.verdict.passed:
            break
        assert done.verdict.state is State.WAITING
        driver.longhorn.clock.advance(2.0)
    assert done.verdict.passed
    assert driver.images()["n1"] == "v1.12.0"
    assert driver.longhorn.observer.by_acts == []


def test_check_mode_asks_for_the_acts_that_are_due_and_makes_none(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    done = driver.switch("n1", check_mode=True)
    assert (done.verdict.state, done.changed) == (State.WAITING, True)
    assert driver.leftovers() == ["vol-2: engine on n1"]


def test_engines_are_moved_away_for_maintenance_and_brought_home(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    gone = driver.switch("n1", state="evacuated", accept_unverified=[])
    assert gone.verdict.passed, gone.verdict
    assert {driver.longhorn.engine(name)["spec"]["nodeID"] for name in ("vol-1", "vol-2")} <= {"n2", "n3"}
    assert driver.images()["n1"] == "v1.11.2"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == ["vol-2: engine on n1"]
    assert {driver.longhorn.engine(name)["spec"]["nodeID"] for name in ("vol-1", "vol-2")} == {"n1"}


def test_offline_longhorn_swaps_the_manager_and_nothing_is_accepted(drive: type[Driver]) -> None:
    driver = drive(three(Volume("vol-1", SPREAD, "n1")))
    refused = driver.switch("n1", accept_unverified=[])
    assert [each.code for each in refused.verdict.deciding()] == ["replacement_not_accepted"]
    driver.longhorn.detach("vol-1")
    assert driver.longhorn.until(lambda: driver.longhorn.volume("vol-1")["status"]["state"] == "detached")
    done = driver.switch(*NODES_OF_THREE, accept_unverified=[])
    assert done.verdict.passed, done.verdict
    assert driver.images() == dict.fromkeys(NODES_OF_THREE, "v1.12.0")
    assert driver.leftovers() == []


def faults() -> list[tuple[str, Callable[[Driver], None]]]:
    """Faults that a run survives, each by its name."""
    return [
        ("a switch reverts twice", lambda driver: driver.longhorn.faults.switch_reverts("vol-1", 2)),
        ("the webhook refuses", lambda driver: driver.longhorn.faults.webhook_refuses(NODES)),
        ("the webhook refuses volumes", lambda driver: driver.longhorn.faults.webhook_refuses(VOLUMES, times=3)),
        ("the controllers are away", lambda driver: driver.longhorn.faults.controllers_away(30)),
        ("a backup begins", lambda driver: driver.longhorn.faults.backup_starts("vol-1") and None),
        (
            "a volume is deleted",
            lambda driver: driver.longhorn.faults.when(
                VOLUMES,
                lambda item: item["metadata"]["name"] == "vol-1" and bool(item["spec"].get("engineNodeID")),
                lambda: driver.longhorn.faults.volume_deleted("vol-1"),
            ),
        ),
    ]


@pytest.mark.parametrize("spoil", [each[1] for each in faults()], ids=[each[0] for each in faults()])
def test_a_fault_that_passes_is_waited_for(drive: type[Driver], spoil: Callable[[Driver], None]) -> None:
    driver = drive(outliving(*TWO))
    spoil(driver)
    done = driver.switch("n1")
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.images()["n1"] == "v1.12.0"
    assert driver.longhorn.observer.by_acts == []


def test_a_step_that_fails_brings_the_engines_home_that_were_moved(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    driver.longhorn.faults.switch_reverts("vol-1")
    done = driver.switch("n1", wait_timeout=30)
    assert "timed_out" in {each.code for each in done.verdict.deciding()}
    assert {driver.longhorn.engine(name)["spec"]["nodeID"] for name in ("vol-1", "vol-2")} == {"n1"}
    (node,) = done.more["nodes"]
    assert {name: each["state"] for name, each in node["volumes"].items()} == {"vol-2": "completed"}
    driver.longhorn.faults.mend_all()
    assert driver.switch("n1").verdict.passed
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == ["vol-2: engine on n1"]
    assert driver.longhorn.observer.by_acts == []


def test_a_manager_that_never_runs_stops_the_run_and_the_engines_that_stay_are_named(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    driver.longhorn.faults.manager_never_runs("n1")
    done = driver.switch("n1", wait_timeout=30)
    assert {"manager_starts", "timed_out", "engine_stays"} == {each.code for each in done.verdict.deciding()}
    assert {name: each["original"] for name, each in done.more["nodes"][0]["volumes"].items()} == HOMES
    back = driver.switch(state="restored")
    assert {each.code for each in back.verdict.deciding()} == {"engine_stays"}
    assert driver.longhorn.engine("vol-1")["spec"]["nodeID"] in {"n2", "n3"}
    driver.longhorn.faults.manager_runs("n1")
    assert driver.manager_runs("n1")
    driver.switch(state="restored")
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == ["vol-2: engine on n1"]


def test_a_rebuild_that_is_stuck_is_named_with_its_volume(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    driver.longhorn.faults.rebuild_stuck("vol-1")
    done = driver.switch("n1", wait_timeout=30)
    assert "timed_out" in {each.code for each in done.verdict.deciding()}
    assert any("vol-1" in each.message for each in done.verdict.deciding())


def test_a_run_that_is_asked_to_stop_stops_before_the_manager_goes(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    driver.guard = Killing(stopped=True)
    done = driver.switch("n1")
    assert [each.code for each in done.verdict.deciding()] == ["stopped_by_request"]
    driver.guard = None
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == ["vol-2: engine on n1"]


def test_the_gate_answers_for_other_tools(drive: type[Driver]) -> None:
    driver = drive(outliving(*S2))
    assert driver.gate("before_batch", batch=["n2"], expected=list(NODES_OF_THREE)).verdict.passed
    # Of Kubernetes nodes only those count that are nodes of Longhorn.
    assert driver.gate("before_batch", kubernetes_nodes=["n2", "elsewhere"]).verdict.passed
    assert not driver.gate("before_batch", kubernetes_nodes=["n2", "n3"]).verdict.passed
    both = driver.gate("before_batch", batch=["n2", "n3"], expected=list(NODES_OF_THREE))
    assert {each.code for each in both.verdict.deciding()} == {"last_replica"}


def test_a_field_that_longhorn_does_not_have_is_refused_and_not_dropped(drive: type[Driver]) -> None:
    client = drive(three()).connect({})
    with pytest.raises(Refusal) as refused:
        client.patch(NODES.path(NAMESPACE, "n1"), {"spec": {"allowSchedule": False}}, "merge")
    assert 'unknown field "spec.allowSchedule"' in str(refused.value)


def test_a_copy_of_a_backing_image_that_is_never_made_holds_no_node_up(drive: type[Driver]) -> None:
    """The instance manager shows what an earlier Longhorn has noted there, and 1.12 notes nothing more."""
    machines = (Machine("n1", copying="golden"), Machine("n2"), Machine("n3"))
    volumes = (Volume("vol-1", SPREAD, "n1"),)
    driver = drive(Longhorn(Described(machines, volumes, frontends_outlive=True), pace=QUICK))
    assert driver.plan().verdict.reasons == ()
    assert driver.switch(*NODES_OF_THREE).verdict.passed
    assert driver.images() == dict.fromkeys(NODES_OF_THREE, "v1.12.0")


def test_no_node_is_begun_whose_replicas_would_lose_their_backing_image(drive: type[Driver]) -> None:
    driver = drive(outliving(Volume("vol-1", SPREAD, "n1", backing="golden")))
    refused = driver.plan().verdict.reasons
    assert [each.code for each in refused] == ["backing_image_removed"] * 3
    assert "Volume vol-1 has backing image golden" in refused[0].message
    assert not driver.switch("n1").changed
    assert driver.leftovers() == []
    assert driver.longhorn.volume("vol-1")["status"]["robustness"] == "healthy"
