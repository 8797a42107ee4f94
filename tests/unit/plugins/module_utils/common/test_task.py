"""The surroundings of a piece of work, and its result."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Denied,
    Refusal,
    Unreachable,
    refusal,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.packages import needed
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import (
    DENIED_PATIENCE,
    Journal,
    Outcome,
    Task,
    passed_or_raise,
    perform,
    sentences,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import (
    State,
    Verdict,
    refused,
    remark,
    waiting,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines

ROOT = Path(__file__).resolve().parents[5]
AWAY = Unreachable(refused("api_unreachable", "The API is away.", "Bring it back."))
SLOW = Verdict((waiting("slow", "It is slow.", "Wait."),))
WAITING = {"wait": True, "wait_timeout": 5, "wait_sleep": 1}


class StandingClock:
    """Time that passes when a task sleeps."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def task(params: Mapping[str, Any] | None = None, **others: Any) -> Task:
    return Task(params=params or {}, clock=StandingClock(), **others)


def orphan(params: Mapping[str, Any]) -> Task:
    """A task whose starter was another process than the one above us now."""
    return task(params, parents=(f"{os.getppid() + 1}",))


WORKER = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import conftest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, waiting

slow = Verdict((waiting("slow", "It is slow."),))
task = Task(params={{"wait": True, "wait_timeout": 60, "wait_sleep": 0.01}})
print("looking", flush=True)
try:
    _seen, verdict = task.wait(lambda: None, lambda _seen: slow)
except Refusal as error:
    verdict = error.verdict
print(verdict.reasons[0].code, flush=True)
"""
CONTROLLER = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {WORKER!r}])
"""


def test_a_task_whose_controller_is_alive_is_wanted() -> None:
    task().still_wanted()


def test_an_orphan_neither_looks_nor_acts() -> None:
    looked: list[int] = []
    for params in (WAITING, {"wait": False}):
        with pytest.raises(Refusal) as caught:
            orphan(params).wait(lambda: looked.append(1), lambda _seen: Verdict())
        assert [reason.code for reason in caught.value.verdict.reasons] == ["orphaned"]
    assert not looked


def test_an_act_is_noted_once_it_is_made_and_in_check_mode_only_noted() -> None:
    made: list[str] = []
    for check_mode in (False, True):
        acting = task(check_mode=check_mode)
        acting.act("turn", "dimmer", lambda: made.append("turned"))
        assert [(each["action"], each["target"]) for each in acting.journal.as_result()] == [("turn", "dimmer")]
    assert made == ["turned"]


def test_a_worker_that_outlives_its_killed_controller_stops() -> None:
    with subprocess.Popen([sys.executable, "-c", CONTROLLER], stdout=subprocess.PIPE, text=True) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == "looking\n"
        controller.kill()
        assert controller.stdout.read() == "orphaned\n"


def test_an_orphan_makes_no_act() -> None:
    made: list[str] = []
    orphan = task(parents=("another",))
    with pytest.raises(Refusal):
        orphan.act("turn", "dimmer", lambda: made.append("turned"))
    assert (made, orphan.journal.as_result()) == ([], [])


def test_without_wait_there_is_one_look_and_its_verdict() -> None:
    looked: list[int] = []
    _seen, verdict = task({"wait": False}).wait(lambda: looked.append(1), lambda _seen: SLOW)
    assert (verdict, looked) == (SLOW, [1])


def test_with_wait_it_is_looked_until_time_is_over() -> None:
    said: list[str] = []
    _seen, verdict = task(WAITING, voice=Lines(said.append)).wait(lambda: None, lambda _seen: SLOW)
    assert verdict.state is State.REFUSED
    assert said == ["waiting: It is slow."]


def test_each_reason_is_a_line_with_its_own_cure() -> None:
    verdict = Verdict(
        (
            refused("old", "a is too old.", "Reindex it."),
            waiting("slow", "It is slow.", "Wait."),
            refused("old", "b is too old.", "Reindex it."),
            remark("said", "A remark."),
            refused("broken", "c is broken.", ""),
        )
    )
    assert sentences(verdict) == "a is too old. Reindex it.\nb is too old. Reindex it.\nc is broken."


