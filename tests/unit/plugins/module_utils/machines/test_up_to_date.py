"""The condition MachineUpToDate: its transitions, its times, and that of all machines together."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.up_to_date import (
    MachineProgress,
    UpToDate,
    all_moved,
    condition_in,
    moved,
    whole_progress,
)
from hypothesis import given
from hypothesis import strategies as st

WAITING, WORKING, FAILED, DONE = MachineProgress


def condition(progress: MachineProgress, since: str = "t0", machine: str = "w-0", message: str = "") -> UpToDate:
    return UpToDate(machine, progress, message, since)


@pytest.mark.parametrize(
    ("before", "now", "after", "since"),
    [
        (None, WAITING, WAITING, "t1"),
        (WAITING, WAITING, WAITING, "t0"),
        (WAITING, WORKING, WORKING, "t1"),
        (WORKING, FAILED, FAILED, "t1"),
        (WORKING, DONE, DONE, "t1"),
        (FAILED, WORKING, WORKING, "t1"),
        (FAILED, WAITING, FAILED, "t0"),
        (WORKING, WAITING, WORKING, "t0"),
        (DONE, WAITING, WAITING, "t1"),
        (DONE, DONE, DONE, "t0"),
    ],
)
def test_each_transition(
    before: MachineProgress | None, now: MachineProgress, after: MachineProgress, since: str
) -> None:
    found = moved(condition(before) if before else None, condition(now, "t1"))
    assert (found.progress, found.since) == (after, since)


def test_a_machine_that_failed_before_its_drain_is_replaced_by_no_health_check() -> None:
    untouched = UpToDate("w-0", FAILED, "kubeadm failed", "t0", undrained=True)
    assert (untouched.status, untouched.as_condition()["reason"]) == ("Unknown", "ExternalUpgradeFailed")
    assert condition_in("w-0", untouched.as_condition()) == untouched
    drained = moved(untouched, condition(FAILED, "t1"))
    assert (drained.status, drained.since) == ("False", "t1"), "another status, and so another time"
    assert moved(untouched, condition(WAITING, "t1")) == untouched


def test_a_condition_has_the_words_of_kubernetes() -> None:
    assert condition(FAILED, "2026-11-28T00:00:00Z", message="x" * 2000).as_condition()["status"] == "False"
    assert condition(DONE).as_condition() == {
        "type": "MachineUpToDate",
        "status": "True",
        "reason": "UpToDate",
        "message": "",
        "lastTransitionTime": "t0",
    }
    assert len(moved(None, condition(FAILED, message="x" * 2000)).message) <= 1000


STORIES = st.lists(st.sampled_from(list(MachineProgress)), min_size=1, max_size=12)


@given(STORIES)
def test_a_machine_that_may_be_half_upgraded_never_waits_again_before_it_was_worked_on(
    story: list[MachineProgress],
) -> None:
    before: UpToDate | None = None
    half = False
    for time, each in enumerate(story):
        before = moved(before, condition(each, f"t{time:02}"))
        half = each in (WORKING, FAILED) or (half and each is WAITING)
        assert not (half and before.progress is WAITING)
        assert before.since <= f"t{time:02}"


@given(st.lists(st.sampled_from(list(MachineProgress)), min_size=1, max_size=8))
def test_the_worst_progress_is_that_of_all(found: list[MachineProgress]) -> None:
    progress, said = whole_progress([condition(each, machine=f"w-{n}") for n, each in enumerate(found)])
    order = [FAILED, WORKING, WAITING, DONE]
    assert progress is min(found, key=order.index)
    assert (progress is DONE) is said.startswith("All")


def test_each_machine_keeps_its_own_condition() -> None:
    before = {"w-0": condition(FAILED)}
    now = [condition(WAITING, "t1"), condition(WAITING, "t1", "w-1")]
    assert [each.progress for each in all_moved(before, now)] == [FAILED, WAITING]
