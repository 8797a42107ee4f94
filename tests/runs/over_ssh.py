"""Modules on hosts in memory: what the connection plugin `ssh` would carry to a machine is called on the host here.

Everything before that is Ansible's own: the inventory, the strategy, the action plugins, and what becomes of a host
that cannot be reached. Nothing is sent to a real machine. The modules of a batch's hosts run one after the other here,
and side by side on real machines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

from ansible._internal._errors._task_timeout import TaskTimeoutError
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.plugins.connection.ssh import Connection

from tests.runs.calling import Calling
from tests.sandbox.plain_hosts.jobs import CHECKS, JOBS, PATH, UNDER_WAY
from tests.sandbox.web import Answer, CutOff, Request

SSH = 22
USER_AGENT = {"User-Agent": "stateful.upgrade over ssh"}
PAUSE = 0.25
"""Seconds between two looks whether a module has ended. A real controller waits for its output."""
_FOLDER = "/root/.ansible/tmp/"
ASKING = ("ping", "setup")


@contextmanager
def over_ssh(calling: Calling) -> Iterator[None]:
    """Until the block ends, the modules of runs go to the hosts that are served on port 22."""
    execute, before = ActionBase._execute_module, Reached.calling

    def executed(self: Any, module_name: str | None = None, module_args: Any = None, **how: Any) -> Any:
        if self._connection.transport != "ssh":
            return execute(self, module_name, module_args, **how)
        name = (module_name or self._task.action).rpartition(".")[2]
        options = dict(self._task.args if module_args is None else module_args)
        asked = {"checks": self._task.check_mode, "limit": self._task.timeout}
        return module_on(str(self._play_context.remote_addr), name, options, **asked)

    folder, remove = ActionBase._make_tmp_path, ActionBase._remove_tmp_path

    def made(self: Any, *given: Any) -> Any:
        # An action may make a folder before it calls a module that needs none, as copy does on the host.
        return _FOLDER if self._connection.transport == "ssh" else folder(self, *given)

    def removed(self: Any, *given: Any, **named: Any) -> Any:
        return None if self._connection.transport == "ssh" else remove(self, *given, **named)

    reached = patch.multiple(ActionBase, _execute_module=executed, _make_tmp_path=made, _remove_tmp_path=removed)
    nothing_else = patch.multiple(Connection, exec_command=_unknown, put_file=_unknown, fetch_file=_unknown)
    Reached.calling = calling
    try:
        with reached, nothing_else:
            yield
    finally:
        Reached.calling = before


class Reached:
    """The hosts that runs reach."""

    calling: Calling | None = None


def module_on(address: str, module: str, options: Mapping[str, Any], *, checks: bool, limit: int) -> Any:
    """The result of a module on a host that is served on port 22. A `limit` in seconds is none if it is 0.

    Raises:
        AnsibleConnectionFailure: the host cannot be reached.
        TaskTimeoutError: the module has not ended within the limit.
    """
    calling = Reached.calling
    assert calling is not None, "no host is served here"
    method = "GET" if module in ASKING or checks else "POST"
    begun = _asked(calling, address, method, module, {**options, **({CHECKS: True} if checks else {})})
    end = time.time() + limit
    while True:
        answer = _asked(calling, address, "GET", f"{JOBS}/{begun.body['job']}")
        if answer.status != UNDER_WAY:
            return answer.body
        if limit and time.time() >= end:
            # As the alarm of a task, which counts the seconds of the controller. The module goes on.
            raise TaskTimeoutError(limit)
        time.sleep(PAUSE)


def _asked(calling: Calling, address: str, method: str, what: str, body: Any = None) -> Answer:
    of_module = what if what.startswith(JOBS) else f"modules/{what}"
    request = Request(method, f"{PATH}{address}/{of_module}", body=body, headers=USER_AGENT)
    try:
        return calling.called(address, SSH, request)
    except ConnectionRefusedError:
        why = "Connection timed out"
    except CutOff:
        why = "Connection closed by remote host"
    raise AnsibleConnectionFailure(f"Failed to connect to the host via ssh: connect to host {address} port 22: {why}")


def _unknown(*given: Any, **named: Any) -> NoReturn:
    raise AssertionError(f"Only modules are carried out on a host in memory: {given[1:]} {named}")