def test_a_refusal_anywhere_is_a_failed_result() -> None:
    def run(_task: Task) -> Outcome:
        raise refusal("broken", "It is broken.", "Mend it.")

    assert perform(run, task()) == {
        "changed": False,
        "failed": True,
        "msg": "It is broken. Mend it.",
        "verdict": {
            "state": "refused",
            "reasons": [{"state": "refused", "code": "broken", "message": "It is broken.", "remedy": "Mend it."}],
        },
        "before": {},
        "actions": [],
        "waited": [],
        "next": "",
    }


def test_what_is_no_refusal_is_not_swallowed() -> None:
    def run(_task: Task) -> Outcome:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        perform(run, task())


@pytest.mark.parametrize("diff", [True, False])
def test_a_result_holds_what_was_done_and_the_difference_where_asked(diff: bool) -> None:
    def run(given: Task) -> Outcome:
        given.journal.did("set", "persistent a", value="b", was=None)
        return Outcome(SLOW, True, {"a": None}, {"a": "b"}, "wait", {"digest": "1f"})

    result = perform(run, task(diff_mode=diff))
    assert ("diff" in result) is diff
    assert not diff or result["diff"] == {"before": {"a": None}, "after": {"a": "b"}}
    assert (result["changed"], result["next"], result["digest"]) == (True, "wait", "1f")
    assert "failed" not in result
    (action,) = result["actions"]
    at = datetime.fromisoformat(action.pop("at").replace("Z", "+00:00"))
    assert timedelta() <= datetime.now(timezone.utc) - at < timedelta(minutes=5)
    assert action == {"action": "set", "target": "persistent a", "value": "b", "was": None}


def test_passed_or_raise() -> None:
    assert passed_or_raise(SLOW, Verdict()) == SLOW
    broken = refused("broken", "It is broken.", "Mend it.")
    with pytest.raises(Refusal) as caught:
        passed_or_raise(SLOW, Verdict((broken,)))
    assert caught.value.verdict == Verdict((broken,))


def test_a_missing_package_is_one_sentence() -> None:
    assert needed("json", "json").loads("1") == 1
    with pytest.raises(Refusal) as caught:
        needed("a_package_that_nobody_has", "a-package")
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "package_missing"
    assert "a-package" in reason.remedy


def unreachable(given: Task) -> Outcome:
    return given.wait(lambda: raised(AWAY), lambda _seen: Outcome(Verdict()).verdict)[0]


def raised(error: Exception) -> Outcome:
    raise error


@pytest.mark.parametrize(
    ("params", "state", "failed"),
    [({"wait": False}, "waiting", False), (WAITING, "refused", True), ({}, "refused", True)],
)
def test_one_pass_leaves_an_api_out_of_reach_to_the_next(params: Mapping[str, Any], state: str, failed: bool) -> None:
    result = perform(unreachable if params else lambda _task: raised(AWAY), task(params))
    assert (result["verdict"]["state"], result.get("failed", False)) == (state, failed)
    assert result["verdict"]["reasons"][0]["code"] == "api_unreachable"


def test_one_pass_does_not_make_a_refusal_wait() -> None:
    result = perform(lambda _task: raised(refusal("broken", "It is broken.", "")), task({"wait": False}))
    assert result["verdict"]["state"] == "refused"


ACTS = (("set", "a", {"value": 1}), ("set", "b", {"value": 2}))


def noted(journal: Journal) -> list[tuple[str, str | None]]:
    return [(each["target"], each.get("answer")) for each in journal.as_result()]


def test_what_was_made_is_noted_after_it_was_made() -> None:
    journal = Journal()
    with journal.doing(*ACTS):
        assert journal.as_result() == []
    assert noted(journal) == [("a", None), ("b", None)]
    assert [each["value"] for each in journal.as_result()] == [1, 2]
    assert not journal.unconfirmed


def test_what_was_refused_is_not_noted() -> None:
    journal = Journal()
    with pytest.raises(Refusal), journal.doing(*ACTS):
        raise refusal("broken", "It is broken.", "")
    assert (journal.as_result(), journal.unconfirmed) == ([], False)


