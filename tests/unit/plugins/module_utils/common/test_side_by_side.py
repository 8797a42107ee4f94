"""Several pieces of work at the same time: all outcomes, all refusals, and an end for all of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.side_by_side import ParallelWork, side_by_side
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, remark, waiting

PATIENCE = 20.0
"""Seconds after which a test hangs; nothing is judged by time."""
WAIT = {"wait": True, "wait_timeout": PATIENCE, "wait_sleep": 0.1}


def codes(outcomes: list[Outcome]) -> list[list[str]]:
    return [[reason.code for reason in outcome.verdict.reasons] for outcome in outcomes]


def test_each_waits_for_the_other_so_they_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=PATIENCE)

    def work(task: Task) -> Outcome:
        meeting.wait()
        return Outcome(Verdict((remark(task.params["name"], "Met."),)))

    assert codes(side_by_side(Task({}), [ParallelWork(work, {"name": "a"}), ParallelWork(work, {"name": "b"})])) == [
        ["a"],
        ["b"],
    ]


def test_a_refusal_of_one_part_is_its_verdict_and_the_others_go_on() -> None:
    def refuse(_task: Task) -> Outcome:
        raise refusal("no", "No.", "Ask again.")

    found = side_by_side(Task({}), [ParallelWork(refuse, {}), ParallelWork(lambda _task: Outcome(Verdict()), {})])
    assert [outcome.verdict.state for outcome in found] == [State.REFUSED, State.PASSED]
    assert side_by_side(Task({}), []) == []


def test_acts_and_what_was_waited_for_come_together() -> None:
    task = Task(WAIT)

    def work(part: Task) -> Outcome:
        looks = iter([Verdict((waiting(part.params["name"], "Not yet."),)), Verdict()])
        _seen, verdict = part.wait(lambda: next(looks), lambda seen: seen)
        part.journal.did("look", part.params["name"])
        return Outcome(verdict)

    side_by_side(task, [ParallelWork(work, {**WAIT, "name": "a"}), ParallelWork(work, {**WAIT, "name": "b"})])
    assert sorted(act["target"] for act in task.journal.as_result()) == ["a", "b"]
    assert sorted(each["code"] for each in task.waited.as_result()) == ["a", "b"]


def test_parts_that_wait_for_the_same_at_once_have_its_longest_seconds_in_addition_to_those_before() -> None:
    task = Task(WAIT)
    task.waited.seconds[("a", "Not yet.")] = 5.0

    def work(part: Task) -> Outcome:
        part.waited.seconds[("a", "Not yet.")] = part.params["seconds"]
        return Outcome(Verdict())

    side_by_side(task, [ParallelWork(work, {**WAIT, "seconds": seconds}) for seconds in (2.0, 10.0, 3.0)])
    assert task.waited.as_result() == [{"code": "a", "message": "Not yet.", "seconds": 15.0}]


def test_an_interruption_ends_a_part_that_waits_and_goes_on_itself() -> None:
    began = threading.Event()
    ended: list[Any] = []

    def endless(part: Task) -> Outcome:
        def look() -> Verdict:
            began.set()
            return Verdict((waiting("never", "It never comes."),))

        try:
            _seen, verdict = part.wait(look, lambda seen: seen)
        except Refusal as error:
            ended.append(error.verdict.reasons[0].code)
            with pytest.raises(Refusal):
                part.still_wanted()
            raise
        return Outcome(verdict)

    def interrupted(_task: Task) -> Outcome:
        assert began.wait(PATIENCE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(Task(WAIT), [ParallelWork(interrupted, {}), ParallelWork(endless, {**WAIT, "wait_timeout": 3600})])
    assert ended == ["interrupted"]


def test_what_guards_the_task_guards_its_parts() -> None:
    asked: list[str] = []

    class Lost:
        def before_look(self, doing: str, stoppable: bool) -> None:
            asked.append("look")

        def before_act(self) -> None:
            raise refusal("lock_lost", "The lock is lost.", "Look who holds it.")

    def work(part: Task) -> Outcome:
        part.may_look()
        part.still_wanted()
        return Outcome(Verdict())

    assert codes(side_by_side(Task({}, guard=Lost()), [ParallelWork(work, {})])) == [["lock_lost"]]
    assert asked == ["look"]
