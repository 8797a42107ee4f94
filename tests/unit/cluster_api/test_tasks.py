"""The task of a machine: a budget, a deadline, and an end after which nothing is done until a person clears it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.cluster_api.cluster_api_extension.documents import config_map_of, task_of
from extensions.cluster_api.cluster_api_extension.policy import Budget
from extensions.cluster_api.cluster_api_extension.tasks import (
    BUSY,
    EVENTS,
    PASSING,
    Task,
    TaskState,
    Wanted,
    claimable,
    claimed,
    digest_of,
    done,
    ended,
    in_progress,
    judged,
    new_task,
    reply,
)
from tests.unit.cluster_api.requests import recorded, with_value

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
BUDGET = Budget(attempts=3, deadline=3600, pause=60, poll=15)
WANTED = Wanted("uid-1", "default", "machine-1", "mem", "v1.36.1", False, "node-1", "digest-1")
OTHER = replace(WANTED, version="v1.36.2", digest="digest-2")


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def asked(task: Task | None, now: datetime, wanted: Wanted = WANTED, alive: bool = False, cleared: str = "") -> Task:
    return judged(task, wanted, BUDGET, now, alive, cleared)


def running(attempts: int = 1) -> Task:
    return replace(in_progress(claimed(new_task(WANTED, BUDGET, NOW), "run-1", NOW), NOW), attempts=attempts)


def said(task: Task, wanted: Wanted = WANTED) -> tuple[str, str, int]:
    answer = reply(task, wanted, "kubectl annotate")
    return answer["status"], answer["message"], answer["retryAfterSeconds"]


def test_an_upgrade_from_its_request_to_its_end() -> None:
    task = asked(None, NOW)
    assert said(task) == ("Success", "The upgrade to v1.36.1 waits for a run to claim it.", 15)
    task = claimed(task, "run-1", later(10))
    assert said(task) == ("Success", "The upgrade to v1.36.1 is claimed by run-1, attempt 1 of 3.", 15)
    task = in_progress(task, later(11))
    assert asked(task, later(30), alive=True) == task
    assert said(task) == ("Success", "The upgrade to v1.36.1 is in progress by run-1, attempt 1 of 3.", 15)
    task = asked(done(task, later(60)), later(90))
    assert said(task) == ("Success", "The machine has v1.36.1.", 0)
    assert asked(task, later(100_000)) == task


def test_a_failure_that_may_pass_is_repeated_until_the_budget_is_spent_and_then_nothing_is_done() -> None:
    task, now = asked(None, NOW), NOW
    for attempt in (1, 2, 3):
        now += timedelta(seconds=BUDGET.pause)
        assert claimable([task], {}, now) == [task]
        task = ended(in_progress(claimed(task, "run", now), now), "drain_timeout", "a budget keeps the pod a/b", now)
        assert claimable([task], {}, now) == []
        if attempt < 3:
            message = f"waits for a run to repeat it; attempt {attempt} of 3 failed: a budget keeps the pod a/b."
            assert said(task) == ("Success", f"The upgrade to v1.36.1 {message}", 15)
    failed = said(task)
    assert failed == (
        "Failure",
        "The upgrade to v1.36.1 has failed: attempt 3 of 3 failed: a budget keeps the pod a/b. "
        "Nothing is done until a person clears it: kubectl annotate",
        0,
    )
    for wanted in (WANTED, OTHER):
        same = asked(task, now + timedelta(days=1), wanted)
        assert (same, said(same, wanted)) == (task, failed)
        assert claimable([same], {}, now + timedelta(days=1)) == []


def test_the_sentence_of_a_command_stands_within_a_message() -> None:
    failed = ended(running(), "refused", "Its disk is full.", NOW)
    assert said(failed)[1].startswith("The upgrade to v1.36.1 has failed: Its disk is full. Nothing is done")


@pytest.mark.parametrize("kind", ["refused", "of a kind that no one has heard of", ""])
def test_a_failure_that_does_not_pass_is_for_good_at_once(kind: str) -> None:
    task = ended(running(), kind, "the package does not exist", NOW)
    assert (task.state, task.attempts) == (TaskState.FAILED, 1)


def test_a_person_clears_a_failure_and_the_budget_is_whole_again() -> None:
    failed = ended(running(), "refused", "no", NOW)
    task = asked(failed, later(7200), OTHER, cleared="ada")
    assert (task.state, task.attempts, task.wanted) == (TaskState.WAITING, 0, OTHER)
    assert task.deadline == later(7200 + BUDGET.deadline)
    assert any(event.endswith("cleared: ada") for event in task.events)


def test_a_clearance_of_what_has_not_failed_does_nothing() -> None:
    assert asked(running(), NOW, alive=True, cleared="ada") == running()


@pytest.mark.parametrize("task", [new_task(WANTED, BUDGET, NOW), running()])
def test_the_deadline_ends_a_task_whether_it_waits_or_runs(task: Task) -> None:
    assert asked(task, later(BUDGET.deadline - 1), alive=True).state is task.state
    late = asked(task, later(BUDGET.deadline), alive=True)
    assert (late.state, late.kind, late.reason) == (TaskState.FAILED, "deadline", "it was not done within 3600 s")
    assert claimable([late], {}, later(BUDGET.deadline)) == []


def test_a_run_that_died_costs_one_attempt_and_another_one_takes_its_place() -> None:
    task = asked(running(), later(120), alive=False)
    assert (task.state, task.kind, task.holder) == (TaskState.WAITING, "lost", "")
    assert claimable([task], {}, later(180)) == [task]
    assert asked(running(3), later(120), alive=False).state is TaskState.FAILED


def test_another_target_takes_the_place_of_one_that_no_run_has_claimed() -> None:
    task = asked(asked(None, NOW), later(10), OTHER)
    assert (task.wanted, task.state, task.deadline) == (OTHER, TaskState.WAITING, later(10 + BUDGET.deadline))
    assert asked(done(running(), NOW), later(10), OTHER).wanted == OTHER


def test_another_target_ends_the_run_in_progress_and_waits_for_its_end() -> None:
    task = asked(running(), later(10), OTHER, alive=True)
    assert (task.abort, task.wanted, task.state) == (True, WANTED, TaskState.IN_PROGRESS)
    assert asked(task, later(20), OTHER, alive=True) == task
    message = "The upgrade to v1.36.2 waits for the end of the one to v1.36.1 by run-1."
    assert said(task, OTHER) == ("Success", message, 15)
    ended_run = ended(task, "aborted", "asked to end", later(30))
    assert claimable([ended_run], {}, later(600)) == []
    assert asked(ended_run, later(40), OTHER).wanted == OTHER
    # The first target is wanted once more.
    again = asked(ended_run, later(40), WANTED)
    assert (again.abort, again.state, again.attempts) == (False, TaskState.WAITING, 0)
    # Or the run ended before it saw the request.
    assert said(asked(done(task, later(30)), later(40), OTHER), OTHER)[2] == 15


def test_done_of_one_target_is_not_done_of_another() -> None:
    assert said(done(running(), NOW), OTHER)[2] == 15


def test_tasks_are_claimed_one_in_a_cluster_those_that_were_begun_first_then_the_oldest() -> None:
    def task(uid: str, cluster: str, created: float, attempts: int = 0) -> Task:
        wanted = replace(WANTED, uid=uid, cluster=cluster)
        return replace(new_task(wanted, BUDGET, later(created)), attempts=attempts)

    tasks = [task("a", "one", 30), task("b", "one", 20), task("c", "one", 40, attempts=1), task("d", "two", 50)]
    free = claimable(tasks, {}, later(100))
    assert [each.wanted.uid for each in free] == ["c", "b", "a", "d"]
    busy = [*tasks, claimed(task("e", "one", 10), "run", later(60))]
    assert [each.wanted.uid for each in claimable(busy, {"e": True}, later(100))] == ["d"]
    assert [each.wanted.uid for each in claimable(busy, {"e": True}, later(100), 2)] == ["c", "b", "a", "d"]


EVENT = st.sampled_from(
    ["ask", "ask_other", "ask_alive", "claim", "start", "done", "refused", "clear", "wait", *sorted(PASSING)]
)


def happened(task: Task, event: str, now: datetime) -> Task:
    if event in ("ask", "ask_other", "ask_alive", "clear"):
        wanted = OTHER if event == "ask_other" else WANTED
        return asked(task, now, wanted, alive=event == "ask_alive", cleared="ada" if event == "clear" else "")
    if event == "claim":
        return claimed(task, "run", now) if claimable([task], {}, now) else task
    if task.state not in BUSY:
        return task
    if event == "start":
        return in_progress(task, now)
    return done(task, now) if event == "done" else ended(task, event, "a cause", now) if event != "wait" else task


@given(st.lists(st.tuples(EVENT, st.integers(1, 900)), max_size=60))
def test_whatever_happens_the_budget_holds_and_a_failure_stays_until_it_is_cleared(
    events: list[tuple[str, int]],
) -> None:
    now, task = NOW, asked(None, NOW)
    for event, seconds in events:
        now += timedelta(seconds=seconds)
        before, task = task, happened(task, event, now)
        assert task.attempts <= BUDGET.attempts
        assert len(task.events) <= EVENTS
        if before.state is TaskState.FAILED and event != "clear":
            assert task == before
        if task.state is TaskState.CLAIMED and before.state is not TaskState.CLAIMED:
            assert now < task.deadline
        for wanted in (WANTED, OTHER):
            answer = reply(task, wanted, "")
            assert (answer["status"] == "Failure") == (task.state is TaskState.FAILED)
            over = task.state is TaskState.DONE and task.wanted.digest == wanted.digest
            assert (answer["status"] == "Success" and answer["retryAfterSeconds"] == 0) == over
        assert task_of(config_map_of(task, "tasks")) == task


@pytest.mark.parametrize(
    "path",
    [
        "machine.metadata.labels",
        "machine.spec.providerID",
        "machine.spec.deletion.nodeDeletionTimeoutSeconds",
        "bootstrapConfig.spec.joinConfiguration.discovery.bootstrapToken.token",
        "infrastructureMachine.metadata.annotations",
    ],
)
def test_the_digest_does_not_see_what_controllers_change_during_an_update(path: str) -> None:
    desired = recorded("updatemachine")["desired"]
    assert digest_of(with_value(desired, path, None)) == digest_of(desired)


@pytest.mark.parametrize(
    "path",
    ["machine.spec.version", "bootstrapConfig.spec.joinConfiguration.nodeRegistration", "infrastructureMachine.spec.x"],
)
def test_the_digest_sees_every_other_part_of_a_spec(path: str) -> None:
    desired = recorded("updatemachine")["desired"]
    assert digest_of(with_value(desired, path, "changed")) != digest_of(desired)