def test_what_got_no_answer_is_noted_as_that() -> None:
    journal = Journal()
    with pytest.raises(Unreachable), journal.doing(*ACTS):
        raise AWAY
    assert noted(journal) == [("a", "lost"), ("b", "lost")]
    assert journal.unconfirmed


def test_a_part_sees_only_its_own_acts_and_the_task_sees_all() -> None:
    whole = Journal()
    whole.did("take_lock", "lease")
    part = whole.of_part()
    with pytest.raises(Unreachable), part.doing(*ACTS):
        raise AWAY
    assert [act["target"] for act in part.as_result()] == ["a", "b"]
    assert [act["target"] for act in whole.as_result()] == ["lease", "a", "b"]
    assert (part.unconfirmed, whole.unconfirmed) == (True, True)


@pytest.mark.parametrize("refuses", [True, False])
def test_what_may_have_been_made_counts_as_changed(refuses: bool) -> None:
    """Whether the work then gives up, or finds its act made when it looks again."""

    def run(given: Task) -> Outcome:
        try:
            with given.journal.doing(ACTS[0]):
                raise AWAY
        except Unreachable:
            if refuses:
                raise
        return Outcome(Verdict(), changed=False)

    result = perform(run, task())
    assert result["changed"] is True
    assert result["actions"][0]["answer"] == "lost"


class Asked:
    """A guard that remembers what it was asked, and may refuse."""

    def __init__(self, refuses: bool = False) -> None:
        self.asked: list[tuple[str, bool] | str] = []
        self.refuses = refuses

    def before_look(self, doing: str, stoppable: bool) -> None:
        self.asked.append((doing, stoppable))
        self._answer()

    def before_act(self) -> None:
        self.asked.append("act")
        self._answer()

    def _answer(self) -> None:
        if self.refuses:
            raise refusal("lock_lost", "The lock is lost.", "")


@pytest.mark.parametrize("stoppable", [True, False])
def test_the_guard_is_asked_before_each_look_what_is_waited_for(stoppable: bool) -> None:
    guard = Asked()
    verdicts = [SLOW, SLOW, Verdict()]
    task(WAITING, guard=guard).wait(lambda: verdicts.pop(0), lambda seen: seen, stoppable)
    assert guard.asked == [("", stoppable), ("It is slow.", stoppable), ("It is slow.", stoppable)]


def test_what_the_guard_refuses_is_not_done() -> None:
    looked: list[int] = []
    given = task(WAITING, guard=Asked(refuses=True))
    with pytest.raises(Refusal, match="lost"):
        given.wait(lambda: looked.append(1), lambda _seen: Verdict())
    with pytest.raises(Refusal, match="lost"):
        given.still_wanted()
    assert not looked


def test_an_orphan_does_not_even_ask_the_guard() -> None:
    guard = Asked()
    given = task({"wait": False}, guard=guard, parents=("1.1", "2.2"))
    for ask in (given.still_wanted, given.may_look):
        with pytest.raises(Refusal, match="gone"):
            ask()
    assert guard.asked == []


@pytest.mark.parametrize(("run", "passes"), [("night", True), ("", False)])
def test_a_right_that_a_run_had_is_asked_for_again_for_a_while(run: str, passes: bool) -> None:
    """An API server that has just started denies everything until it knows the roles."""
    asked: list[int] = []

    def look() -> int:
        asked.append(1)
        if len(asked) < 5:
            raise Denied(refused("kubernetes_rights", "You may not.", "Ask for it."))
        return len(asked)

    given = task({**WAITING, "wait_timeout": 60, "wait_sleep": 1.0, "lock": {"run": run}})
    if passes:
        assert given.wait(look, lambda _seen: Verdict())[0] == 5
    else:
        with pytest.raises(Denied):
            given.wait(look, lambda _seen: Verdict())


def test_a_right_that_is_gone_for_good_is_not_waited_for_to_the_end() -> None:
    def look() -> int:
        raise Denied(refused("kubernetes_rights", "You may not.", "Ask for it."))

    given = task({**WAITING, "wait_timeout": 3600, "wait_sleep": 1.0, "lock": {"run": "night"}})
    with pytest.raises(Denied):
        given.wait(look, lambda _seen: Verdict())
    assert DENIED_PATIENCE <= given.clock.now() < DENIED_PATIENCE + 60
