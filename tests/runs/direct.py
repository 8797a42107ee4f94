"""Runs without the executor of ansible-core: the tasks of the playbooks and roles, carried out one after the other.

Templates are those of ansible-core, and so are the action plugins and lookups of the collection. A task that Ansible
itself carries out, such as `set_fact`, is a few lines here. The same run with the executor (`tests.runs.executor`) asks
the same of the servers; a test holds that.
"""

from __future__ import annotations

import contextlib
import json
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NoReturn

from ansible.errors import AnsibleError
from ansible.template import Templar, trust_as_template
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars

from tests.runs.builtin import BuiltIn, Facts, OfHosts, PlayEnded, skipped
from tests.runs.executor import one_process
from tests.runs.scripts import (
    BUILT_IN,
    LOADER,
    OWN,
    ROOT,
    Place,
    Play,
    Role,
    Variables,
    action_of,
    conditions_of,
    plays_of,
    tasks_of,
)
from tests.runs.turns import RUN
from tests.scenarios.playbook import Played

LOCALHOST = "localhost"
Task = Mapping[str, Any]
Result = dict[str, Any]


class TaskFailed(Exception):
    """A task has failed."""

    def __init__(self, task: Mapping[str, Any], result: Result) -> None:
        super().__init__(str(result.get("msg")))
        self.task, self.result = task, result


def play(playbook: str, variables: Mapping[str, Any], *more: str) -> Played:
    """Run a playbook of the collection to its end, as `tests.runs.executor.play`. It takes no further arguments.

    Raises:
        UnknownKeyword: the playbook has a word that is unknown here.
    """
    assert not more, more
    _shown_by_run()
    with one_process() as process:
        # Read as the command line is: a template in it is carried out.
        run = _Run(LOADER.load(trust_as_template(json.dumps(dict(variables)))), process.lines)
        try:
            for each in plays_of(ROOT / "playbooks" / f"{playbook.removeprefix(OWN)}.yml"):
                run.play(each)
        except TaskFailed:
            # A play whose hosts have all failed is the last one.
            return run.ended(2)
        except AnsibleError as error:
            run.lines.append(str(error))
            return run.ended(1)
    return run.ended(0)


@cache
def _shown_by_run() -> None:
    """Each run has the lines that it shows; what is shown without one is shown as ever."""
    before = Display.display

    def shown(display: Display, text: str, *how: Any, screen_only: bool = False, **more: Any) -> None:
        run = RUN.get()
        if run is None or run.with_executor:
            before(display, text, *how, screen_only=screen_only, **more)
        elif not screen_only:
            run.lines.append(str(text))

    Display.display = shown


@dataclass
class _Connection:
    """The connection to the controller itself."""

    transport: str = "local"
    become: None = None
    has_native_async: bool = False
    _shell: Any = field(default_factory=lambda: SimpleNamespace(tmpdir=None, env_prefix=lambda **_given: ""))


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

    def get_path(self) -> str:
        """The file that it is in."""
        return self.file


@dataclass
class _Run:
    """A run under way."""

    extra: Variables
    lines: list[str]
    statistics: dict[str, Any] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    changed: Counter[str] = field(default_factory=Counter)
    """The number of tasks that have changed something, by host."""
    last: str = LOCALHOST
    """The host of the last task."""

    def ended(self, code: int) -> Played:
        """The end, with the output."""
        shown = json.dumps(self.statistics, default=str, indent=1).replace("\n", "")
        self.lines.append(f"\tRUN: {shown}")
        self.lines.append("PLAY RECAP")
        failed = int(code != 0)
        for host, number in self.changed.items():
            self.lines.append(f"{host} : ok=0 changed={number} unreachable=0 failed={failed * (host == self.last)}")
        return Played(code, "\n".join(self.lines))

    def play(self, play: Play) -> None:
        """A play, on each of its hosts in turn."""
        of_play = _OfPlay(self, play)
        with contextlib.suppress(PlayEnded):
            for host in of_play.hosts():
                of_play.on(host)


