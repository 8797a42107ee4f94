"""The restart of members on plain hosts: what is due, and the note of it that the cluster carries. Pure.

A host has no annotation, so the processes to restart are noted in a free setting of the cluster, each by its ephemeral
id. A member is done as soon as it is there with another one. So the note alone says where a killed run was, from any
controller and without comparing clocks, and no process is stopped twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.errors import Refusal
from ...common.reading import part, text
from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ...opensearch.observe.settings import Settings
from ...opensearch.observe.state import ClusterState
from .configuration_file import settings_in
from .once import note_in
from .setting_rules import SettingEffect
from .settings_table import SettingChanges, changes_between

NOTE = "cluster.metadata.stateful_upgrade.restart"
"""The setting of the cluster that holds the note."""


@dataclass(frozen=True)
class Noted:
    """The processes that a run has begun to restart."""

    processes: Mapping[str, str]
    """The ephemeral id of each member's process; empty if the member was away."""

    def left(self, state: ClusterState, named: Collection[str]) -> frozenset[str]:
        """The members that still run the noted process, or are away. `named` are those for which hosts stand.

        One that is neither in the cluster nor `named` was removed, and would keep the note for ever.
        """
        found = {name: process_of(state, name) for name in self.processes}
        return frozenset(name for name, now in found.items() if (now == self.processes[name] if now else name in named))

    def text(self, cluster: str) -> str:
        """The note as the cluster with this UUID carries it."""
        return json.dumps({"cluster": cluster, "processes": dict(sorted(self.processes.items()))})


def noted_in(settings: Settings, cluster: str) -> Noted | None:
    """The processes that the cluster with this UUID carries, see `note_in`."""

    def read(note: Any) -> Noted:
        processes = part(note, "processes")
        return Noted({name: text(processes, name, "") for name in processes})

    remedy = "Set it to null. The next run then restarts all members that are to be restarted, from the beginning."
    return note_in(settings, NOTE, cluster, read, "a restart", remedy)


def process_of(state: ClusterState, name: str) -> str:
    """The ephemeral id of a member's process; empty while it is away."""
    member = state.named(name)
    return member.ephemeral_id if member else ""


@dataclass(frozen=True)
class Configuration:
    """The configuration of one member. Its contents are in no text of this object."""

    member: str
    present: str = field(repr=False)
    """The content of the file on the host; empty if there is none."""
    wanted: str = field(repr=False)

    @property
    def differs(self) -> bool:
        """Whether the member is to get another content."""
        return self.present != self.wanted

    @property
    def checksum(self) -> str:
        """The SHA-256 of the wanted content."""
        return hashlib.sha256(self.wanted.encode()).hexdigest()

    def changes(self, ways: Mapping[str, SettingEffect] | None = None) -> SettingChanges:
        """The changed settings, each with its effect. On a host nothing is part of a pod, so a new process is enough.
        `ways` are those that the user gives for settings.

        Raises:
            Refusal: the member would not start with the wanted content.
        """
        wanted = settings_in(self.wanted, self.member)
        found = changes_between(_readable(self.present, self.member), wanted, ways)
        return SettingChanges(tuple(replace(each, way=_on_host(each.way)) for each in found.changes))


def _readable(present: str, member: str) -> Mapping[str, str]:
    """The present settings. A file with which no server starts is there to be replaced, and has none."""
    try:
        return settings_in(present, member)
    except Refusal:
        return {}


def _on_host(way: SettingEffect) -> SettingEffect:
    return SettingEffect.ROLLING if way is SettingEffect.NEW_POD else way


def configurations_in(given: Mapping[str, Mapping[str, Any]]) -> tuple[Configuration, ...]:
    """The configurations of the members that have one, from the option."""
    return tuple(
        Configuration(name, str(each.get("present") or ""), str(each["wanted"]))
        for name, each in sorted(given.items())
        if each.get("wanted")
    )


def due_on_hosts(
    names: Collection[str], noted: Noted | None, configurations: Collection[Configuration], state: ClusterState
) -> frozenset[str]:
    """The members that are to restart: those that an interrupted run has left, and those whose configuration differs.

    Without a note and without any configuration it is every member. A member that is away is brought back in any case.
    """
    left = noted.left(state, names) & {*names} if noted else frozenset()
    if configurations:
        return left | {each.member for each in configurations if each.differs and each.member in names}
    return left if noted else frozenset(names)


def conditions_on_hosts(configurations: Collection[Configuration]) -> tuple[str, ...]:
    """The words for the request that consent covers. A run that goes on has the same as the one that was killed."""
    if not configurations:
        return ("restart of all on hosts",)
    sums = " ".join(f"{each.member}={each.checksum}" for each in configurations)
    return (f"restart on hosts with {hashlib.sha256(sums.encode()).hexdigest()}",)


@as_verdict
def judge_together(changes: SettingChanges) -> Iterator[Reason]:
    """A refusal of settings on which all members have to agree, for which members cannot go one after the other."""
    if found := changes.by(SettingEffect.COORDINATED):
        yield refused(
            "restart_together_on_hosts",
            f"The change of {enumerate_few(each.name for each in found)} needs all processes stopped before the first"
            f" one starts, which a run on plain hosts does not do: {found[0].why}.",
            "Leave these settings as they are; or stop all members by hand, place the configurations, and start them.",
        )
