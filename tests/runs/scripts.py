"""The playbooks and roles of the collection: plays and tasks as plain data, each file read once per process.

A task has keywords that are known here, or the reader refuses it: no test may pass because a keyword was overlooked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader

from tests.runs.templating import Templating

ROOT = Path(next(iter(import_module("ansible_collections.stateful.upgrade").__path__)))
"""The collection, at the place where Ansible finds it."""
LOADER = DataLoader()
LOADER.set_basedir(str(ROOT / "playbooks"))
templar_of = Templating(LOADER).of
OWN, BUILT_IN = "stateful.upgrade.", "ansible.builtin."
OF_PLAYS = {
    "any_errors_fatal",
    "become",
    "connection",
    "gather_facts",
    "hosts",
    "module_defaults",
    "name",
    "order",
    "serial",
    "strategy",
    "tasks",
    "timeout",
    "vars",
}
OF_TASKS = {
    "always",
    "become",
    "block",
    "changed_when",
    "check_mode",
    "delay",
    "delegate_facts",
    "delegate_to",
    "failed_when",
    "ignore_errors",
    "ignore_unreachable",
    "loop",
    "loop_control",
    "name",
    "no_log",
    "register",
    "rescue",
    "retries",
    "timeout",
    "until",
    "vars",
    "when",
}

Tasks = Sequence[Mapping[str, Any]]
Variables = Mapping[str, Any]


class UnknownKeyword(Exception):
    """The reader does not know what this means."""


@dataclass(frozen=True)
class Play:
    """A play. Its tasks are read from the folder of its file."""

    said: Mapping[str, Any]
    file: Path
    given: Variables
    """The variables of the import of its playbook."""

    @property
    def variables(self) -> Variables:
        """Its own, and those of the import."""
        return {**self.said.get("vars", {}), **self.given}

    @property
    def defaults(self) -> Mapping[str, Variables]:
        """Options by module."""
        named = self.said.get("module_defaults", {})
        of_all = named.get(f"group/{OWN}all", {})
        return {f"{OWN}{name}": of_all for name in _modules_of_group()} if of_all else {}


@dataclass(frozen=True)
class Place:
    """The surroundings of a task: those of the blocks, the files and the role that it is in."""

    file: Path
    role: str = ""
    conditions: tuple[Any, ...] = ()
    variables: Variables = field(default_factory=dict)
    """Of blocks and of the role. Facts come before them."""
    parameters: Variables = field(default_factory=dict)
    """Of includes and imports. They come before facts."""
    of_roles: Variables = field(default_factory=dict)
    """The variables of included roles, for their tasks only; those of an imported one count in the whole play."""
    defaults: Variables = field(default_factory=dict)
    """The defaults of included roles."""

    def inside(self, block: Mapping[str, Any]) -> Place:
        """The place of the tasks of a block."""
        return replace(
            self,
            conditions=(*self.conditions, *conditions_of(block)),
            variables={**self.variables, **block.get("vars", {})},
        )

    def found(self, name: str) -> Path:
        """A file that a task names: next to its own file, or among the tasks of its role."""
        path = self.file.parent / name
        return path if path.exists() or not self.role else Role(self.role).folder / "tasks" / name


@dataclass(frozen=True)
class Role:
    """A role of the collection."""

    name: str

    @property
    def folder(self) -> Path:
        """The files of it.

        Raises:
            UnknownKeyword: it is of another collection.
        """
        if not self.name.startswith(OWN):
            raise UnknownKeyword(f"role {self.name}")
        return ROOT / "roles" / self.name.removeprefix(OWN)

    def file(self, tasks_from: str) -> Path:
        """The file with these tasks."""
        return self.folder / "tasks" / (tasks_from if tasks_from.endswith(".yml") else f"{tasks_from}.yml")

    def variables(self, folder: str) -> Variables:
        """The variables of its folder `vars` or `defaults`."""
        file = self.folder / folder / "main.yml"
        return _read(file) if file.exists() else {}


@cache
def _read(file: Path) -> Any:
    return LOADER.load_from_file(str(file), unsafe=True, trusted_as_template=True) or []


def plays_of(file: Path, given: Variables | None = None) -> list[Play]:
    """The plays of a playbook, and of those that it imports.

    Raises:
        UnknownKeyword: one has a keyword that is unknown here.
    """
    found = list[Play]()
    for each in _read(file):
        imported = each.get(f"{BUILT_IN}import_playbook")
        if imported is not None:
            found += plays_of(file.parent / imported, {**each.get("vars", {}), **(given or {})})
            continue
        _known(each, OF_PLAYS, file)
        found.append(Play(each, file, given or {}))
    return found


def tasks_of(file: Path) -> Tasks:
    """The tasks of a file; none if a role has no such file.

    Raises:
        UnknownKeyword: one has a keyword that is unknown here.
    """
    return checked(_read(file), file) if file.exists() else []


def checked(tasks: Tasks, file: Path) -> Tasks:
    """The tasks, each with keywords that are known."""
    for each in tasks:
        if "block" in each:
            _known(each, OF_TASKS, file)
            checked([*each["block"], *each.get("rescue", ()), *each.get("always", ())], file)
        else:
            action_of(each, file)
    return tasks


def action_of(task: Mapping[str, Any], file: Path) -> str:
    """The action of a task.

    Raises:
        UnknownKeyword: it has more than one word that is no keyword.
    """
    names = [name for name in task if name not in OF_TASKS]
    if len(names) != 1 or not names[0].startswith((OWN, BUILT_IN)):
        raise UnknownKeyword(f"{names} of task {task.get('name')} in {file}")
    return str(names[0])


def conditions_of(task: Mapping[str, Any]) -> tuple[Any, ...]:
    """The conditions of a task or a block."""
    when = task.get("when", ())
    return tuple(when) if isinstance(when, list | tuple) else (when,)


def _known(said: Mapping[str, Any], keywords: set[str], file: Path) -> None:
    unknown = set(said) - keywords
    if unknown:
        raise UnknownKeyword(f"{sorted(unknown)} of {said.get('name')} in {file}")


@cache
def _modules_of_group() -> tuple[str, ...]:
    return tuple(_read(ROOT / "meta" / "runtime.yml")["action_groups"]["all"])
