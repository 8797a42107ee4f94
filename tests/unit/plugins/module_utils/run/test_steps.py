"""The steps of a run in their order, and the condition of each over all passes."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import read_as
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import (
    Condition,
    FailureClass,
    StepState,
    after_step,
    step_progress,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.steps import (
    Step,
    StepPoint,
    faults_of_steps,
    faults_of_steps_asked_for,
    in_order,
    run_waits,
)
from hypothesis import given
from hypothesis import strategies as st

Json = dict[str, Any]
ALL = (
    Step("one", StepPoint.BEFORE, "one.yml"),
    Step("two", StepPoint.BEFORE, "two.yml"),
    Step("end", StepPoint.AFTER, "e.yml"),
)


def names(*said: Json) -> list[str]:
    assert list(faults_of_steps(said, ALL)) == []
    return [step.name for step in in_order(said, ALL)]


def test_steps_are_inserted_replaced_and_skipped_by_name() -> None:
    assert names() == ["one", "two", "end"]
    assert names({"name": "two", "skip": True}) == ["one", "end"]
    assert names({"name": "own", "tasks": "o.yml"}) == ["one", "two", "end", "own"]
    assert names({"name": "own", "tasks": "o.yml", "before_step": "two"}) == ["one", "own", "two", "end"]
    assert names({"name": "own", "tasks": "o.yml", "after_step": "two"}) == ["one", "two", "own", "end"]
    both = ({"name": "own", "tasks": "o.yml", "after_step": "end"}, {"name": "x", "tasks": "x", "before_step": "own"})
    assert names(*both) == ["one", "two", "end", "x", "own"]
    assert [step.moment for step in in_order(both, ALL)][-2:] == [StepPoint.AFTER, StepPoint.AFTER]
    (replaced,) = [step for step in in_order([{"name": "two", "tasks": "mine.yml"}], ALL) if step.own]
    assert (replaced.name, replaced.tasks, replaced.moment) == ("two", "mine.yml", StepPoint.BEFORE)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ([{"name": "own"}], "upgrade_steps[0] has no tasks"),
        ([{"name": "own", "skip": True}], "upgrade_steps[0] skips own, and there is no such step"),
        ([{"name": "own", "tasks": "a"}, {"name": "own", "tasks": "b"}], "upgrade_steps[1] names the step own again"),
        ([{"name": "own", "tasks": "a", "before_step": "x"}], "names the step x as its neighbour, and no such step"),
        ([{"name": "own", "tasks": "a", "before_step": "one", "after_step": "two"}], "has more than one place"),
        ([{"name": "own", "tasks": "a", "before_step": "one", "moment": "after"}], "has more than one place"),
        ([{"name": "two", "tasks": "a", "before_step": "one"}], "has more than one place"),
    ],
)
def test_each_fault_is_one_sentence(said: list[Json], fault: str) -> None:
    (sentence,) = faults_of_steps(said, ALL)
    assert fault in sentence


STATES = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(StepState)), max_size=12)


def played(states: list[tuple[str, StepState]]) -> tuple[Condition, ...]:
    conditions: tuple[Condition, ...] = ()
    for moment, (name, state) in enumerate(states, 10):
        conditions = after_step(conditions, name, state, "", str(moment))
    return conditions


@given(STATES)
def test_a_condition_is_true_from_its_completion_on_and_never_before(states: list[tuple[str, StepState]]) -> None:
    for condition in played(states):
        assert (condition.status == "True") is bool(condition.complete_time)
        assert condition.start_time <= condition.last_transition_time <= condition.last_probe_time
        assert read_as(Condition, asdict(condition)) == condition


@given(STATES)
def test_whatever_came_before_a_pass_that_completes_ends_as_one_undisturbed(
    states: list[tuple[str, StepState]],
) -> None:
    """Kills, errors and passes that wait leave other times, and nothing else."""
    whole = [(name, state) for name in "ab" for state in (StepState.STARTED, StepState.COMPLETED)]
    kept = {(each.type, each.status, each.reason, each.message) for each in played([*states, *whole])}
    assert kept == {(each.type, each.status, each.reason, each.message) for each in played(whole)}


def test_a_step_that_is_skipped_counts_as_completed_and_tells_why() -> None:
    doing = after_step((), "a", StepState.IN_PROGRESS, "It waits.", "10", FailureClass.FAILED)
    (skipped,) = after_step(doing, "a", StepState.SKIPPED, "No machine came.", "11")
    assert (skipped.status, skipped.reason, skipped.message) == ("True", "skipped", "No machine came.")
    assert (skipped.complete_time, skipped.failed) == ("11", 0)
    (again,) = after_step((skipped,), "a", StepState.STARTED, "", "12")
    assert (again.reason, again.message) == ("skipped", "No machine came.")


def test_a_run_that_goes_on_knows_what_an_earlier_one_has_gone_on_without() -> None:
    conditions = after_step((), "a", StepState.SKIPPED, "No machine came.", "2026-01-01T00:00:00Z")
    started = after_step(conditions, "a", StepState.STARTED, "", "2026-01-01T00:01:00Z")
    told = step_progress(started, "a", datetime(2026, 1, 1, 0, 2, tzinfo=timezone.utc))
    assert told == {"unfinished_seconds": 0, "failed": 0, "unreachable": 0, "skipped": "No machine came."}


def test_a_step_that_was_completed_stays_so_while_it_is_taken_again() -> None:
    (again,) = played([("a", StepState.STARTED), ("a", StepState.COMPLETED), ("a", StepState.STARTED)])
    assert (again.status, again.complete_time, again.last_probe_time) == ("True", "11", "12")
    (worse,) = after_step((again,), "a", StepState.IN_PROGRESS, "It is gone.", "20")
    assert (worse.status, worse.complete_time, worse.message) == ("False", "", "It is gone.")


def test_a_step_of_the_collection_may_have_limits_of_the_user() -> None:
    said = [{"name": "alerts", "timeout": "60", "retries": 2}, {"name": "own", "tasks": "own.yml", "late_after": 5}]
    assert [*faults_of_steps(said)] == []
    steps = {step.name: step for step in in_order(said)}
    assert (steps["alerts"].timeout, steps["alerts"].retries, steps["alerts"].own) == (60, 2, False)
    assert (steps["alerts"].tasks, steps["alerts"].part) == ("part.yml", "prometheus_alerts")
    assert (steps["own"].late_after, steps["own"].own) == (5, True)
    assert [*faults_of_steps([{"name": "own", "timeout": 5}])] == [
        "upgrade_steps[0] has no tasks: give the file of the tasks of the step own, or skip it."
    ]


@pytest.mark.parametrize(
    ("said", "variables", "deed"),
    [
        ({"name": "snapshot", "skip": True}, {"upgrade_snapshot": "backup"}, "skips"),
        ({"name": "snapshot", "tasks": "own.yml"}, {"upgrade_snapshot": "backup"}, "replaces"),
        ({"name": "snapshot", "skip": True}, {}, ""),
        ({"name": "snapshot", "timeout": 60}, {"upgrade_snapshot": "backup"}, ""),
        ({"name": "alerts", "skip": True}, {"upgrade_snapshot": "backup"}, ""),
    ],
)
def test_a_step_that_a_variable_asks_for_is_not_left_out(said: Any, variables: Any, deed: str) -> None:
    found = [*faults_of_steps_asked_for([said], variables)]
    sentence = f"upgrade_snapshot asks for the step snapshot, and upgrade_steps {deed} it: give only one of the two."
    assert found == ([sentence] if deed else [])


def test_failures_are_counted_by_class_until_the_step_is_completed() -> None:
    conditions: tuple[Condition, ...] = ()
    doing = StepState.IN_PROGRESS
    for second, failure in enumerate((FailureClass.FAILED, FailureClass.UNREACHABLE, FailureClass.FAILED, None)):
        conditions = after_step(conditions, "s", doing, "no", f"2026-01-01T00:00:0{second}Z", failure)
    now = datetime(2026, 1, 1, 0, 1, tzinfo=timezone.utc)
    assert step_progress(conditions, "s", now) == {"unfinished_seconds": 60, "failed": 2, "unreachable": 1}
    done = after_step(conditions, "s", StepState.COMPLETED, "", "2026-01-01T00:00:09Z")
    assert step_progress(done, "s", now) == {"unfinished_seconds": 0, "failed": 0, "unreachable": 0}
    assert step_progress(done, "other", now) == {"unfinished_seconds": 0, "failed": 0, "unreachable": 0}
    for edited in ("yesterday", "", "2026-01-01T00:00:00"):
        by_hand = [replace(each, last_transition_time=edited) for each in conditions]
        assert step_progress(by_hand, "s", now)["unfinished_seconds"] == 0


@pytest.mark.parametrize("wait", [None, "", True, "true", "True", "yes", "on", "y", "t", 1, "1", 1.0])
def test_a_run_waits_by_default_and_with_each_word_for_yes_of_ansible(wait: object) -> None:
    assert run_waits(wait)


@pytest.mark.parametrize("wait", [False, "false", "no", "off", "n", 0, "0"])
def test_a_single_pass_is_asked_for_in_the_same_words(wait: object) -> None:
    assert not run_waits(wait)
