"""Runs without the executor of ansible-core: the tasks of the playbooks and roles, carried out one after the other.

Templates are those of ansible-core, and so are the action plugins and lookups of the collection. A task that Ansible
itself carries out, such as `set_fact`, is a few lines here. The hosts of a play go through its tasks as the strategy
`linear` has it: each task on all hosts before the next one. The same run with the executor (`tests.runs.executor`) asks
the same of the servers; a test holds that.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from ansible.errors import AnsibleError
from ansible.template import trust_as_template
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars

from tests.runs.acting import Acting, TaskFailed, judged, of_loop
from tests.runs.builtin import LOCALHOST, Facts, OfHosts, PlayEnded, Result, skipped
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
    templar_of,
)
from tests.runs.turns import RUN
from tests.scenarios.playbook import Played

INVENTORY, CHECK = "-i", "--check"
SHOWING = f"{BUILT_IN}debug"
"""The action whose results are shown."""
FAILED, UNREACHABLE = 2, 4
"""The exit codes of ansible-playbook."""
Task = Mapping[str, Any]
Hosts = list[str]


class AllLost(Exception):
    """No host of a batch is left, so that the playbook ends here."""


def play(playbook: str, variables: Mapping[str, Any], *more: str) -> Played:
    """Run a playbook of the collection to its end, as `tests.runs.executor.play`.

    Of the arguments of ansible-playbook it takes `--check`, and `-i` with an inventory in a file of JSON.

    Raises:
        UnknownKeyword: the playbook has a word that is unknown here.
    """
    _shown_by_run()
    with one_process() as process:
        # Read as the command line is: a template in it is carried out.
        run = _Run(LOADER.load(trust_as_template(json.dumps(dict(variables)))), process.lines, CHECK in more)
        if INVENTORY in more:
            run.facts.read(json.loads(Path(more[more.index(INVENTORY) + 1]).read_text(encoding="utf-8")))
        try:
            for each in plays_of(ROOT / "playbooks" / f"{playbook.removeprefix(OWN)}.yml"):
                run.play(each)
        except AllLost:
            pass
        except AnsibleError as error:
            run.lines.append(str(error))
            return run.ended(1)
    return run.ended(UNREACHABLE if run.unreachable else FAILED if run.failed else 0)


@cache
def _shown_by_run() -> None:
    """Each run has the lines that it shows; what is shown without a run is shown as usual."""
    before = Display.display

    def shown(display: Display, text: str, *how: Any, screen_only: bool = False, **more: Any) -> None:
        run = RUN.get()
        if run is None or run.with_executor:
            before(display, text, *how, screen_only=screen_only, **more)
        elif not screen_only:
            run.lines.append(str(text))

    Display.display = shown


@dataclass
class _Run:
    """A run under way."""

    extra: Variables
    lines: list[str]
    check: bool = False
    statistics: dict[str, Any] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    changed: Counter[str] = field(default_factory=Counter)
    """The number of tasks that have changed something, by host."""
    failed: dict[str, TaskFailed] = field(default_factory=dict)
    """The hosts that have failed for good."""
    unreachable: set[str] = field(default_factory=set)

    def ended(self, code: int) -> Played:
        """The end, with the output."""
        shown = json.dumps(self.statistics, default=str, indent=1).replace("\n", "")
        self.lines.append(f"\tRUN: {shown}")
        self.lines.append("PLAY RECAP")
        for host, number in sorted(self.changed.items()):
            lost = f"unreachable={int(host in self.unreachable)} failed={int(host in self.failed)}"
            self.lines.append(f"{host} : ok=0 changed={number} {lost}")
        return Played(code, "\n".join(self.lines))

    def is_lost(self, host: str) -> bool:
        """Whether no further task is carried out on a host."""
        return host in self.failed or host in self.unreachable

    def play(self, play: Play) -> None:
        """A play, on its hosts, batch by batch.

        Raises:
            AllLost: all hosts of a batch are.
        """
        of_play = _OfPlay(self, play)
        with contextlib.suppress(PlayEnded):
            for hosts in of_play.batches():
                of_play.on([each for each in hosts if not self.is_lost(each)])
                if all(map(self.is_lost, hosts)):
                    raise AllLost


class _OfPlay:
    """A play under way."""

    def __init__(self, run: _Run, play: Play) -> None:
        self.run, self._play = run, play
        self._of_roles: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        self._host = LOCALHOST
        self._hosts, self._batch = Hosts(), Hosts()
        self._acting = Acting(run.facts, run.statistics, play, check=run.check)
        self._known: tuple[Variables, Any] = ({}, None)
        """The last variables with templates, and their templar."""

    def batches(self) -> list[Hosts]:
        """The hosts of the play, by `serial`."""
        templar = self._templar(self._variables(Place(self._play.file), {}))
        named = templar.template(self._play.said["hosts"])
        left = self._hosts = self.run.facts.matching(named if isinstance(named, list) else [named])
        said = templar.template(self._play.said.get("serial", len(left)))
        sizes, found = [*said] if isinstance(said, list) else [said], list[Hosts]()
        while left:
            size = int(sizes[min(len(found), len(sizes) - 1)])
            found, left = [*found, left[:size]], left[size:]
        return found

    def on(self, hosts: Hosts) -> None:
        """The play on the hosts of one batch. Those that fail are noted in the run."""
        self._batch = hosts
        self._of_roles, self._defaults = {}, {}
        self.run.lines.append(f"PLAY [{self._play.said.get('name', '')}] ***")
        for host in hosts[:1]:
            with self._for(host):
                self._know_imported_roles(self._play.said["tasks"], Place(self._play.file))
        self._tasks(self._play.said["tasks"], Place(self._play.file), hosts)

    def _know_imported_roles(self, tasks: Any, place: Place) -> None:
        """The variables of a role that is imported count in the whole play, those of one that is included behind it."""
        for each in tasks:
            if "block" in each:
                parts = (part for name in ("block", "rescue", "always") for part in each.get(name, ()))
                self._know_imported_roles([*parts], place.inside(each))
                continue
            action = action_of(each, place.file)
            if action.removeprefix(BUILT_IN) in ("import_tasks", "import_role"):
                inner = self._place_of(each[action], {}, each, place)
                self._know_imported_roles(tasks_of(inner.file), inner)

    def _tasks(self, tasks: Any, place: Place, hosts: Hosts) -> None:
        """Carry out tasks on those of the hosts that are not lost yet."""
        for each in tasks:
            left = [host for host in hosts if not self.run.is_lost(host)]
            if not left:
                return
            if "block" in each:
                self._block(each, place.inside(each), left)
            else:
                self._task(each, place, left)

    def _block(self, block: Task, place: Place, hosts: Hosts) -> None:
        self._tasks(block["block"], place, hosts)
        lost = [host for host in hosts if host in self.run.failed] if "rescue" in block else []
        for host in lost:
            failure = self.run.failed.pop(host)
            seen = {"ansible_failed_task": failure.task, "ansible_failed_result": failure.result}
            self.run.facts.note(host, seen)
        self._tasks(block.get("rescue", ()), place, lost)
        if "always" in block:
            failures = {host: self.run.failed.pop(host) for host in hosts if host in self.run.failed}
            self._tasks(block["always"], place, hosts)
            self.run.failed |= failures

    def _task(self, task: Task, place: Place, hosts: Hosts) -> None:
        action = action_of(task, place.file)
        name = action.removeprefix(BUILT_IN)
        if name in ("import_tasks", "import_role"):
            inner = self._place_of(task[action], {}, task, replace_conditions(place, task))
            self._tasks(tasks_of(inner.file), inner, hosts)
        elif name in ("include_tasks", "include_role"):
            self._included(task[action], task, place, hosts)
        else:
            named = f"{place.role} : {task.get('name')}" if place.role else task.get("name")
            self.run.lines.append(f"TASK [{named}] ***")
            for host in hosts:
                with self._for(host):
                    self._done(task, action, place)

    @contextlib.contextmanager
    def _for(self, host: str) -> Iterator[None]:
        """Until the block ends, templates are those of a host. A failure in it is one of the host."""
        self._host = host
        try:
            yield
        except TaskFailed as failure:
            self.run.failed[host] = failure

    def _included(self, said: Any, task: Task, place: Place, hosts: Hosts) -> None:
        """Carry out each file that hosts include on all of these, in the order in which the first one names it."""
        found = list[tuple[Place, Hosts]]()
        for host in hosts:
            with self._for(host):
                for variables, item in self._each(task, place):
                    named = self._failing(task, lambda given=variables: self._templar(given).template(said))
                    inner = self._place_of(named, item, task, place)
                    for other, those in found:
                        if other == inner and host not in those:
                            those.append(host)
                            break
                    else:
                        found.append((inner, [host]))
        for inner, those in found:
            self._tasks(tasks_of(inner.file), inner, those)

    def _place_of(self, said: Any, item: Variables, task: Task, place: Place) -> Place:
        parameters = {**place.parameters, **task.get("vars", {}), **item}
        if isinstance(said, str):
            return replace(place, file=place.found(said), parameters=parameters)
        templar = self._templar(self._variables(place, task.get("vars", {})))
        role = Role(templar.template(said["name"]))
        file = role.file(templar.template(said.get("tasks_from", "main")))
        of_roles, defaults = role.variables("vars"), role.variables("defaults")
        if action_of(task, place.file).endswith("import_role"):
            self._of_roles |= of_roles
            self._defaults |= defaults
        found = replace(place, file=file, role=role.name, parameters=parameters)
        return replace(found, of_roles={**place.of_roles, **of_roles}, defaults={**place.defaults, **defaults})

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
        results, name = list[Result](), task.get("loop_control", {}).get("loop_var", "item")
        for variables, item in self._each(task, place):
            done = self._tried(task, action, place, variables)
            results.append({**done, name: item[name], "ansible_loop_var": name} if item else done)
        result = of_loop(results) if "loop" in task else next(iter(results), skipped())
        if action == SHOWING:
            self.run.lines += [f"ok: [{self._host}] => {json.dumps(each, default=str)}" for each in results]
        self.run.changed[self._host] += bool(result.get("changed"))
        if "register" in task:
            self.run.facts.note(self._host, {task["register"]: result})
        if result.get("unreachable"):
            self._lose(task, result)
        elif result.get("failed") and not task.get("ignore_errors"):
            self._fail(task, result)

    def _tried(self, task: Task, action: str, place: Place, variables: dict[str, Any]) -> Result:
        """The result of a task that is tried until its condition holds. The tries that are over count as a failure."""

        def once() -> Result:
            carried = self._acting.carried_out(task, action, place, self._host, self._templar(variables), variables)
            return judged(task, variables, carried, self._templar)

        if "until" not in task:
            return dict(self._failing(task, once))
        templar = self._templar(variables)
        left = max(0, int(self._failing(task, lambda: templar.template(task.get("retries", 3)))))
        pause = int(self._failing(task, lambda: templar.template(task.get("delay", 5))))
        attempts = 0
        while True:
            attempts += 1
            result = {**self._failing(task, once), "attempts": attempts}
            if result.get("unreachable") or self._failing(task, partial(self._ends_tries, task, variables, result)):
                return result
            if not left:
                return {**result, "failed": True}
            left -= 1
            time.sleep(pause)

    def _ends_tries(self, task: Task, variables: Variables, result: Result) -> bool:
        known = self._templar({**variables, task["register"]: result})
        return bool(known.evaluate_conditional(task["until"]))

    def _lose(self, task: Task, result: Result) -> None:
        if not task.get("ignore_unreachable"):
            self.run.lines.append(f"fatal: [{self._host}]: UNREACHABLE! => {json.dumps(result, default=str)}")
            self.run.unreachable.add(self._host)

    def _fail(self, task: Task, result: Result) -> NoReturn:
        said = {**result, "msg": result.get("msg", "failed")}
        self.run.lines.append(f"fatal: [{self._host}]: FAILED! => {json.dumps(said, default=str)}")
        # ansible-core gives the variables of the task with their templates, which may be of no use outside of its role.
        seen = {"name": task.get("name"), "no_log": task.get("no_log", False), "vars": task.get("vars", {})}
        raise TaskFailed({**seen, "action": action_of(task, self._play.file)}, result)

    def _variables(self, place: Place, own: Variables) -> dict[str, Any]:
        facts, host = self.run.facts, self._host
        left = [each for each in self._hosts if not self.run.is_lost(each)]
        variables = {
            **self._defaults,
            **place.defaults,
            **facts.inventory(host),
            **self._play.variables,
            **self._of_roles,
            **place.of_roles,
            **place.variables,
            **own,
            "ansible_facts": {},
            **facts.of(host),
            **place.parameters,
            **self.run.extra,
            "inventory_hostname": host,
            "ansible_role_name": place.role,
            **({"role_path": str(Role(place.role).folder)} if place.role else {}),
            "ansible_check_mode": self.run.check,
            "ansible_playbook_python": "",
            "playbook_dir": str(ROOT / "playbooks"),
            "groups": facts.groups(),
            "ansible_play_hosts": left,
            "ansible_play_batch": [each for each in left if each in self._batch],
        }
        return {**variables, "hostvars": OfHosts(facts, self.run.extra, variables["groups"])}

    def _templar(self, variables: Variables) -> Any:
        # Lookups read the extra variables there; another run may have been at work.
        load_extra_vars.__dict__["extra_vars"] = dict(self.run.extra)
        if self._known[0] is not variables:
            self._known = variables, templar_of(variables)
        return self._known[1]


def replace_conditions(place: Place, task: Task) -> Place:
    """The place with the conditions of an import, which are those of each of its tasks."""
    return replace(place, conditions=(*place.conditions, *conditions_of(task)))
