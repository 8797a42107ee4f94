"""Detached volumes with a replica on a node get a snapshot before it is changed, for which Longhorn attaches them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.preflight import preflight
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.stages import WantedSwitch, step
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.volumes import is_attached_for_snapshot
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import (
    Attachment,
    Longhorn,
    VolumeSnapshot,
)

from tests.sandbox.longhorn.description import Volume
from tests.sandbox.longhorn.kinds import SNAPSHOTS
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, SPREAD, Driver, outliving
from tests.unit.plugins.module_utils.longhorn.world import NEW, marked, with_volume, world

WITHOUT = "detached_without_snapshot"
DETACHED: dict[str, Any] = {"state": "detached", "node": "", "at_node": "", "engine_at": "", "robustness": "unknown"}
TAKEN = VolumeSnapshot("s-rest", "u", "rest", "run-1", "t", False, "")
SAYS = "no engine runs. Waiting for the volume to be attached"


def resting(**more: Any) -> Longhorn:
    """A node on which a run has started work, with a snapshot of its attached volume, and a detached volume."""
    seen = world({"v": ("n1", ("n1", "n2")), "rest": ("n1", ("n1", "n3"))})
    seen = replace(seen, engines=tuple(each for each in seen.engines if each.volume != "rest"))
    return marked(with_volume(seen, "rest", **{**DETACHED, **more}), "n1", "v")


def with_snapshot(seen: Longhorn, **more: Any) -> Longhorn:
    return replace(seen, snapshots=(*seen.snapshots, replace(TAKEN, **more)))


@pytest.mark.parametrize(
    ("seen", "accepted", "acts"),
    [
        (resting(), [], ["snapshot"]),
        (resting(), [WITHOUT], ["move_engine"]),
        (with_snapshot(resting()), [], []),
        (with_snapshot(resting(), error=SAYS), [], []),
        (with_snapshot(resting(), ready=True), [], ["move_engine"]),
        (resting(restoring=True), [], ["move_engine"]),
        (resting(robustness="faulted"), [], ["move_engine"]),
    ],
    ids=["taken", "accepted", "waited for", "not attached yet", "ready", "restored", "faulted"],
)
def test_what_is_due_of_a_detached_volume(seen: Longhorn, accepted: list[str], acts: list[str]) -> None:
    found = step(seen, WantedSwitch("n1", NEW, frozenset({*ACCEPTED, *accepted})))
    assert [each.kind for each in found.acts] == acts
    if not acts:
        (reason,) = found.verdict.reasons
        assert (reason.code, reason.state) == ("snapshots_wait", State.WAITING)
        assert WITHOUT in reason.remedy
        assert (SAYS in reason.message) is bool(seen.snapshots[-1].error)


@pytest.mark.parametrize(
    ("types", "ours", "attached"),
    [
        ({"snapshot-controller"}, False, True),
        ({"snapshot-controller", "csi-attacher"}, False, False),
        ({"csi-attacher"}, True, False),
        (set(), True, True),
        (set(), False, False),
    ],
)
def test_a_volume_that_no_workload_has_is_attached_for_its_snapshot(
    types: set[str], ours: bool, attached: bool
) -> None:
    seen = replace(world({"rest": ("n1", ("n1", "n2"))}), attachments=(Attachment("rest", {}, frozenset(types)),))
    seen = with_snapshot(seen) if ours else seen
    assert is_attached_for_snapshot(seen, seen.volumes["rest"]) is attached


@pytest.mark.parametrize(
    ("more", "accepted", "codes"),
    [
        ({}, [], ["detached_volumes"]),
        ({"restoring": True}, [], ["detached_no_snapshot", "detached_volumes"]),
        ({"cloning": True}, [], ["detached_no_snapshot", "detached_volumes"]),
        ({"restoring": True}, [WITHOUT], ["detached_volumes"]),
    ],
)
def test_the_plan_names_detached_volumes_and_those_without_a_snapshot(
    more: dict[str, Any], accepted: list[str], codes: list[str]
) -> None:
    seen = replace(resting(**more), snapshots=())
    found = preflight(seen, ["n1"], NEW, {*ACCEPTED, *accepted}).reasons
    assert sorted(each.code for each in found if "detached" in each.code) == codes
    (said,) = [each.message for each in found if each.code == "detached_volumes"]
    assert ("attaches each for its snapshot" in said) is (WITHOUT not in accepted)


VOLUMES = (Volume("v", SPREAD, "n1"), Volume("rest", ("n1", "n3")))


def snapshots_of(driver: Driver, volume: str) -> list[bool]:
    found = driver.longhorn.objects.of_volume(SNAPSHOTS, volume)
    return [bool(each.get("status", {}).get("readyToUse")) for each in found]


def state_of(driver: Driver, volume: str) -> str:
    return str(driver.longhorn.volume(volume)["status"]["state"])


def test_a_detached_volume_has_its_snapshot_and_is_detached_again(drive: type[Driver]) -> None:
    driver = drive(outliving(*VOLUMES))
    done = driver.switch("n1")
    assert done.verdict.passed, (done.verdict, driver.said)
    assert (snapshots_of(driver, "rest"), state_of(driver, "rest")) == ([True], "detached")
    assert driver.longhorn.observer.by_acts == []
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


def test_without_its_snapshot_it_stays_detached(drive: type[Driver]) -> None:
    driver = drive(outliving(*VOLUMES))
    assert driver.switch("n1", accept_unverified=[*ACCEPTED, WITHOUT]).verdict.passed
    assert snapshots_of(driver, "rest") == []


def test_a_snapshot_that_is_never_ready_ends_the_run_with_the_way_out(drive: type[Driver]) -> None:
    driver = drive(outliving(*VOLUMES))
    driver.longhorn.faults.snapshots_stuck("rest")
    refused = driver.switch("n1")
    assert refused.verdict.state is State.REFUSED
    assert any(each.code == "snapshots_wait" and WITHOUT in each.remedy for each in refused.verdict.reasons)
    assert driver.images()["n1"] == "v1.11.2"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


def test_only_an_emptied_node_takes_none_of_detached_volumes(drive: type[Driver]) -> None:
    driver = drive(outliving(*VOLUMES))
    assert driver.switch("n1", state="evacuated").verdict.passed
    assert (snapshots_of(driver, "v"), snapshots_of(driver, "rest")) == ([True], [])


MOST_ACTS = 20


def test_a_kill_before_any_act_leaves_one_snapshot_of_each(drive: type[Driver]) -> None:
    for acts in range(MOST_ACTS):
        driver = drive(outliving(*VOLUMES))
        killed = driver.killed_before(acts)
        driver.run, driver.guard = "run-2", None
        done = driver.switch("n1")
        assert done.verdict.passed, (acts, done.verdict, driver.said)
        assert (snapshots_of(driver, "rest"), state_of(driver, "rest")) == ([True], "detached"), acts
        assert driver.switch(state="restored").verdict.passed
        assert (driver.leftovers(), driver.longhorn.observer.by_acts) == ([], []), acts
        if not killed:
            break
    assert not killed
    assert acts > 5
