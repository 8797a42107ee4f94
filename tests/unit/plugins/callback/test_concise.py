"""The concise output: a reason that the plan has shown, and failures of tasks for all hosts."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.callback import concise
from ansible_collections.stateful.upgrade.plugins.plugin_utils.spoken import OWN

REASON = "There is no member b. Correct it."


class Screen(concise.CallbackModule):
    """The output with all that it has shown."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._display = SimpleNamespace(verbosity=0, display=lambda text, color: self.lines.append(text))

    @staticmethod
    def host_label(result: Any) -> str:
        """The host."""
        return str(result.host)

    def _handle_warnings(self, _data: Any) -> None:
        """None is shown."""


def task(own: Mapping[str, Any], run_once: bool = False, **args: str) -> Any:
    """A task of the collection."""
    return SimpleNamespace(
        _role=None,
        args=args,
        run_once=run_once,
        loop=None,
        _parent=None,
        get_path=lambda: f"{OWN[1]}begin/tasks/main.yml:1",
        get_vars=lambda: own,
    )


def result(of: Any, host: str = "localhost", **data: Any) -> Any:
    """The result of a task."""
    return SimpleNamespace(task=of, result=data, host=host)


@pytest.mark.parametrize("shown", [False, True])
def test_a_reason_that_the_plan_has_shown_is_not_shown_again(shown: bool) -> None:
    screen = Screen()
    lines = ["Plan: it cannot be carried out, for 1 reason:", f"  - {REASON}"]
    screen.v2_runner_on_ok(result(task({"begin_shows": shown}, part="system"), lines=lines))
    screen.v2_runner_on_failed(result(task({}), msg=REASON))
    assert screen.lines == ["Nothing was done." if shown else REASON]


def test_a_failure_names_its_host_unless_its_task_is_about_all_hosts() -> None:
    screen = Screen()
    screen.v2_runner_on_failed(result(task({}), host="search-eu", msg=REASON))
    screen.v2_runner_on_failed(result(task({}, run_once=True), host="search-eu", msg=REASON))
    assert screen.lines == [f"[search-eu] {REASON}", REASON]
