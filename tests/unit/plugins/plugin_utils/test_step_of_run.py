"""The step that a run takes, from the variables that its tasks have registered."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.steps import StepPoint
from ansible_collections.stateful.upgrade.plugins.plugin_utils.capacity_of_run import added
from ansible_collections.stateful.upgrade.plugins.plugin_utils.step_of_run import options_of_step, steps_of

Json = dict[str, Any]
WAITS = {"code": "node_not_ready", "state": "waiting", "message": "Node a is not ready."}
PROMETHEUS = {"upgrade_prometheus": {"url": "https://prometheus"}}


def doing(name: str, moment: str = "before", **more: Any) -> Json:
    """The variables of a run that takes this step."""
    variables = {**PROMETHEUS, "begin_plan": {"adds": ["one member more"]}, "steps_moment": moment, **more}
    (step,) = [each for each in steps_of(variables.get, StepPoint(moment)) if each.name == name]
    begun = {"at": 100, "record": {"started": "2026-01-01T00:00:00Z"}}
    return {**variables, "steps_step": step.as_result(), "steps_begun": begun}


def options(variables: Json, module: str = "upgrade_record", **arguments: Any) -> Json:
    found: Json = options_of_step(module, arguments, variables.get, variables)
    return found


def test_outside_of_a_step_nothing_is_given() -> None:
    assert options(PROMETHEUS, state="step") == {}


def test_the_steps_are_those_whose_variables_are_given() -> None:
    assert [each.name for each in steps_of(PROMETHEUS.get, StepPoint.BEFORE)] == ["alerts"]
    adds = {"begin_plan": {"adds": ["one member more"]}}
    assert [each.name for each in steps_of(adds.get, StepPoint.AFTER)] == ["capacity_after"]
    assert steps_of({**PROMETHEUS, "begin_plan": {"commenced": True}}.get, StepPoint.BEFORE) == []


def test_the_nodes_of_the_plan_are_proven_before_and_after_it() -> None:
    planned: Json = {
        "begin_plan": {"kubernetes_nodes": {"data-1": "worker-2", "data-0": "worker-1", "hot-0": "worker-1"}}
    }
    assert [each.name for moment in StepPoint for each in steps_of(planned.get, moment)] == ["nodes", "nodes_after"]
    found = options(doing("nodes", **planned), "kubernetes_nodes")
    assert found == {"wait_timeout": 1800, "baseline": None, "names": ["worker-1", "worker-2"]}


def test_a_gate_of_a_step_has_its_time_and_the_baseline_of_the_record() -> None:
    assert options(doing("alerts"), "prometheus_alerts") == {"wait_timeout": 1800, "baseline": None}
    no_worse = doing("alerts", upgrade_health_policy="no_worse")
    assert options(no_worse, "prometheus_alerts")["baseline"] == "2026-01-01T00:00:00Z"


def test_a_step_that_is_started_has_not_been_tried() -> None:
    assert options(doing("alerts", upgrade_wait="false"), state="step", step_state="started") == {
        "step": "alerts",
        "wait": False,
    }


def test_the_results_of_the_step_alone_are_judged() -> None:
    asked = {"verdict": {"reasons": [WAITS]}, "failed": False}
    here = options(doing("alerts", steps_part=asked), state="step")["tried"]
    other = options(doing("alerts", opensearch_add_capacity=asked), state="step")["tried"]
    skipped = options(doing("alerts", steps_part={**asked, "skipped": True}), state="step")["tried"]
    assert [each["reasons"] for each in (here, other, skipped)] == [[WAITS], [], []]
    assert (here["since"], here["timeout"]) == (100, 1800)


def test_a_step_of_the_user_says_itself_what_it_waits_for() -> None:
    own = [{"name": "alerts", "tasks": "mine.yml"}]
    asked: Json = {"steps_part": {"verdict": {"reasons": [WAITS]}}, "upgrade_step_waits": "It is open."}
    tried = options(doing("alerts", upgrade_steps=own, **asked), state="step")["tried"]
    assert (tried["reasons"], tried["waits"]) == ([], "It is open.")


def test_the_try_before_is_that_of_this_step() -> None:
    before = {"name": "alerts", "counted": {"failed": 1}}
    mine = options(doing("alerts", steps_noted={"step": before}), state="step")["tried"]
    other = options(doing("capacity", steps_noted={"step": before}), state="step")["tried"]
    assert [each["before"] for each in (mine, other)] == [before, {}]


@pytest.mark.parametrize(
    ("step", "policy", "without"),
    [
        ("capacity", "continue", "additional capacity"),
        ("capacity", "stop", ""),
        ("capacity", None, ""),
        ("alerts", "continue", ""),
    ],
)
def test_the_user_says_whether_the_upgrade_goes_on_without_capacity(
    step: str, policy: str | None, without: str
) -> None:
    assert options(doing(step, upgrade_capacity_policy=policy), state="step")["tried"]["without"] == without


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({}, ""),
        ({"opensearch_add_capacity_member": {"failed": False, "verdict": {}}}, "one member more"),
        ({"opensearch_add_capacity_member": {"failed": True}}, "one member more"),
        ({"opensearch_add_capacity_member": {"skipped": True, "failed": False}}, ""),
        (
            {
                "opensearch_add_capacity_member": {"failed": False},
                "opensearch_remove_capacity_member": {"failed": False},
            },
            "",
        ),
        (
            {
                "opensearch_add_capacity_member": {"failed": False},
                "opensearch_remove_capacity_member": {"failed": True},
            },
            "one member more",
        ),
    ],
)
def test_capacity_is_there_until_it_is_removed(results: Json, words: str) -> None:
    variables = {
        "begin_plan": {"adds": ["one member more"]},
        "upgrade_system": "stateful.upgrade.opensearch",
        **results,
    }
    assert added(variables.get, variables) == words
