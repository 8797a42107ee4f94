"""The runs that may hold the lock, and that still hold it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.held_lock import who
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import (
    SHORTEST,
    Life,
    Lock,
    Sight,
    judge_free,
    judge_ours,
    name_for,
)
from hypothesis import given
from hypothesis import strategies as st

HELD = Lock(
    run="night",
    who="ops@bastion",
    since="2026-11-21T02:00:00.123456Z",
    renewed="2026-11-21T02:10:00.654321Z",
    seconds=60,
    doing="Shards are moving.",
)
FREE = replace(HELD, run="")

RUNS = st.sampled_from(["", "night", "day", "third"])
LOCKS = st.none() | st.builds(
    Lock,
    run=RUNS,
    who=st.just("ops@bastion"),
    since=st.sampled_from(["", "2026-11-21T02:00:00.123456Z", "2036-11-21T02:00:00.123456Z"]),
    renewed=st.sampled_from(["", "2026-11-21T02:00:00.123456Z", "2016-11-21T02:00:00.123456Z"]),
    seconds=st.integers(-1, 120),
    stop=st.sampled_from(["", "by dev@laptop"]),
)
SEEN = st.just((Life.ALIVE, 4711)) | st.sampled_from(list(Life)).map(lambda life: (life, 0))
"""The state of the holder's processes, and the number of the one that is certainly alive."""
SIGHTS = st.builds(
    lambda lock, seen, unchanged_for, renewed_since: Sight(lock, seen[0], unchanged_for, renewed_since, seen[1]),
    lock=LOCKS,
    seen=SEEN,
    unchanged_for=st.floats(0, 300),
    renewed_since=st.booleans(),
)


@pytest.mark.parametrize(
    ("sight", "take_over", "state", "code"),
    [
        (Sight(None), "", State.PASSED, None),
        (Sight(FREE), "", State.PASSED, None),
        (Sight(replace(HELD, run="day"), Life.GONE), "", State.PASSED, None),
        (Sight(HELD), "", State.WAITING, "lock_watched"),
        (Sight(HELD, unchanged_for=59.9), "", State.WAITING, "lock_watched"),
        (Sight(HELD, unchanged_for=60), "", State.PASSED, "lock_taken_over"),
        (Sight(HELD, unchanged_for=60, renewed_since=True), "", State.REFUSED, "locked"),
        (Sight(HELD, Life.ALIVE), "", State.REFUSED, "locked"),
        (Sight(HELD, Life.ALIVE, unchanged_for=6000), "", State.REFUSED, "locked"),
        (Sight(HELD, Life.GONE), "", State.PASSED, "lock_taken_over"),
        (Sight(HELD, Life.ENDING), "", State.WAITING, "lock_worker_ending"),
        (Sight(HELD, Life.ENDING, unchanged_for=60), "", State.PASSED, "lock_taken_over"),
        (Sight(HELD, Life.ALIVE), "night", State.PASSED, "lock_taken_over"),
        (Sight(HELD, Life.ALIVE, process=4711), "night", State.REFUSED, "take_over_of_living"),
        (Sight(HELD, Life.ALIVE, process=4711), "", State.REFUSED, "locked"),
        (Sight(replace(HELD, run="day"), Life.ALIVE, process=4711), "night", State.PASSED, None),
        (Sight(HELD, Life.ALIVE), "another", State.REFUSED, "take_over_of_another"),
        (Sight(None), "night", State.REFUSED, "take_over_of_another"),
        (Sight(FREE), "night", State.REFUSED, "take_over_of_another"),
        (Sight(replace(HELD, run="day")), "night", State.PASSED, None),
    ],
)
def test_whether_the_run_day_may_hold_it(sight: Sight, take_over: str, state: State, code: str | None) -> None:
    verdict = judge_free(sight, "day", take_over)
    assert verdict.state is state
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])


@given(SIGHTS, RUNS, RUNS)
def test_a_lock_of_another_is_never_free_while_its_holder_lives(sight: Sight, run: str, take_over: str) -> None:
    """Free is what no one holds, what is ours, what is named, and what is dead by its processes or by being watched."""
    lock = sight.lock
    verdict = judge_free(sight, run, take_over)
    if lock is None or lock.run in {"", run}:
        assert verdict.passed is (not take_over or (lock is not None and lock.run in {take_over, run}))
        return
    named = take_over == lock.run and not sight.process
    gone = sight.life is Life.GONE
    lives = sight.life is Life.ALIVE or sight.renewed_since
    silent = sight.unchanged_for >= max(lock.seconds, SHORTEST)
    assert verdict.passed is (named or (not take_over and (gone or (not lives and silent))))
    assert verdict.passed or verdict.state is State.REFUSED or not (lives or take_over)


