"""Durations that no clock or connection takes are refused in one sentence, and by every module."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.durations import LONGEST, judge_durations
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.entry.guard import perform_guarded
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring import alert_silence, external_dependencies

SPEC: dict[str, Any] = {
    "wait_sleep": {"type": "float"},
    "recoveries": {"type": "int"},
    "opensearch": {"type": "dict", "options": {"request_timeout": {"type": "int"}}},
    "steps": {"type": "list", "elements": "dict", "options": {"timeout": {"type": "int"}}},
}


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"wait_sleep": float("inf")}, "wait_sleep is too large"),
        ({"wait_sleep": float("nan")}, "wait_sleep is too large"),
        ({"opensearch": {"request_timeout": 10**400}}, "opensearch.request_timeout is too large"),
        ({"steps": [{"timeout": 5}, {"timeout": LONGEST + 1}]}, "steps.timeout is 2000001 and"),
        ({"wait_sleep": 0.5, "recoveries": 10**12, "opensearch": None, "steps": [{"timeout": LONGEST}]}, ""),
    ],
)
def test_a_duration_is_refused_by_the_name_of_its_option(params: dict[str, Any], name: str) -> None:
    said = " ".join(reason.message for reason in judge_durations(SPEC, params).reasons)
    assert said.startswith(name)
    assert bool(said) == bool(name)


@pytest.mark.parametrize("module", [alert_silence, external_dependencies])
def test_modules_end_without_an_error_of_python(module: Any) -> None:
    given = {name: option.get("default") for name, option in module.CONTRACT.argument_spec.items()}
    own: dict[str, Any] = {
        "alertmanager": {"url": "http://localhost:1", "silence_duration": 10**12},
        "dependencies": ["dns://localhost"],
        "timeout": 10**10,
    }
    task = Task({**given, **{name: value for name, value in own.items() if name in given}})
    result = perform_guarded(module.CONTRACT, module.run, task)
    assert {reason["code"] for reason in result["verdict"]["reasons"]} == {"duration_too_long"}
