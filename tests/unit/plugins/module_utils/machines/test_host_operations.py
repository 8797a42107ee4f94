"""The next step of work on a machine whose operating system is an image."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.host_operations import (
    HostStep,
    WantedHost,
    next_host_step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.host_operations import (
    HostPlan,
    HostState,
    HostStatus,
    host_plan,
    host_status,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.node_updates import FailureKind
from ansible_collections.stateful.upgrade.plugins.plugin_utils import os_image_answers
from ansible_collections.stateful.upgrade.plugins.plugin_utils.os_image_answers import (
    Answers,
    WantedStep,
    fault_of,
    has_ended,
    is_busy,
    seconds_left,
    tries_left,
    until_of,
)

IMAGE = "ab" * 32
WANTED = WantedHost("d1", IMAGE, differs=True, budgets={FailureKind.TRANSIENT: 1})
PLAN = HostPlan("d1", boot="b1")
IDLE = HostStatus("", HostState.NONE, "")
RUNNING = HostStatus("d1-1", HostState.RUNNING, "")
DONE = HostStatus("d1-1", HostState.SUCCEEDED, IMAGE)
FAILED = HostStatus("d1-1", HostState.FAILED, "", FailureKind.TRANSIENT, "Busy", "the disk is busy")


def step(kept: HostPlan | None, told: HostStatus, wanted: WantedHost = WANTED, *, late: bool = False) -> HostStep:
    return next_host_step(kept, told, wanted, "b1", late=late).step


def test_what_differs_is_submitted_once_and_followed() -> None:
    begun = next_host_step(None, IDLE, WANTED, "b1", late=False)
    assert (begun.step, begun.plan) == (HostStep.SUBMIT, PLAN)
    assert step(PLAN, RUNNING) is HostStep.FOLLOW
    ended = next_host_step(PLAN, DONE, WANTED, "b2", late=False)
    assert (ended.step, ended.plan) == (HostStep.READY, replace(PLAN, done=True))


def test_nothing_is_submitted_where_nothing_differs() -> None:
    same = replace(WANTED, differs=False)
    assert step(None, IDLE, same) is HostStep.READY
    assert step(replace(PLAN, done=True), IDLE, same) is HostStep.READY


@pytest.mark.parametrize("kept", [None, PLAN, HostPlan("another")])
def test_whatever_is_under_way_is_followed_and_never_submitted_again(kept: HostPlan | None) -> None:
    for differs in (True, False):
        assert step(kept, RUNNING, replace(WANTED, differs=differs)) is HostStep.FOLLOW
    assert step(kept, RUNNING, late=True) is HostStep.FAILED


def test_failures_are_retried_by_their_class() -> None:
    again = next_host_step(PLAN, FAILED, WANTED, "b1", late=False)
    assert again.step is HostStep.SUBMIT
    assert again.plan is not None
    assert (again.plan.operation, again.plan.retried) == ("d1-2", {FailureKind.TRANSIENT: 1})
    told = replace(FAILED, operation="d1-2")
    last = next_host_step(again.plan, told, WANTED, "b1", late=False)
    assert (last.step, last.cause) == (HostStep.FAILED, "Busy: the disk is busy (after 1 retries)")
    assert step(PLAN, replace(FAILED, failure=FailureKind.TERMINAL)) is HostStep.FAILED
    assert step(PLAN, replace(FAILED, failure=FailureKind.UNREACHABLE)) is HostStep.FAILED, "without a budget"


def test_a_forgotten_operation_is_submitted_again_and_the_cause_says_whether_the_machine_has_restarted() -> None:
    found = [next_host_step(PLAN, IDLE, WANTED, boot, late=False) for boot in ("b1", "b2")]
    said = "the agent knows nothing of its operation"
    causes = [f"{said}: it was never taken", f"{said}: the machine has started again since"]
    assert [each.cause for each in found] == causes
    # A submission that was lost keeps its name, so that the agent cannot start it twice.
    assert [each.plan.operation for each in found if each.plan] == ["d1-1", "d1-2"]


def test_without_a_plan_a_result_is_read_and_a_failure_gets_a_name_of_its_own() -> None:
    assert step(None, DONE) is HostStep.READY
    fresh = next_host_step(None, replace(FAILED, operation="d1-4"), WANTED, "b1", late=False)
    assert (fresh.step, fresh.plan) == (HostStep.SUBMIT, HostPlan("d1", 5, "b1"))
    assert next_host_step(None, replace(DONE, operation="d2-4"), WANTED, "b1", late=False).plan == PLAN


def test_a_success_with_another_image_is_none() -> None:
    found = next_host_step(PLAN, replace(DONE, image="cd"), WANTED, "b2", late=False)
    assert (found.step, "runs image cd" in found.cause) == (HostStep.FAILED, True)
    assert step(PLAN, replace(DONE, image=""), replace(WANTED, image="")) is HostStep.READY


def test_plans_are_read_as_they_were_written() -> None:
    for plan in (PLAN, HostPlan("d2", 3, "b2", True, dict.fromkeys(FailureKind, 1))):
        read = host_plan(json.loads(json.dumps(plan.as_json())))
        assert (read.operation, read.boot, read.done) == (plan.operation, plan.boot, plan.done)
        assert {kind: count for kind, count in read.retried.items() if count} == plan.retried


def test_answers_that_are_none() -> None:
    assert host_status({}) == IDLE
    assert host_status({"state": "Failed", "failureClass": "Odd"}).failure is FailureKind.TERMINAL
    with pytest.raises(Unreadable):
        host_status({"state": "Done"})


GIVEN: dict[str, Any] = {
    "kept": {"rc": 1},
    "boot": {"stdout": "b1"},
    "configuration": {
        "image": {"sha256": f"sha256:{IMAGE}"},
        "activate": True,
        "kubernetesVersion": "v1.36.1",
        "script": ["kubeadm upgrade node"],
    },
    "kubelet": "1.35.4",
    "interval": 10,
    "retries": {"transient": 2},
}


def decided(told: Any, seconds: int = 600, **more: Any) -> dict[str, Any]:
    given = {**GIVEN, "until": until_of(seconds), **more}
    answers = Answers(told, given.pop("kept"), given.pop("boot"))
    return asdict(os_image_answers.decided(answers, WantedStep(**given)))


def test_the_decision_from_the_results_of_tasks() -> None:
    begun = decided({"rc": 0, "stdout": "{}"})
    assert (begun["step"], begun["under_way"]) == ("submit", True)
    assert json.loads(begun["document"])["operation"] == f"{json.loads(begun['plan'])['digest']}-1"
    assert (begun["answered"], begun["operation"]) == (True, json.loads(begun["document"])["operation"])
    half = decided({"rc": 0, "stdout": "{}"}, kept={"rc": 0, "stdout": begun["plan"][:9]})
    assert half["plan"] == begun["plan"], "a plan that was half written is none"
    name = json.loads(begun["document"])["operation"]
    told = {"rc": 0, "stdout": json.dumps({"operation": name, "state": "Succeeded", "image": f"sha256:{IMAGE}"})}
    assert decided(told, kept={"rc": 0, "stdout": begun["plan"]})["step"] == "ready"
    assert decided(told, kept={"rc": 0, "stdout": begun["plan"]})["operation"] == ""
    running = {"rc": 0, "stdout": json.dumps({"operation": "theirs", "state": "Running"})}
    late = decided(running, 5)
    assert (late["step"], late["answered"], late["operation"]) == ("failed", True, "theirs")
    other = {**GIVEN["configuration"], "script": ["kubeadm upgrade apply -y v1.36.1"]}
    assert decided(told, kept={"rc": 0, "stdout": begun["plan"]}, configuration=other)["step"] == "ready"


def test_a_machine_that_is_away_is_followed_until_the_time_is_over() -> None:
    away = {"unreachable": True, "msg": "timed out"}
    assert (decided(away)["step"], decided(away)["under_way"]) == ("follow", True)
    assert decided(away)["answered"] is False, "what was noted stays"
    assert (decided(away, 5)["step"], decided(away, 5)["cause"]) == ("failed", "the machine cannot be reached")


def test_an_agent_without_an_answer_is_named() -> None:
    silent = decided({"rc": 127, "stderr": "osagent: not found"})
    assert (silent["step"], silent["cause"]) == ("failed", "the agent does not answer: osagent: not found")
    assert (silent["answered"], silent["under_way"]) == (False, True)
    assert "cannot be read" in fault_of({"status": 200, "content": "<html>"})
    assert has_ended({"status": 503, "msg": "busy"}) is False
    assert is_busy({"rc": 0, "stdout": '{"state": "Running"}'}) is True


def test_the_time_that_is_left_allows_one_look_at_least() -> None:
    assert 0 < tries_left(until_of(60), 10) <= 6
    assert (seconds_left(0), tries_left(0, 10)) == (1, 1)