@given(SIGHTS, RUNS, RUNS)
def test_what_the_clocks_of_the_machines_say_does_not_matter(sight: Sight, run: str, take_over: str) -> None:
    if sight.lock is None:
        return
    elsewhen = replace(sight.lock, since="2016-01-01T00:00:00.000000Z", renewed="2046-01-01T00:00:00.000000Z")
    there = judge_free(replace(sight, lock=elsewhen), run, take_over)
    here = judge_free(sight, run, take_over)
    assert [(r.state, r.code) for r in there.reasons] == [(r.state, r.code) for r in here.reasons]


@pytest.mark.parametrize(
    ("lock", "stoppable", "code"),
    [
        (HELD, True, None),
        (HELD, False, None),
        (replace(HELD, stop="by dev@laptop"), False, None),
        (replace(HELD, stop="by dev@laptop"), True, "stopped_by_request"),
        (replace(HELD, run="day"), False, "lock_lost"),
        (replace(HELD, run="day", stop="by dev@laptop"), True, "lock_lost"),
        (FREE, False, "lock_lost"),
        (None, True, "lock_lost"),
    ],
)
def test_whether_the_run_night_holds_it(lock: Lock | None, stoppable: bool, code: str | None) -> None:
    verdict = judge_ours(lock, "night", stoppable)
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])
    assert verdict.state is (State.REFUSED if code else State.PASSED)


@given(LOCKS, st.sampled_from(["night", "day"]), st.booleans())
def test_nobody_acts_without_holding_it_and_a_request_stops_only_where_that_is_safe(
    lock: Lock | None, run: str, stoppable: bool
) -> None:
    holds = lock is not None and lock.run == run
    asked = lock is not None and bool(lock.stop)
    assert judge_ours(lock, run, stoppable).passed is (holds and not (asked and stoppable))


def test_who_is_refused_is_told_who_holds_it_and_what_to_do() -> None:
    (reason,) = judge_free(Sight(HELD, Life.ALIVE), "day", "").reasons
    assert reason.message == (
        "Run night of ops@bastion has held the lock since 2026-11-21T02:00:00Z"
        " (renewed 2026-11-21T02:10:00Z, Shards are moving)."
    )
    assert "take_over=night" in reason.remedy
    (lost,) = judge_ours(replace(HELD, run="day", since="", doing=""), "night", stoppable=False).reasons
    assert "Run day of ops@bastion has held the lock since an unknown time" in lost.message


def test_a_run_that_lives_here_is_named_with_its_process() -> None:
    sight = Sight(HELD, Life.ALIVE, process=4711)
    (refused,), (locked,) = judge_free(sight, "day", "night").reasons, judge_free(sight, "day", "").reasons
    assert refused.message == (
        "Run night of ops@bastion has held the lock since 2026-11-21T02:00:00Z (renewed 2026-11-21T02:10:00Z, Shards"
        " are moving). Its process 4711 is alive on this machine, so its lock is not taken over."
    )
    assert "end process 4711, and run again" in refused.remedy
    assert locked.remedy == refused.remedy, "no one is advised to take over what would be refused"


def test_a_check_does_not_say_that_something_was_taken() -> None:
    (reason,) = judge_free(Sight(HELD, Life.GONE), "day", "").reasons
    assert reason.message == (
        "The lock of run night of ops@bastion may be taken over, because its processes on this machine are gone."
    )


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_name_is_one_that_kubernetes_takes_and_of_one_cluster(one: str, other: str) -> None:
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name_for(one))
    assert len(name_for(one)) <= 63
    assert (name_for(one) == name_for(other)) is (one == other)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"JOB_ID": "12", "AWX_HOST": "https://awx"}, " (job 12 of https://awx)"),
        ({"JOB_ID": "12"}, ""),
        ({"AWX_HOST": "https://awx"}, ""),
    ],
)
def test_a_run_of_awx_names_its_job(environment: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JOB_ID", "AWX_HOST"):
        monkeypatch.delenv(name, raising=False)
    alone = who()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert who() == alone + named
