"""A step whose tasks have been run is done, tried again, left to the next pass, or has failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Guard, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import now_seconds
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import upgrade_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import StepState
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.trying import Next, Try
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

NOTHING: dict[str, Any] = {
    **{"waits": "", "reasons": [], "without": "", "since": 0, "failure": {}, "timeout": 100, "late_after": 0},
    **{"retries": 0, "retries_unreachable": 0, "before": {}},
}
WAITS = {"code": "node_not_ready", "state": "waiting", "message": "Node a is not ready."}
REMARK = {"code": "alert_ignored", "state": "passed", "message": "The alert b is ignored."}
BROKEN = {"task": "Ask the shop", "message": "It is on fire.", "codes": [], "unreachable": False}


def tried(seconds: int = 5, times: int = 0, wait: bool = True, unfinished: int = 0, **given: Any) -> Try:
    return Try("shop", {**NOTHING, **given}, seconds, unfinished, times, wait)


@pytest.mark.parametrize(("timeout", "longest"), [(60, 60), (1800, 60), (43_200, 720), (7 * 86_400, 10_080)])
def test_the_tries_of_a_step_are_not_more_than_ansible_can_nest(timeout: int, longest: int) -> None:
    seconds, pauses = 1, list[int]()
    while (one := tried(seconds=seconds, timeout=timeout, waits="It is open.")).next() is Next.AGAIN:
        pauses.append(one.pause())
        seconds += pauses[-1]
    assert pauses[0] == 2
    assert max(pauses) <= longest
    # Ansible-core fails at about 250.
    assert len(pauses) < 100


@pytest.mark.parametrize(
    ("one", "following", "state"),
    [
        (tried(), Next.DONE, StepState.COMPLETED),
        (tried(reasons=[REMARK]), Next.DONE, StepState.COMPLETED),
        (tried(reasons=[REMARK, WAITS]), Next.AGAIN, StepState.IN_PROGRESS),
        (tried(waits="It is open."), Next.AGAIN, StepState.IN_PROGRESS),
        (tried(waits="It is open.", wait=False), Next.WAITING, StepState.IN_PROGRESS),
        (tried(waits="It is open.", seconds=100), Next.FAILED, StepState.IN_PROGRESS),
        (tried(waits="It is open.", seconds=100, wait=False), Next.WAITING, StepState.IN_PROGRESS),
        (tried(failure=BROKEN, times=1), Next.FAILED, StepState.IN_PROGRESS),
        (tried(failure=BROKEN, times=1, retries=1), Next.AGAIN, StepState.IN_PROGRESS),
        (tried(failure=BROKEN, times=1, retries=1, wait=False), Next.WAITING, StepState.IN_PROGRESS),
        (tried(failure=BROKEN, times=2, retries=1), Next.FAILED, StepState.IN_PROGRESS),
        (tried(failure=BROKEN, times=1, retries_unreachable=1), Next.FAILED, StepState.IN_PROGRESS),
        (
            tried(failure={**BROKEN, "unreachable": "True"}, times=1, retries_unreachable=1),
            Next.AGAIN,
            StepState.IN_PROGRESS,
        ),
        (
            tried(failure={**BROKEN, "codes": ["stopped_by_request"]}, times=1, retries=9),
            Next.FAILED,
            StepState.IN_PROGRESS,
        ),
        (tried(failure=BROKEN, times=1, without="a shop"), Next.SKIPPED, StepState.SKIPPED),
        (tried(failure=BROKEN, times=1, without="a shop", wait=False), Next.SKIPPED, StepState.SKIPPED),
        (tried(failure=BROKEN, times=1, retries=1, without="a shop"), Next.AGAIN, StepState.IN_PROGRESS),
        (tried(waits="It is open.", seconds=100, without="a shop"), Next.FAILED, StepState.IN_PROGRESS),
        (
            tried(failure={**BROKEN, "codes": ["lock_lost"]}, times=1, without="a shop"),
            Next.FAILED,
            StepState.IN_PROGRESS,
        ),
    ],
)
def test_the_thing_that_comes_next(one: Try, following: Next, state: StepState) -> None:
    assert (one.next(), one.state()) == (following, state)


def test_a_step_is_late_over_all_runs() -> None:
    late = tried(waits="It is open.", late_after=60, unfinished=90)
    assert (late.late, late.message) == (True, "The step shop is not done, and late after 90 s: It is open.")
    assert not tried(waits="It is open.", late_after=60, unfinished=59).late
    assert not tried(waits="It is open.", unfinished=9999).late
    assert not tried(late_after=60, unfinished=90).late


def test_pauses_grow_with_the_time_and_end_with_it() -> None:
    assert [tried(seconds=each, timeout=1000).pause() for each in (0, 7, 40, 400, 990)] == [2, 2, 10, 60, 10]
    assert tried(seconds=2000, timeout=1000).pause() == 1


def test_a_failure_says_its_task_and_its_codes() -> None:
    assert tried(failure=BROKEN, times=1).failed() == {
        **{"task": "Ask the shop", "message": "It is on fire.", "codes": ["step_failed"]},
        **{"step": "shop", "batch": "the step shop"},
    }
    assert tried(waits="It is open.", seconds=100).failed()["codes"] == ["timed_out"]


def test_a_step_waits_for_what_its_results_or_the_user_say() -> None:
    both = tried(reasons=[REMARK, WAITS, {**WAITS, "message": "Node c is cordoned."}])
    assert (both.waits, both.remarks()) == ("Node a is not ready. Node c is cordoned.", ["The alert b is ignored."])
    assert tried(reasons=[WAITS], waits="It is open.").waits == "It is open."


def test_an_upgrade_that_goes_on_without_a_step_says_so_and_sends_a_notice() -> None:
    without = tried(failure={**BROKEN, "codes": ["quota_exceeded"]}, times=1, without="a second shop")
    assert without.remarks() == ["The upgrade continues without a second shop. It is on fire."]
    assert without.notice(noticed=True) == {
        **{"state": "scale_skipped", "cause": "It is on fire.", "codes": ["quota_exceeded"]},
    }
    assert tried(failure=BROKEN, times=1).notice(noticed=False) == {}


class Asking:
    """A guard whose looks fail."""

    def __init__(self, error: Refusal) -> None:
        self.error = error

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        if stoppable or isinstance(self.error, Unreachable):
            raise self.error

    def before_act(self) -> None:
        """See `Guard`."""


def noted(wait: bool = True, guard: Guard | None = None, **given: Any) -> tuple[dict[str, Any], list[str]]:
    """The result of the module without a record, and the lines that it shows."""
    said: list[str] = []
    spec: Mapping[str, Any] = upgrade_record.CONTRACT.argument_spec
    params = {name: option.get("default") for name, option in spec.items()}
    params |= {"state": "step", "step": "shop", "record_kept_in": "none", "wait": wait, "tried": {**NOTHING, **given}}
    clock = Passing()
    result = perform(upgrade_record.run, Task(params, clock=clock, voice=Lines(said.append), guard=guard))
    return {**result.get("step", {}), "slept": clock.time, "msg": result.get("msg", "")}, said


def test_without_a_record_failures_are_counted_from_try_to_try() -> None:
    now = now_seconds()
    first, said = noted(since=now, failure=BROKEN, retries=1)
    assert (first["next"], first["counted"]["failed"]) == ("again", 1)
    assert said == ["The step shop waits: It has failed 1 of 2 times: It is on fire."]
    assert first["slept"] >= 2
    second, said = noted(since=now, failure=BROKEN, retries=1, before=first)
    assert (second["next"], second["failure"]["message"], said) == ("failed", "It is on fire.", [])


def test_a_notice_that_it_is_late_is_due_once() -> None:
    old = now_seconds() - 50
    first, _said = noted(since=old, waits="It is open.", late_after=10)
    second, _said = noted(since=old, waits="It is open.", late_after=10, before=first)
    single, _said = noted(wait=False, since=old, waits="It is open.", late_after=10)
    assert [each["notice"] for each in (first, second, single)] == [
        {"state": "delayed", "cause": first["reason"]["message"], "codes": ["step_late"]},
        {},
        {},
    ]
    assert (single["next"], single["reason"]["code"]) == ("waiting", "step_late")


def test_an_api_that_is_away_during_the_pause_does_not_end_the_step() -> None:
    away = Asking(Unreachable(refused("kubernetes_unreachable", "The API is away.", "Wait.")))
    paused, said = noted(guard=away, since=now_seconds(), waits="It is open.")
    assert (paused["next"], said[-1]) == ("again", "The step shop waits: It is open.")
    assert paused["slept"] >= 2


def test_an_abort_ends_the_pause_and_hides_no_failure() -> None:
    stop = Asking(refusal("stopped_by_request", "A person asked it to stop.", "Run again."))
    assert "A person asked it to stop." in noted(guard=stop, since=now_seconds(), waits="It is open.")[0]["msg"]
    failed, _said = noted(guard=stop, since=now_seconds(), failure=BROKEN)
    assert (failed["next"], failed["failure"]["message"], failed["msg"]) == ("failed", "It is on fire.", "")


def test_the_changes_of_a_step_are_taken_back_if_it_has_failed_but_not_by_a_run_that_is_to_end() -> None:
    now = now_seconds()
    failed, _said = noted(since=now, failure=BROKEN)
    skipped, _said = noted(since=now, failure=BROKEN, without="a shop")
    lost, _said = noted(since=now, failure={**BROKEN, "codes": ["lock_lost"]}, without="a shop")
    again, _said = noted(since=now, failure=BROKEN, retries=1)
    assert [each["takes_back"] for each in (failed, skipped, lost, again)] == [True, True, False, False]
    assert [each["next"] for each in (failed, skipped, lost, again)] == ["failed", "skipped", "failed", "again"]
