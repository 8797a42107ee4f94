"""Modules that an action plugin carries out on a machine, one after the other."""

from __future__ import annotations

import signal
from typing import Any, NoReturn

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils import on_machine
from ansible_collections.stateful.upgrade.plugins.plugin_utils.on_machine import (
    ModuleTimeLimit,
    Refused,
    StepFailed,
    TaskMachine,
    again,
)

Result = dict[str, Any]


class TaskTimeoutError(BaseException):
    """As that of ansible-core."""


@pytest.fixture
def alarms(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The alarms that were set; Ansible has set one of 7 seconds before."""
    found = [7]

    def alarm(seconds: int) -> int:
        found.append(seconds)
        return found[-2]

    monkeypatch.setattr(signal, "alarm", alarm)
    return found


def test_the_time_limit_of_a_task_counts_for_each_module(alarms: list[int]) -> None:
    limit = ModuleTimeLimit(9)
    assert limit.within(lambda: {"rc": 0}) == {"rc": 0}

    def late() -> NoReturn:
        raise TaskTimeoutError

    assert limit.within(late)["msg"] == "Timed out after 9 second(s)."
    assert alarms == [7, 0, 9, 0, 9, 0], "nothing is limited between two modules"


def test_without_an_alarm_of_the_task_none_is_set(alarms: list[int]) -> None:
    alarms[:] = [0]
    ModuleTimeLimit(9).within(dict)
    assert set(alarms) == {0}


def test_a_failure_is_tried_again_unless_it_has_taken_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()
    monkeypatch.setattr(on_machine, "pause", pauses.append)
    results: list[Result] = [{"failed": True}, {"changed": True}]
    assert again(lambda: results.pop(0)) == {"changed": True}
    results[:] = [{"failed": True, "timedout": {}}]
    assert again(lambda: results.pop(0))["failed"]
    results[:] = [{"failed": True}] * 3
    assert again(lambda: results.pop(0))["failed"]
    assert (pauses, results) == ([10.0] * 3, [])


def test_nothing_more_is_started_once_the_controller_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[str]()

    def execute(name: str, _options: Result, _checks: bool) -> Result:
        started.append(name)
        return {"failed": name == "find", "changed": True}

    def call(name: str, _options: Result, _on_controller: bool) -> Result:
        started.append(name)
        return {}

    machine = TaskMachine(execute, call, print, checks=False)
    machine.did("Write", "file", path="/x")
    with pytest.raises(StepFailed, match="Look"):
        machine.did("Look", "find")
    assert [each["action"] for each in machine.acts] == ["Write"]
    monkeypatch.setattr(on_machine, "controller", lambda: ("another",))
    with pytest.raises(Refused, match="controller process"):
        machine.result("file")
    with pytest.raises(Refused, match="controller process"):
        machine.called("ansible.builtin.uri", on_controller=True)
    assert started == ["file", "find"]
