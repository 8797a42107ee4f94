# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of configurations in the plan of a restart: the members that are due, and what stands in the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..common.errors import Refusal
from ..common.task import Task
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.state import StatefulSet
from ..opensearch.judge.set_pools import server_in
from ..opensearch.observe.look import Seen
from ..pools.images import container_for
from .configurations import mounted_in
from .judge.configuration import checksum, judge_secret
from .judge.configuration_diff import changes_of
from .judge.phases import Marked
from .judge.pod_spec import judge_from_pod, judge_mounted, judge_probes, judge_signal
from .judge.settings_table import Changes, ways_in
from .judge.wanted import Wanted, is_due, judge_needs, judge_wanted, wanted_in
from .observe.agent import PORT
from .observe.pod_spec import elsewhere, from_pod, probes_of, shares_processes
from .observe.secrets import read_secret
from .observe.state import ConfigurationSecret


@dataclass(frozen=True)
class PlannedConfiguration:
    """The wanted configurations of a run as its plan sees them."""

    due: frozenset[str] | None
    """The members that are to get another one; None if none is given."""
    verdict: Verdict
    conditions: tuple[str, ...] = ()
    """The words for them that consent covers."""


def plan_configuration(task: Task, seen: Seen, marks: Iterable[Marked]) -> PlannedConfiguration:
    """The wanted configurations of a run, compared with the Secrets as they are.

    Raises:
        Refusal: a Secret cannot be read, or a way that is given for a setting is none.
    """
    params = task.params
    given: list[Mapping[str, Any]] = params["configuration"] or []
    pools = {one.name: one for one in seen.sets if seen.pods[one.name]}
    surroundings = [_judge_pods(params, one) for one in pools.values()]
    if not given:
        return PlannedConfiguration(None, combine(surroundings))
    readable = judge_wanted(given, {name: one.member_names() for name, one in pools.items()})
    if not readable.passed:
        return PlannedConfiguration(frozenset(), combine((*surroundings, readable)))
    client = kubernetes.connect(params["kubernetes"])
    by_name = {mark.name: mark for mark in marks}
    due: set[str] = set()
    verdicts: list[Verdict] = []
    for wanted in wanted_in(given).values():
        pool = pools[wanted.pool]
        secret = task.ask(partial(read_secret, client, params["namespace"], wanted.secret))
        found = _Compared(params, pool, wanted, secret, by_name)
        due |= found.due
        verdicts += found.judged()
    conditions = tuple(_condition(wanted, pools[wanted.pool]) for wanted in wanted_in(given).values())
    return PlannedConfiguration(frozenset(due), combine((*surroundings, *verdicts)), conditions)


class _Compared:
    """The wanted configuration of one pool beside the present one."""

    def __init__(
        self,
        params: Mapping[str, Any],
        pool: StatefulSet,
        wanted: Wanted,
        secret: ConfigurationSecret | None,
        marks: Mapping[str, Marked],
    ) -> None:
        self._params, self._pool, self._wanted, self._secret = params, pool, wanted, secret
        members = [name for name in pool.member_names() if name in marks]
        self._present = secret.contents if secret else {}
        self._contents = wanted.contents(members)
        self.due = frozenset(
            name for name in members if is_due(marks[name], self._present.get(name), self._contents.get(name))
        )
        self._as_they_are = [name for name in members if name not in self._contents]

    def judged(self) -> Iterator[Verdict]:
        """All that stands in the way of the change, and remarks on it."""
        pool, container = self._pool, _container(self._params, self._pool)
        found = from_pod(pool.template, container)
        if self._as_they_are:
            yield judge_secret(self._wanted.secret, self._secret, self._as_they_are)
        yield judge_mounted(pool.name, mounted_in(pool, container, self._wanted), in_place=True)
        if not self.due:
            return
        yield judge_from_pod(pool.name, found)
        try:
            yield judge_needs(pool.name, self._changes(elsewhere(found)))
        except Refusal as error:
            yield error.verdict

    def _changes(self, place: Mapping[str, str]) -> dict[str, Changes]:
        ways = ways_in(self._params["setting_ways"] or {})
        return {
            name: changes_of(self._present.get(name, b""), self._contents[name], name, ways, place)
            for name in sorted(self.due)
        }


def _judge_pods(params: Mapping[str, Any], pool: StatefulSet) -> Verdict:
    """Whether the way can be used with the pods of a pool."""
    container = _container(params, pool)
    if params["way"] == "kubelet":
        return judge_signal(pool.name, shares_processes(pool.template))
    port = int((params["agent"] or {}).get("port") or PORT)
    return judge_probes(pool.name, container, probes_of(pool.template, container), port)


def _container(params: Mapping[str, Any], pool: StatefulSet) -> str:
    return container_for(pool.name, pool.images, params["container"], server_in(pool.images))


def _condition(wanted: Wanted, pool: StatefulSet) -> str:
    sums = "".join(f"{name} {checksum(each)}\n" for name, each in sorted(wanted.contents(pool.member_names()).items()))
    return f"configuration of {wanted.pool} in {wanted.secret}: {hashlib.sha256(sums.encode()).hexdigest()}"
