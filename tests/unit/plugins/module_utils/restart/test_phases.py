"""The phases of a restart: none goes back, no two go at once, and no process is ended twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import (
    MEMBER,
    PHASE,
    PHASE_OF_OPERATOR,
    PROCESS,
    SCHEDULED,
    STARTING,
    STOPPED,
    STOPPING,
    UNDER_WAY,
    Marked,
    Process,
    RestartPhase,
    advanced,
    is_stopped,
    judge_alone,
    judge_singles,
    judge_words,
    marked,
    may_become,
    phase_after,
    phase_of,
    scheduled_at_once,
)
from hypothesis import given
from hypothesis import strategies as st

PHASES = st.sampled_from([None, *RestartPhase])
PODS = st.lists(PHASES, min_size=1, max_size=6).map(
    lambda phases: [Marked(f"data-{number}", f"uid-{number}", phase) for number, phase in enumerate(phases)]
)


def test_every_restart_ends_after_three_steps() -> None:
    for phase in SCHEDULED:
        stop = phase_after(phase)
        assert stop in STOPPING
        start = phase_after(stop)
        assert start in STARTING
        assert phase_after(start) is None


@given(PHASES, PHASES)
def test_a_phase_never_goes_back(before: RestartPhase | None, after: RestartPhase | None) -> None:
    place = {None: 0} | dict.fromkeys(SCHEDULED, 1) | dict.fromkeys(STOPPING, 2) | dict.fromkeys(STARTING, 3)
    if may_become(before, after) and before is not after:
        assert place[after] == (place[before] + 1) % 4
        together = {each for each in (before, after) if each and each.value.endswith("coordinated")}
        assert not together or None in {before, after} or len(together) == 2


@given(PODS)
def test_nothing_is_stopped_beside_a_pod_under_way(pods: list[Marked]) -> None:
    under_way = {pod.name for pod in pods if pod.phase in UNDER_WAY and not pod.rests}
    verdict = judge_alone(pods)
    assert verdict.passed is not bool(under_way)
    assert all(name in verdict.reasons[0].message for name in sorted(under_way)[:3])


def test_a_process_that_was_started_since_is_never_taken_for_the_one_to_end() -> None:
    pod = Marked("data-0", "uid", RestartPhase.STOP, process="old")
    assert not is_stopped(pod, Process(running=True, identity="old"))
    assert is_stopped(pod, Process(running=True, identity="new"))
    assert is_stopped(pod, Process(running=False, identity=""))
    # Without a note of the process to end, a running one may be that one.
    assert not is_stopped(replace(pod, process=""), Process(running=True, identity="new"))


def test_a_rolling_restart_goes_through_its_phases() -> None:
    pod = Marked("data-0", "uid", RestartPhase.STOP, process="old")
    assert advanced(pod, Process(running=True, identity="old", joined=True)) is RestartPhase.STOP
    assert advanced(pod, Process(running=False, identity="")) is RestartPhase.START
    pod = replace(pod, phase=RestartPhase.START)
    assert advanced(pod, Process(running=False, identity="")) is RestartPhase.START
    assert advanced(pod, Process(running=True, identity="new")) is RestartPhase.START
    assert advanced(pod, Process(running=True, identity="old", joined=True)) is RestartPhase.START
    assert advanced(pod, Process(running=True, identity="new", joined=True)) is None


def test_in_a_coordinated_restart_none_starts_before_all_have_stopped() -> None:
    stopped = Marked("data-0", "uid", RestartPhase.STOP_COORDINATED, process="a")
    runs = Marked("data-1", "uid", RestartPhase.STOP_COORDINATED, process="b")
    ended, running = Process(running=False, identity=""), Process(running=True, identity="b")
    assert advanced(stopped, ended, [(runs, running)]) is RestartPhase.STOP_COORDINATED
    assert advanced(stopped, ended, [(runs, ended)]) is RestartPhase.START_COORDINATED
    # One that has gone on to start counts as stopped: a run was killed between the two notes.
    ahead = replace(runs, phase=RestartPhase.START_COORDINATED)
    assert advanced(stopped, ended, [(ahead, Process(running=True, identity="c"))]) is RestartPhase.START_COORDINATED


def test_in_a_coordinated_restart_none_is_done_before_all_are_back() -> None:
    first = Marked("data-0", "uid", RestartPhase.START_COORDINATED, process="a")
    second = Marked("data-1", "uid", RestartPhase.START_COORDINATED, process="b")
    back = Process(running=True, identity="new", joined=True)
    assert advanced(first, back, [(second, replace(back, joined=False))]) is RestartPhase.START_COORDINATED
    assert advanced(first, back, [(second, back)]) is None


@given(st.sampled_from(sorted(UNDER_WAY)), st.booleans(), st.sampled_from(["", "old", "new"]), st.booleans())
def test_a_look_makes_at_most_the_next_step(phase: RestartPhase, running: bool, identity: str, joined: bool) -> None:
    pod = Marked("data-0", "uid", phase, process="old")
    assert may_become(phase, advanced(pod, Process(running, identity, joined=joined)))


@given(st.sampled_from(sorted(UNDER_WAY)), st.booleans(), st.sampled_from(["", "old", "new"]), st.booleans())
def test_the_same_look_made_again_changes_nothing_more(
    phase: RestartPhase, running: bool, identity: str, joined: bool
) -> None:
    pod, seen = Marked("data-0", "uid", phase, process="old"), Process(running, identity, joined=joined)
    once = advanced(pod, seen)
    if once is phase:
        assert advanced(replace(pod, phase=once), seen) is once


@pytest.mark.parametrize("key", [PHASE, PHASE_OF_OPERATOR])
def test_both_annotations_are_understood(key: str) -> None:
    assert phase_of({key: "schedule-rolling"}) is RestartPhase.SCHEDULE_ROLLING
    assert phase_of({}) is None


def test_the_marks_of_a_pod() -> None:
    found = marked("data-0", "uid", {STOPPED: "True", PROCESS: "p", MEMBER: "m"}, RestartPhase.SCHEDULE_ROLLING)
    assert found == Marked("data-0", "uid", RestartPhase.SCHEDULE_ROLLING, "p", "m", stays_stopped=True)
    # The phase of its own comes before that of its StatefulSet.
    assert marked("data-0", "uid", {PHASE: "start"}, RestartPhase.SCHEDULE).phase is RestartPhase.START


def test_a_word_that_is_no_phase_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^later$"):
        phase_of({PHASE: "later"})
    verdict = judge_words({"pod data-0": {PHASE: "later"}, "pod data-1": {PHASE: "stop"}})
    assert [reason.code for reason in verdict.reasons] == ["phase_unknown"]
    assert "pod data-0 holds later" in verdict.reasons[0].message


def test_pods_that_are_scheduled_at_once_have_to_be_one_batch() -> None:
    pods = [Marked(f"data-{number}", "uid", RestartPhase.SCHEDULE) for number in range(3)]
    names = scheduled_at_once([*pods, Marked("data-3", "uid", RestartPhase.SCHEDULE, stays_stopped=True)])
    assert names == {"data-0", "data-1", "data-2"}
    assert judge_singles(names, [["data-4"], ["data-0", "data-1", "data-2"]]).passed
    (reason,) = judge_singles(names, [["data-0", "data-2"], ["data-1"]]).reasons
    assert reason.code == "scheduled_together"
    assert "data-1 cannot go down" in reason.message


def test_a_pod_that_is_scheduled_alone_goes_with_nobody() -> None:
    assert scheduled_at_once([Marked("data-0", "uid", RestartPhase.SCHEDULE), Marked("data-1", "uid")]) == frozenset()