class _OfPlay:
    """A play under way."""

    def __init__(self, run: _Run, play: Play) -> None:
        self.run, self._play = run, play
        self._of_roles: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        self._host = LOCALHOST
        self._built_in = BuiltIn(run.facts, run.statistics)

    def hosts(self) -> list[str]:
        """The hosts of the play."""
        place = Place(self._play.file)
        pattern = self._templar(self._variables(place, {})).template(self._play.said["hosts"])
        names = pattern if isinstance(pattern, list) else [pattern]
        groups = self.run.facts.groups()
        alone = {name: [name] for name in groups["all"]}
        return [host for name in names for host in {**alone, **groups}.get(name, ())]

    def on(self, host: str) -> None:
        """The play on one host."""
        self._host = host
        self._of_roles, self._defaults = {}, {}
        self.run.lines.append(f"PLAY [{self._play.said.get('name', '')}] ***")
        self._tasks(self._play.said["tasks"], Place(self._play.file))

    def _tasks(self, tasks: Any, place: Place) -> None:
        for each in tasks:
            if "block" in each:
                self._block(each, place.inside(each))
            else:
                self._task(each, place)

    def _block(self, block: Task, place: Place) -> None:
        try:
            self._tasks(block["block"], place)
        except TaskFailed as failure:
            if "rescue" not in block:
                raise
            seen = {"ansible_failed_task": failure.task, "ansible_failed_result": failure.result}
            self.run.facts.note(self._host, seen)
            self._tasks(block["rescue"], place)

    def _task(self, task: Task, place: Place) -> None:
        action = action_of(task, place.file)
        name = action.removeprefix(BUILT_IN)
        if name in ("import_tasks", "include_tasks", "import_role", "include_role"):
            self._included(name, task, place)
            return
        self._done(task, action, place)

    def _included(self, name: str, task: Task, place: Place) -> None:
        said = task[f"{BUILT_IN}{name}"]
        if name.startswith("import"):
            place = self._place_of(said, {}, task, replace_conditions(place, task))
            self._tasks(tasks_of(place.file), place)
            return
        for variables, item in [*self._each(task, place)]:
            named = self._failing(task, lambda given=variables: self._templar(given).template(said))
            inner = self._place_of(named, item, task, place)
            self._tasks(tasks_of(inner.file), inner)

    def _place_of(self, said: Any, item: Variables, task: Task, place: Place) -> Place:
        parameters = {**place.parameters, **task.get("vars", {}), **item}
        if isinstance(said, str):
            return Place(place.found(said), place.role, place.conditions, place.variables, parameters)
        templar = self._templar(self._variables(place, task.get("vars", {})))
        role = Role(templar.template(said["name"]))
        self._of_roles |= role.variables("vars")
        self._defaults |= role.variables("defaults")
        file = role.file(templar.template(said.get("tasks_from", "main")))
        return Place(file, role.name, place.conditions, place.variables, parameters)

    def _each(self, task: Task, place: Place) -> Iterator[tuple[dict[str, Any], Variables]]:
        """The variables of a task for each turn of its loop that its conditions let pass, and those of that turn."""
        own = task.get("vars", {})
        base = self._variables(place, own)
        if "loop" not in task:
            if self._holds(task, place, base):
                yield base, {}
            return
        items = self._failing(task, lambda: self._templar(base).template(task["loop"]))
        name = task.get("loop_control", {}).get("loop_var", "item")
        for item in items:
            variables = {**base, name: item}
            if self._holds(task, place, variables):
                yield variables, {name: item}

    def _holds(self, task: Task, place: Place, variables: dict[str, Any]) -> bool:
        templar = self._templar(variables)
        conditions = (*place.conditions, *conditions_of(task))
        return bool(self._failing(task, lambda: all(templar.evaluate_conditional(each) for each in conditions)))

    def _failing(self, task: Task, work: Any) -> Any:
        try:
            return work()
        except AnsibleError as error:
            self._fail(task, {"failed": True, "msg": str(error), "changed": False})

    def _done(self, task: Task, action: str, place: Place) -> None:
        named = f"{place.role} : {task.get('name')}" if place.role else task.get("name")
        self.run.lines.append(f"TASK [{named}] ***")
        results, name = list[Result](), task.get("loop_control", {}).get("loop_var", "item")
        for variables, item in self._each(task, place):
            done = self._judged(task, variables, self._carried_out(task, action, place, variables))
            results.append({**done, name: item[name], "ansible_loop_var": name} if item else done)
        result = _of_loop(results) if "loop" in task else next(iter(results), skipped())
        self.run.last = self._host
        self.run.changed[self._host] += bool(result.get("changed"))
        if "register" in task:
            self.run.facts.note(self._host, {task["register"]: result})
        if result.get("failed"):
            self._fail(task, result)

    def _fail(self, task: Task, result: Result) -> NoReturn:
        said = {**result, "msg": result.get("msg", "failed")}
        self.run.lines.append(f"fatal: [{self._host}]: FAILED! => {json.dumps(said, default=str)}")
        raise TaskFailed(_named(task), result)

    def _carried_out(self, task: Task, action: str, place: Place, variables: dict[str, Any]) -> Result:
        templar = self._templar(variables)
        try:
            options = templar.template(task[action] or {})
            if action.startswith(BUILT_IN):
                if isinstance(options, Mapping):
                    options = {templar.template(name): value for name, value in options.items()}
                host = LOCALHOST if task.get("delegate_facts") else self._host
                return self._built_in.carry_out(action.removeprefix(BUILT_IN), host, options)
            given = {**self._play.defaults.get(action, {}), **options}
            acting = _Task(action, given, str(place.file), no_log=bool(task.get("no_log")))
            plugin = import_module(f"ansible_collections.{OWN}plugins.action.{action.removeprefix(OWN)}")
            carried = plugin.ActionModule(acting, _Connection(), None, LOADER, templar, None).run(None, variables)
        except AnsibleError as error:
            return {"failed": True, "msg": str(error), "changed": False}
        # As from another process: nothing of the result is shared with the task.
        found: Result = pickle.loads(pickle.dumps(carried))  # noqa: S301 - it is our own
        return {"changed": False, **found, "failed": bool(found.get("failed"))}

    def _judged(self, task: Task, variables: dict[str, Any], result: Result) -> Result:
        """The result with the judgements of the task itself."""
        judges = {"changed": task.get("changed_when"), "failed": task.get("failed_when")}
        known = {**variables, **({task["register"]: result} if "register" in task else {})}
        for field_name, judge in judges.items():
            if judge is not None:
                held = self._failing(task, lambda said=judge: self._templar(known).evaluate_conditional(said))
                result = {**result, field_name: bool(held)}
        return result

    def _variables(self, place: Place, own: Variables) -> dict[str, Any]:
        facts, host = self.run.facts, self._host
        variables = {
            **self._defaults,
            **facts.inventory(host),
            **self._play.variables,
            **self._of_roles,
            **place.variables,
            **own,
            **facts.of(host),
            **place.parameters,
            **self.run.extra,
            "inventory_hostname": host,
            "ansible_role_name": place.role,
            **({"role_path": str(Role(place.role).folder)} if place.role else {}),
            "ansible_check_mode": False,
            "ansible_playbook_python": "",
            "playbook_dir": str(ROOT / "playbooks"),
            "groups": facts.groups(),
            "ansible_play_hosts": [host],
            "ansible_play_batch": [host],
        }
        return {**variables, "hostvars": OfHosts(facts, self.run.extra, variables["groups"])}

    def _templar(self, variables: Variables) -> Any:
        # Lookups read the extra variables there; another run may have been at work.
        load_extra_vars.__dict__["extra_vars"] = dict(self.run.extra)
        return Templar(loader=LOADER, variables=dict(variables))


def replace_conditions(place: Place, task: Task) -> Place:
    """The place with the conditions of an import, which are those of each of its tasks."""
    return Place(place.file, place.role, (*place.conditions, *conditions_of(task)), place.variables, place.parameters)


def _named(task: Task) -> dict[str, Any]:
    return {"name": task.get("name", ""), "no_log": task.get("no_log", False)}


def _of_loop(results: list[Result]) -> Result:
    failed = [each for each in results if each.get("failed")]
    found: Result = {"results": results, "changed": any(each.get("changed") for each in results)}
    return {**found, "failed": bool(failed), **({"msg": failed[0].get("msg")} if failed else {})}
