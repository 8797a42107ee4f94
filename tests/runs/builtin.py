"""The tasks that Ansible itself carries out, and the hosts and facts of a run without its executor."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ansible._internal._templating._utils import Omit

from tests.runs.scripts import UnknownKeyword, Variables, templar_of

LOCALHOST, HOSTVARS = "localhost", "hostvars"
Result = dict[str, Any]


class PlayEnded(Exception):
    """The play ends here, for all of its hosts."""


def skipped() -> Result:
    """The result of a task that its conditions do not let pass."""
    return {"changed": False, "failed": False, "skipped": True}


@dataclass
class Facts:
    """The hosts that a run has, with the variables of their inventory and the facts of tasks."""

    _inventory: dict[str, dict[str, Any]] = field(default_factory=lambda: {LOCALHOST: {}})
    _facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    _groups: dict[str, list[str]] = field(default_factory=dict)

    def inventory(self, host: str) -> Variables:
        """The variables of the inventory."""
        return self._inventory.get(host, {})

    def of(self, host: str) -> Variables:
        """The facts and the results of tasks."""
        return self._facts.get(host, {})

    @property
    def of_all(self) -> dict[str, dict[str, Any]]:
        """The facts and the results of tasks, by host."""
        return self._facts

    def take_out(self, host: str) -> None:
        """Remove a host."""
        self._inventory.pop(host, None)
        self._facts.pop(host, None)

    def take_out_group(self, name: str) -> None:
        """Remove a group."""
        self._groups.pop(name, None)

    def groups(self) -> dict[str, list[str]]:
        """The hosts of each group."""
        return {"all": [*self._inventory], **self._groups}

    def note(self, host: str, facts: Variables) -> None:
        """Keep facts for the later tasks of a host."""
        self._facts.setdefault(host, {}).update(facts)

    def add(self, host: str, groups: list[str], variables: Variables) -> None:
        """Add a host."""
        self._inventory.setdefault(host, {}).update(variables)
        for each in groups:
            members = self._groups.setdefault(each, [])
            if host not in members:
                members.append(host)

    def read(self, inventory: Mapping[str, Any]) -> None:
        """Take the hosts of an inventory, of which each group has hosts of its own."""
        for group, of_group in inventory["all"]["children"].items():
            for host, variables in of_group["hosts"].items():
                self.add(host, [group], variables)

    def matching(self, patterns: list[str]) -> list[str]:
        """The hosts of names of hosts and groups; those behind an exclamation mark are left out."""
        groups = self.groups()
        alone = {name: [name] for name in groups["all"]}
        names = [each for pattern in patterns for each in re.split("[,:]", pattern)]
        left_out = {host for name in names if name[:1] == "!" for host in {**alone, **groups}.get(name[1:], ())}
        found = [host for name in names for host in {**alone, **groups}.get(name, ())]
        return [host for host in dict.fromkeys(found) if host not in left_out]


@dataclass(frozen=True)
class _Host:
    """In the place of `ansible.inventory.host.Host`."""

    name: str
    facts: Facts

    def get_groups(self) -> list[SimpleNamespace]:
        """The groups that it is in."""
        return [SimpleNamespace(name=name) for name, hosts in self.facts.groups().items() if self.name in hosts]

    def remove_group(self, group: SimpleNamespace) -> None:
        """The group goes with all of its hosts."""


class _Inventory:
    """In the place of `ansible.inventory.manager.InventoryManager`, for what a run takes out of it at its end."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._inventory = facts, self
        named = {name: hosts for name, hosts in facts.groups().items() if name != "all"}
        self.groups = _Groups(
            {
                each: SimpleNamespace(name=each, hosts=[_Host(one, facts) for one in hosts])
                for each, hosts in named.items()
            }
        )
        self.groups.facts = facts

    def remove_host(self, host: _Host) -> None:
        """Take a host out."""
        self._facts.take_out(host.name)

    def clear_caches(self) -> None:
        """Nothing is kept here."""


class _Groups(dict[str, Any]):
    facts: Facts

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.facts.take_out_group(name)


class OfHosts(Mapping[str, Any]):
    """The variables of all hosts, in the place of `ansible.vars.hostvars.HostVars`."""

    def __init__(self, facts: Facts, extra: Variables, groups: Mapping[str, list[str]]) -> None:
        self._facts, self._extra, self._groups = facts, extra, groups
        self._variable_manager = SimpleNamespace(_nonpersistent_fact_cache=facts.of_all)

    @property
    def _inventory(self) -> _Inventory:
        return _Inventory(self._facts)

    def raw_get(self, host: str) -> dict[str, Any]:
        """The variables of a host, with their templates."""
        facts = self._facts
        return {**facts.inventory(host), **facts.of(host), **self._extra, "groups": self._groups, HOSTVARS: self}

    def __getitem__(self, host: str) -> Any:
        return _Templated(self.raw_get(host), self._facts.of(host).keys() - self._extra.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups["all"])

    def __len__(self) -> int:
        return len(self._groups["all"])


class _Templated(Mapping[str, Any]):
    """Variables without templates; each is filled in as it is read."""

    def __init__(self, raw: Variables, filled: Collection[str]) -> None:
        """`filled` are those that tasks have set, in which nothing is a template."""
        self._raw, self._filled = raw, filled

    def __getitem__(self, name: str) -> Any:
        if name == HOSTVARS or name in self._filled:  # hostvars has each host, and so itself
            return self._raw[name]
        return templar_of(self._raw).template(self._raw[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


class BuiltIn:
    """The modules of `ansible.builtin` that the controller carries out itself."""

    def __init__(self, facts: Facts, statistics: dict[str, Any]) -> None:
        self._facts, self._statistics = facts, statistics
        self.known: Mapping[str, Callable[[str, Any], Result]] = {
            "set_fact": self._set_fact,
            "set_stats": self._set_stats,
            "add_host": self._add_host,
            "fail": lambda _host, said: {"failed": True, "msg": said.get("msg", "Failed as requested from task")},
            "pause": lambda _host, _said: {"user_input": ""},
            "debug": lambda _host, said: {"msg": said.get("msg", "")},
            "meta": _meta,
        }
        """By name."""

    def carry_out(self, name: str, host: str, options: Any) -> Result:
        """The result of one.

        Raises:
            PlayEnded: the play ends here.
            UnknownKeyword: it is unknown here.
        """
        return {"changed": False, "failed": False, **self.known[name](host, options)}

    def _set_fact(self, host: str, said: Any) -> Result:
        self._facts.note(host, said)
        return {"ansible_facts": said}

    def _set_stats(self, _host: str, said: Any) -> Result:
        self._statistics.update(said["data"])
        return {}

    def _add_host(self, _host: str, said: Any) -> Result:
        own = {name: value for name, value in said.items() if name not in ("name", "groups") and value is not Omit}
        groups = said["groups"]
        self._facts.add(said["name"], [groups] if isinstance(groups, str) else [*groups], own)
        return {}


def _meta(_host: str, said: Any) -> Result:
    if said == "flush_handlers":
        return {}  # no role here has handlers
    if said != "end_play":
        raise UnknownKeyword(f"meta: {said}")
    raise PlayEnded
