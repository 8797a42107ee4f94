"""The part of configurations in the plan of a restart: the members that are due, and what prevents it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..common.errors import Refusal
from ..common.task import Task
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.state import StatefulSet
from ..opensearch.judge.set_pools import server_container
from ..opensearch.observe.look import MembersAndPods
from ..opensearch.size_plan import names_with
from .configurations import mounted_in
from .given import configuration_in
from .judge.configuration import checksum, judge_secret
from .judge.configuration_diff import changes_of
from .judge.labels import judge_labels
from .judge.phases import Marked
from .judge.pod_spec import Mounted, judge_from_pod, judge_probes, judge_read, judge_signal
from .judge.settings_table import SettingChanges, effects_in
from .judge.wanted import WantedConfiguration, is_due, judge_wanted, wanted_in
from .observe.agent import PORT
from .observe.pod_spec import elsewhere, from_pod, probes_of, shares_processes
from .observe.secrets import read_secret
from .observe.state import ConfigurationSecret
from .scheme_plan import plan_scheme


@dataclass(frozen=True)
class PlannedConfiguration:
    """The wanted configurations of a run as its plan sees them."""

    due: frozenset[str] | None
    """The members that are to get another one; None if none is given."""
    verdict: Verdict
    conditions: tuple[str, ...] = ()
    """The words for them that consent covers."""
    changes: Mapping[str, Mapping[str, SettingChanges]] = field(default_factory=dict)
    """The changes of settings of each due member, by pool."""
    mounted: Mapping[str, Mounted] = field(default_factory=dict)
    """How the configuration comes to the servers, by pool."""


def plan_configuration(task: Task, seen: MembersAndPods, marks: Iterable[Marked]) -> PlannedConfiguration:
    """The wanted configurations of a run, compared with the Secrets as they are.

    Raises:
        Refusal: a Secret cannot be read, or an effect that is given for a setting is unknown.
    """
    params = task.params
    given = configuration_in(params)
    pools = {one.name: one for one in seen.sets if seen.pods[one.name]}
    if not given:
        return PlannedConfiguration(None, Verdict())
    readable = judge_wanted(given, names_with(pools.values(), given))
    if not readable.passed:
        return PlannedConfiguration(frozenset(), readable)
    client = kubernetes.connect(params["kubernetes"])
    by_name = {mark.name: mark for mark in marks}
    compared: dict[str, _ComparedConfiguration] = {}
    for wanted in wanted_in(given).values():
        pool = pools[wanted.pool]
        secret = task.ask(partial(read_secret, client, params["namespace"], wanted.secret))
        compared[wanted.pool] = _ComparedConfiguration(params, pool, wanted, secret, by_name)
    conditions = tuple(each.condition for each in compared.values())
    changes = {pool: each.changes() for pool, each in compared.items()}
    of_scheme = plan_scheme(
        task, {pool: (pools[pool], each.contents, changes[pool]) for pool, each in compared.items()}
    )
    return PlannedConfiguration(
        frozenset(name for each in compared.values() for name in each.due),
        combine((*(verdict for each in compared.values() for verdict in each.judged()), of_scheme)),
        conditions,
        changes,
        {pool: each.mounted for pool, each in compared.items()},
    )


class _ComparedConfiguration:
    """The wanted configuration of one pool compared with the present one."""

    def __init__(
        self,
        params: Mapping[str, Any],
        pool: StatefulSet,
        wanted: WantedConfiguration,
        secret: ConfigurationSecret | None,
        marks: Mapping[str, Marked],
    ) -> None:
        self._pool, self._wanted, self._secret, self._marks = pool, wanted, secret, marks
        self._ways = effects_in(params["setting_needs"] or {})
        container = server_container(pool, params["container"])
        self._from_pod = from_pod(pool.template, container)
        self.mounted = mounted_in(pool, container, wanted)
        members = [name for name in pool.member_names() if name in marks]
        self._present = secret.contents if secret else {}
        self.contents = wanted.contents(members, secret)
        self.due = frozenset(
            name for name in members if is_due(marks[name], self._present.get(name), self.contents.get(name))
        )
        self._as_they_are = [name for name in members if name not in self.contents]

    def judged(self) -> Iterator[Verdict]:
        """All reasons against the change, and remarks on it."""
        yield judge_labels(self._pool.name, self._pool.selector, self._wanted.labels)
        if self._as_they_are:
            yield judge_secret(self._wanted.secret, self._secret, self._as_they_are)
        if self.due:
            yield judge_read(self._pool.name, self._wanted.secret, self.mounted)
            yield judge_from_pod(self._pool.name, self._from_pod)

    @property
    def condition(self) -> str:
        """The words that consent covers: the contents, and those that they replace.

        Both stay the same during the run, since the former contents are kept until it is completed.
        """
        pool, wanted = self._pool, self._wanted
        if wanted.previous:
            # The contents that are put back become fewer as members are done.
            return f"previous configuration of {wanted.pool} in {wanted.secret}"
        before = {**self._present, **(self._secret.previous if self._secret else {})}
        contents = wanted.contents(pool.member_names(), None)
        # A member without a key gets it when the run starts.
        both = (f"{name} {checksum(before.get(name, each))} {checksum(each)}" for name, each in contents.items())
        sums = "\n".join(sorted(both))
        return f"configuration of {wanted.pool} in {wanted.secret}: {hashlib.sha256(sums.encode()).hexdigest()}"

    def changes(self) -> dict[str, SettingChanges]:
        """The changes of settings of each member that is due or marked; those with the same contents compare once."""
        known: dict[tuple[bytes | None, bytes], SettingChanges] = {}
        found: dict[str, SettingChanges] = {}
        # A run that was killed may have written the key of a pod that is marked and runs on as it was.
        for name in sorted(name for name in self.contents if name in self.due or self._marks[name].phase):
            both = self._runs(name), self.contents[name]
            if both not in known:
                known[both] = self._between(*both, name)
            found[name] = known[both]
        return found

    def _runs(self, name: str) -> bytes | None:
        """The content that the process of a member has read: the one of before, unless its restart is over."""
        present = self._present.get(name)
        if present is not None and self._marks[name].configured == checksum(present):
            return present
        return (self._secret.previous if self._secret else {}).get(name, present)

    def _between(self, before: bytes | None, after: bytes, name: str) -> SettingChanges:
        """The changes between two contents; none are known if the former one cannot be read."""
        try:
            return (
                changes_of(before, after, name, self._ways, elsewhere(self._from_pod)) if before else SettingChanges()
            )
        except Refusal:
            return SettingChanges()


def judge_pods(params: Mapping[str, Any], pool: StatefulSet) -> Verdict:
    """Whether the process control can be used with the pods of a pool."""
    container = server_container(pool, params["container"])
    if params["way"] == "kubelet":
        return judge_signal(pool.name, shares_processes(pool.template))
    port = int((params["agent"] or {}).get("port") or PORT)
    return judge_probes(pool.name, container, probes_of(pool.template, container), port)
