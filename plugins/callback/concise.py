# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A screen output that shows an upgrade without Ansible's lines about the tasks of this collection."""

from __future__ import annotations

DOCUMENTATION = r"""
name: concise
type: stdout
short_description: The plan, the progress and the report of an upgrade alone
version_added: 0.1.0
author: the stateful.upgrade authors (@stateful-upgrade)
description:
  - Shows the plan, the live lines, the failures and the report of an upgrade, and hides the headers, the skipped tasks
    and the recap that Ansible prints for the tasks of this collection.
  - Tasks of your own playbooks, roles and task files are shown as by the callback P(ansible.builtin.default#callback).
  - Everything is shown with C(-v). The recap is shown with O(show_custom_stats), too.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set as stdout in configuration
"""

import os
import shutil
import sys
from typing import Any

from ansible import constants as C
from ansible.plugins.callback.default import CallbackModule as Default

from ..module_utils.common.words import printable
from ..plugin_utils.spoken import OWN
from ..plugin_utils.voice import SCREEN, width_of

SHOWS = {"part": "tell"}
"""The argument of the tasks that show lines and do nothing else."""
SHOWS_PLAN = "begin_shows"
"""The variable of the tasks that show a plan before its refusal, which is a task of its own."""
CHECKS_ROLE = ("validate_argument_spec", "ansible.builtin.validate_argument_spec")


class CallbackModule(Default):  # type: ignore[misc]  # ansible-core has no type hints
    """Ansible's own output, without what it says about the tasks of this collection."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "stateful.upgrade.concise"

    def __init__(self) -> None:
        """Have the tasks show a live line where the output is a terminal that can move its cursor."""
        super().__init__()
        self._shown: set[str] = set()
        SCREEN.width = width_of(os.environ, shutil.get_terminal_size().columns if sys.stdout.isatty() else 0)

    def _hidden(self, of: Any) -> bool:
        """Whether a play or a task is the collection's own, and no one has asked for more."""
        return not self._display.verbosity and _path_of(of).startswith(OWN)

    def _print_task_banner(self, task: Any) -> None:
        if self._hidden(task):
            self._last_task_banner = task._uuid
        else:
            super()._print_task_banner(task)

    def _show_failure(self, result: Any, text: str) -> None:
        """Show a failure, with the host if it is not the controller. It is no error if a person has wanted it.

        A task that runs once is about all hosts, whichever of them comes first.
        """
        host = "localhost" if _task_of(result).run_once else self.host_label(result)
        color = None if _task_of(result).get_vars().get("begin_calmly") else C.COLOR_ERROR
        self._display.display(f"{'' if host == 'localhost' else f'[{host}] '}{text}", color=color)

    def _handle_exception(self, result: Any, use_stderr: bool = False) -> None:
        """The error of a failed task. From ansible-core 2.19 on it holds the message of the task, under no_log too."""
        if "censored" in result:
            result.pop("exception", None)
        super()._handle_exception(result, use_stderr=use_stderr)

    def _message(self, data: Any) -> str:
        """The message of a failed result in plain text; everything that is known if it has none.

        A reason that the plan has shown is not shown again.
        """
        text = data.get("msg")
        if not isinstance(text, str) or not text:
            return str(self._dump_results(data))
        lines = [printable(line) for line in text.split("\n")]
        return "\n".join(line for line in lines if f"  - {line}" not in self._shown) or "Nothing was done."

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """The header of a play."""
        if self._hidden(play):
            self._play = play
        else:
            super().v2_playbook_on_play_start(play)

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """A play without hosts: the batches of a plan that has nothing to do."""
        if self._play is None or not self._hidden(self._play):
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        """The end of a play whose hosts have failed, which the failure has shown."""
        if self._play is None or not self._hidden(self._play):
            super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_include(self, included_file: Any) -> None:
        """A file of tasks that was included."""
        if not self._hidden(included_file._task):
            super().v2_playbook_on_include(included_file)

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task that has succeeded. Of the collection's own, those that show something have done so by then."""
        if self._hidden(_task_of(result)):
            self._handle_warnings(_data_of(result))
            if _has_shown(_task_of(result)):
                self._shown.update(_data_of(result).get("lines", []))
        else:
            super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task that has failed: its message."""
        task, data = _task_of(result), _data_of(result)
        if not self._hidden(task):
            super().v2_runner_on_failed(result, ignore_errors)
        elif _is_rescued(task):
            self._show_failure(result, "stopped. What can go back is put back now; the cause follows at the end.")
        elif not ignore_errors and not (task.loop and "results" in data):
            self._handle_warnings(data)
            self._show_failure(result, self._message(data))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host that cannot be reached."""
        if not self._hidden(_task_of(result)):
            super().v2_runner_on_unreachable(result)
        else:
            self._show_failure(result, f"cannot be reached: {self._message(_data_of(result))}")

    def v2_runner_on_skipped(self, result: Any) -> None:
        """A task that was skipped."""
        if not self._hidden(_task_of(result)):
            super().v2_runner_on_skipped(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """An item of a loop that has succeeded."""
        if not self._hidden(_task_of(result)):
            super().v2_runner_item_on_ok(result)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """An item of a loop that has failed: its message."""
        if not self._hidden(_task_of(result)):
            super().v2_runner_item_on_failed(result)
        else:
            self._show_failure(result, f"({self._get_item_label(_data_of(result))}) {self._message(_data_of(result))}")

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        """An item of a loop that was skipped."""
        if not self._hidden(_task_of(result)):
            super().v2_runner_item_on_skipped(result)

    def v2_on_file_diff(self, result: Any) -> None:
        """What a task changes, in diff mode. It is named, since its header is hidden."""
        task, data = _task_of(result), _data_of(result)
        if not self._hidden(task):
            super().v2_on_file_diff(result)
            return
        for each in data.get("results", [data]) if task.loop else [data]:
            shown = self._get_diff(each["diff"]) if each.get("changed") and each.get("diff") else ""
            if shown:
                item = f" ({self._get_item_label(each)})" if task.loop else ""
                self._display.display(f"[{self.host_label(result)}] {task.name}{item}", color=None)
                self._display.display(shown, color=None)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The counts of tasks, which the report makes needless."""
        if self._display.verbosity or self.get_option("show_custom_stats"):
            super().v2_playbook_on_stats(stats)


def _path_of(of: Any) -> str:
    """The file of a play or a task. Ansible makes the check of a role's arguments itself, which has the role's path."""
    checks_role = getattr(of, "_role", None) is not None and of.action in CHECKS_ROLE
    return f"{of._role._role_path}/" if checks_role else str(of.get_path() or "")


def _has_shown(task: Any) -> bool:
    """Whether a task shows the lines of its result."""
    return SHOWS.items() <= task.args.items() or bool(task.get_vars().get(SHOWS_PLAN))


def _is_rescued(task: Any) -> bool:
    """Whether a block around the task has a rescue, which takes note of the failure."""
    around = task._parent
    while around is not None:
        if getattr(around, "rescue", None):
            return True
        around = around._parent
    return False


def _task_of(result: Any) -> Any:
    """The task of a result. The attribute has this name since ansible-core 2.19."""
    return result.task if hasattr(result, "task") else result._task


def _data_of(result: Any) -> Any:
    """The data of a result. The attribute has this name since ansible-core 2.19."""
    return result.result if hasattr(result, "result") else result._result
