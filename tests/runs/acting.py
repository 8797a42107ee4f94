"""A task on a host without the executor of ansible-core: its options, its action, and the judgements of the task."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from ansible._internal._errors._task_timeout import TaskTimeoutError
from ansible._internal._templating._utils import Omit
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from tests.runs.builtin import LOCALHOST, BuiltIn, Facts, Result
from tests.runs.over_ssh import module_on
from tests.runs.scripts import BUILT_IN, LOADER, OWN, Place, Play, Variables

Task = Mapping[str, Any]


class TaskFailed(Exception):
    """A task has failed."""

    def __init__(self, task: Mapping[str, Any], result: Result) -> None:
        super().__init__(str(result.get("msg")))
        self.task, self.result = task, result


@dataclass
class _Connection:
    """The connection to the controller itself, or with another transport to a host in memory."""

    transport: str = "local"
    become: None = None
    has_native_async: bool = False
    _shell: Any = field(default_factory=lambda: SimpleNamespace(tmpdir=None, env_prefix=lambda **_given: ""))

    def set_options(self) -> None:
        """It has none."""


@dataclass
class _Task:
    """The task, as an action plugin reads it."""

    action: str
    args: dict[str, Any]
    file: str
    check_mode: bool = False
    diff: bool = False
    no_log: bool = False
    async_val: int = 0
    become: bool = False
    delegate_to: str | None = None
    environment: tuple[()] = ()
    timeout: int = 0

    def get_path(self) -> str:
        """The file that it is in."""
        return self.file


@dataclass
class _Loaders:
    """In the place of the loaders of plugins, for an action that calls others."""

    built_in: Mapping[str, Callable[[Mapping[str, Any]], Result]]
    """Those of Ansible on the host, by name."""
    connection_loader: Any = field(default_factory=lambda: SimpleNamespace(get=lambda *_given: _Connection()))

    @property
    def action_loader(self) -> Any:
        """The actions by name."""
        return SimpleNamespace(get=self._action)

    def _action(self, name: str, **given: Any) -> Any:
        if name in self.built_in:
            work = self.built_in[name]
            return SimpleNamespace(run=lambda task_vars: work(given["task"].args), cleanup=lambda: None)
        return _plugin(name)(**given)


def _plugin(action: str) -> Any:
    """The action plugin of a module of the collection."""
    return import_module(f"ansible_collections.{OWN}plugins.action.{action.removeprefix(OWN)}").ActionModule


class Acting:
    """Carries out the tasks of a play."""

    def __init__(self, facts: Facts, statistics: dict[str, Any], play: Play, *, check: bool) -> None:
        self._facts, self._play, self._check = facts, play, check
        self._built_in = BuiltIn(facts, statistics)

    def carried_out(
        self, task: Task, action: str, place: Place, host: str, templar: Any, variables: Mapping[str, Any]
    ) -> Result:
        """The result of a task, before its own judgements. One that has failed says so in it."""
        try:
            if action.startswith(BUILT_IN):
                return self._of_ansible(task, action, host, templar)
            found = self._own(task, action, place, host, templar, variables)
        except AnsibleConnectionFailure as error:
            return {"unreachable": True, "msg": f"Task failed: {error}", "changed": False}
        except TaskTimeoutError as error:
            return {"failed": True, "msg": str(error), "changed": False, "timedout": {"period": error.timeout}}
        except AnsibleError as error:
            return {"failed": True, "msg": str(error), "changed": False}
        return {"changed": False, **found, "failed": bool(found.get("failed"))}

    def _own(
        self, task: Task, action: str, place: Place, host: str, templar: Any, variables: Mapping[str, Any]
    ) -> Result:
        given = {**self._play.defaults.get(action, {}), **templar.template(task[action] or {})}
        limit = int(templar.template(task.get("timeout", 0)))
        acting = _Task(
            action, given, str(place.file), self._checks(task), no_log=bool(task.get("no_log")), timeout=limit
        )
        reached = None if "delegate_to" in task else self._facts.inventory(host).get("ansible_host")
        connection = _Connection("ssh") if reached else _Connection()
        plugin = _plugin(action)(acting, connection, SimpleNamespace(remote_addr=reached), LOADER, templar, None)
        built_in: dict[str, Callable[[Mapping[str, Any]], Result]] = {
            f"{BUILT_IN}wait_for_connection": lambda options: self._waited_for(host, options),
            f"{BUILT_IN}copy": lambda options: self._on_host(host, "copy", options, 0, checks=False),
        }
        vars(plugin)["_shared_loader_obj"] = _Loaders(built_in)
        carried = plugin.run(None, variables)
        # As from another process: nothing of the result is shared with the task.
        found: Result = pickle.loads(pickle.dumps(carried))  # noqa: S301 - it is our own
        return found

    def _of_ansible(self, task: Task, action: str, host: str, templar: Any) -> Result:
        name = action.removeprefix(BUILT_IN)
        if name == "assert":
            return _asserted(task[action], templar)
        options = templar.template(task[action] or {})
        if isinstance(options, Mapping):
            options = {templar.template(key): value for key, value in options.items()}
        if name in self._built_in.known:
            return self._built_in.carry_out(name, LOCALHOST if task.get("delegate_facts") else host, options)
        given = {key: value for key, value in options.items() if value is not Omit}
        if name == "wait_for_connection":
            return self._waited_for(host, given)
        limit = int(templar.template(task.get("timeout", 0)))
        return self._on_host(host, name, given, limit, checks=self._checks(task))

    def _on_host(self, host: str, name: str, options: Mapping[str, Any], limit: int, *, checks: bool) -> Result:
        address = str(self._facts.inventory(host).get("ansible_host", host))
        known = self._facts.of(host).get("ansible_facts", {})
        module = known["pkg_mgr"] if name == "package" else name
        found: Result = module_on(address, module, options, checks=checks, limit=limit)
        if "ansible_facts" in found:
            seen = {key.removeprefix("ansible_"): value for key, value in found["ansible_facts"].items()}
            self._facts.note(host, {**found["ansible_facts"], "ansible_facts": {**known, **seen}})
        return {"changed": False, **found, "failed": bool(found.get("failed"))}

    def _waited_for(self, host: str, options: Mapping[str, Any]) -> Result:
        """As the action of ansible-core: a module is asked for until it answers."""
        time.sleep(int(options.get("delay", 0)))
        end = time.time() + int(options["timeout"])
        why = "timed out waiting for ping module test"
        while time.time() < end:
            try:
                self._on_host(host, "ping", {}, 0, checks=False)
            except AnsibleConnectionFailure as error:
                why = f"timed out waiting for ping module test: {error}"
                time.sleep(int(options["sleep"]))
            else:
                return {"changed": False, "failed": False}
        return {"changed": False, "failed": True, "msg": why}

    def _checks(self, task: Task) -> bool:
        return bool(task.get("check_mode", self._check))


def _asserted(said: Mapping[str, Any], templar: Any) -> Result:
    that = said["that"] if isinstance(said["that"], list) else [said["that"]]
    if all(templar.evaluate_conditional(each) for each in that):
        return {"changed": False, "failed": False, "msg": "All assertions passed"}
    return {"changed": False, "failed": True, "msg": templar.template(said.get("fail_msg", "Assertion failed"))}


def judged(task: Task, variables: Mapping[str, Any], result: Result, templar_of: Callable[[Variables], Any]) -> Result:
    """The result with the judgements of the task itself.

    Raises:
        AnsibleError: one cannot be evaluated.
    """
    if result.get("unreachable"):
        return result
    judges = {"changed": task.get("changed_when"), "failed": task.get("failed_when")}
    for name, judge in judges.items():
        if judge is not None:
            known = {**variables, **({task["register"]: result} if "register" in task else {})}
            result = {**result, name: bool(templar_of(known).evaluate_conditional(judge))}
    return result


def of_loop(results: list[Result]) -> Result:
    """The result of a task from those of its loop."""
    failed = [each for each in results if each.get("failed")]
    found: Result = {"results": results, "changed": any(each.get("changed") for each in results)}
    lost = {"unreachable": True} if any(each.get("unreachable") for each in results) else {}
    return {**found, **lost, "failed": bool(failed), **({"msg": failed[0].get("msg")} if failed else {})}
