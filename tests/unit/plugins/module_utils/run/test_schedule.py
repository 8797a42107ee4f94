"""The times between which an upgrade may start."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import upgrade_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.run import runs
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.schedule import (
    SCHEDULE,
    Schedule,
    WindowEnd,
    is_late,
    judge_held,
    judge_patience,
    judge_start,
    judge_window,
    schedule_in,
)
from hypothesis import given
from hypothesis import strategies as st

AT = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
WINDOW = Schedule(AT, timedelta(minutes=120))
FITTING = Schedule(AT, timedelta(minutes=120), WindowEnd.MUST_FIT)


def given_options(**options: Any) -> dict[str, Any]:
    return {**{name: option.get("default") for name, option in SCHEDULE.items()}, **options}


def codes(verdict: Verdict) -> list[str]:
    return [reason.code for reason in verdict.reasons]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ""),
        ({"window": 60}, "upgrade_window does nothing without a start time: the upgrade starts at once, and"),
        ({"window": 60, "window_policy": "pause", "early_look": 5}, "upgrade_early_look, upgrade_window, upgrade_wind"),
        ({"window": 60, "at": "2026-11-21T02:00:00Z"}, ""),
    ],
)
def test_a_window_that_nothing_begins_is_a_remark(options: dict[str, Any], said: str) -> None:
    verdict = judge_window(given_options(**options))
    assert verdict.passed
    assert codes(verdict) == (["window_without_start"] if said else [])
    assert "".join(each.message for each in verdict.reasons).startswith(said)


@pytest.mark.parametrize(("minutes", "policy", "said"), [(-5, "open", True), (-5, "pause", False), (5, "open", False)])
def test_a_start_time_that_does_not_hold_back_what_has_commenced_is_a_remark(
    minutes: float, policy: str, said: bool
) -> None:
    verdict = judge_held(Schedule(AT, timedelta(minutes=120), WindowEnd(policy)), at(minutes))
    assert (verdict.passed, codes(verdict)) == (True, ["start_without_effect"] if said else [])


def at(minutes: float) -> datetime:
    return AT + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T02:00:00Z", AT),
        ("2026-11-21t03:00:00+01:00", AT),
        ("2026-11-21 02:00:00.5+00:00", AT + timedelta(seconds=0.5)),
    ],
)
def test_a_moment_is_read_with_its_zone(text: str, moment: datetime) -> None:
    assert schedule_in(given_options(at=text)) == Schedule(moment, timedelta(minutes=120))


@pytest.mark.parametrize("text", ["2026-11-21T02:00:00", "tonight", "2026-13-01T00:00:00Z", "02:00Z"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match=f"'{text}', which is not a date and time with a zone"):
        schedule_in(given_options(at=text))


@pytest.mark.parametrize(
    "given",
    [
        {"at": "9999-12-31T23:00:00Z"},
        {"window": 10**13},
        {"window": 10**10},
        {"early_look": 10**13},
        {"early_look": 10**10},
    ],
)
def test_a_time_outside_of_the_calendar_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="has no end before the year 10000"):
        schedule_in(given_options(**{"at": "2026-11-21T02:00:00Z", **given}))


def test_a_window_has_a_minute_and_an_upgrade_without_a_moment_has_none() -> None:
    with pytest.raises(Refusal, match="0 minutes, in which nothing can start"):
        schedule_in(given_options(at="2026-11-21T02:00:00Z", window=0))
    assert schedule_in(given_options(window=0)) is None


@given(st.integers(-10_000, 10_000), st.booleans(), st.one_of(st.none(), st.floats(0, 100_000)))
def test_it_starts_in_its_window_and_goes_on_at_any_time(
    minutes: int, commenced: bool, predicted: float | None
) -> None:
    verdict = judge_start(WINDOW, at(minutes), commenced=commenced, predicted=predicted)
    inside = 0 <= minutes < 120
    assert verdict.passed is (commenced or inside)
    if not verdict.passed:
        assert codes(verdict) == (["starts_later"] if minutes < 0 else ["window_over"])
    assert judge_start(None, at(minutes), commenced=commenced).passed


def test_one_that_must_fit_ends_in_its_window() -> None:
    assert judge_start(FITTING, at(30), commenced=False, predicted=5_399).passed
    assert codes(judge_start(FITTING, at(30), commenced=False, predicted=5_401)) == ["window_too_short"]
    assert judge_start(FITTING, at(30), commenced=True, predicted=5_401).passed
    assert judge_start(FITTING, at(30), commenced=False, predicted=None).passed


def test_an_open_window_ends_no_start_and_a_delay_is_told_unless_it_is_not_to_be() -> None:
    opened = schedule_in(given_options(at="2026-11-21T02:00:00Z", window_policy="open"))
    assert opened is not None
    assert judge_start(opened, at(500), commenced=False).passed
    assert codes(judge_start(opened, at(-1), commenced=False)) == ["starts_later"]
    assert is_late(opened, at(31))
    silent = schedule_in({**given_options(at="2026-11-21T02:00:00Z"), "reports_delay": False})
    assert silent is not None
    assert not is_late(silent, at(31))


def test_one_that_pauses_goes_on_in_a_window_alone() -> None:
    pausing = Schedule(AT, timedelta(minutes=120), WindowEnd.PAUSE)
    assert pausing.pause_at == int(at(120).timestamp())
    assert (WINDOW.pause_at, FITTING.pause_at) == (0, 0)
    assert judge_start(pausing, at(30), commenced=True).passed
    early, late = (judge_start(pausing, at(minutes), commenced=True) for minutes in (-1, 120))
    assert (codes(early), codes(late)) == (["starts_later"], ["window_closed"])
    assert early.reasons[0].message == "The upgrade continues at 2026-11-21T02:00:00Z, in 1 min."
    assert late.state is State.WAITING
    assert codes(judge_start(pausing, at(120), commenced=False)) == ["window_over"]


def test_before_its_time_it_says_how_long_that_is() -> None:
    (reason,) = judge_start(WINDOW, at(-130), commenced=False).reasons
    assert (reason.state, reason.message) == (
        State.WAITING,
        "The upgrade starts at 2026-11-21T02:00:00Z, in 2 h 10 min.",
    )


def test_a_run_waits_only_so_long() -> None:
    assert judge_patience(WINDOW, at(-15)).passed
    (reason,) = judge_patience(WINDOW, at(-16)).reasons
    assert reason.code == "starts_too_late"
    assert "in 16 min, and a run waits for its start 15 min at most" in reason.message


def test_the_early_look_may_have_a_time() -> None:
    timed = schedule_in(given_options(at="2026-11-21T02:00:00Z", early_look=120))
    always = schedule_in(given_options(at="2026-11-21T02:00:00Z"))
    assert timed is not None
    assert always is not None
    assert [timed.has_early_look(at(minutes)) for minutes in (-121, -120, 0)] == [False, True, True]
    assert always.has_early_look(at(-10_000))


@pytest.mark.parametrize(("batches", "commenced", "found"), [([1], True, 1), ([1], False, 0), ([], True, 0)])
def test_only_a_plan_that_continues_has_that_remark(batches: list[int], commenced: bool, found: int) -> None:
    task = Task(given_options(at="2999-01-01T00:00:00Z"))
    verdict = runs._window_of(task, upgrade_plan.SYSTEM, {"batches": batches, "commenced": commenced})
    assert codes(verdict) == ["start_without_effect"] * found
