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

    @staticmethod
    def _get_diff(difference: Any) -> str:
        """The difference as it came."""
        return str(difference)

    def _handle_warnings(self, _data: Any) -> None:
        """None is shown."""


def task(own: Mapping[str, Any], run_once: bool = False, loop: str | None = None, **args: str) -> Any:
    """A task of the collection."""
    return SimpleNamespace(
        _role=None,
        args=args,
        run_once=run_once,
        loop=loop,
        name="Give each pool its image",
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


def test_a_difference_names_the_task_the_host_and_the_item_that_make_it() -> None:
    screen = Screen()
    screen.v2_on_file_diff(result(task({}), host="batch-01", changed=True, diff="+ OnDelete"))
    screen.v2_on_file_diff(result(task({}), host="batch-01", changed=False, diff="+ OnDelete"))
    pools = [{"changed": True, "diff": f"+ {pool}", "ansible_loop_var": "item", "item": pool} for pool in "ab"]
    of_loop = task({}, loop="pools")
    screen.v2_on_file_diff(result(of_loop, host="batch-01", changed=True, results=pools[:1]))
    screen.v2_on_file_diff(result(of_loop, host="batch-01", **pools[1]))
    named = "[batch-01] Give each pool its image"
    assert screen.lines == [named, "+ OnDelete", f"{named} (a)", "+ a", f"{named} (b)", "+ b"]


def test_a_batch_that_stops_does_not_promise_that_all_goes_back() -> None:
    screen, failed = Screen(), task({})
    failed._parent = SimpleNamespace(rescue=["put back"], _parent=None)
    screen.v2_runner_on_failed(result(failed, host="batch-01", msg=REASON))
    # A half-rolled pool keeps its image and stays OnDelete.
    assert screen.lines == ["[batch-01] stopped. What can go back is put back now; the cause follows at the end."]
