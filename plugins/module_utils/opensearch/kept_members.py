"""Members that a gate misses, and that their pools do not keep any more: a person or an autoscaler has scaled one down.

The cluster only knows that they are away, which looks like a restart.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ..common.errors import Refusal
from ..common.task import Task
from ..common.verdict import State, Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.state import StatefulSet
from ..kubernetes.stateful_sets import list_stateful_sets
from ..pools.judge import judge_members
from .observe.state import ClusterState

PAUSE = 5.0
"""Seconds between two looks at the pools while members are missing."""


class KeptMembers:
    """The looks of one gate at the pools of members that are missing, if the task has their namespace."""

    def __init__(self, task: Task, members: Collection[str]) -> None:
        """`members` are the names of those that the gate needs."""
        self._task, self._members = task, members
        self._looked_at = -math.inf

    def judge(self, state: ClusterState, verdict: Verdict) -> Verdict:
        """The verdict of the gate, with a refusal if it waits for a member that no pod will be made for.

        Without an answer of Kubernetes it stays as it is.
        """
        missing = [name for name in self._members if state.named(name) is None]
        now = self._task.clock.now()
        if verdict.state is not State.WAITING or not missing or now - self._looked_at < PAUSE:
            return verdict
        self._looked_at = now
        return combine((verdict, self._judge_kept(missing, {member.name for member in state.members.values()})))

    def _judge_kept(self, missing: Collection[str], there: Collection[str]) -> Verdict:
        namespace = self._task.params.get("namespace")
        if not namespace:
            return Verdict()
        try:
            found = list_stateful_sets(kubernetes.connect(self._task.params["kubernetes"]), namespace)
        except Refusal:
            return Verdict()
        own = [pool for pool in found if not _is_split(pool, there)]
        named = ((pool, sorted(name for name in missing if pool.ordinal_in(name) is not None)) for pool in own)
        return combine(judge_members([pool], names) for pool, names in named)


def _is_split(pool: StatefulSet, there: Collection[str]) -> bool:
    """Whether a set seems to be split over two namespaces, each with a part of the ordinals (Kubernetes documentation,
    StatefulSets, Start ordinal): members are up that have its name, and an ordinal that it does not keep.

    After it was scaled down that is so until the last of its pods has gone.
    """
    return any(pool.ordinal_in(name) is not None and pool.ordinal(name) is None for name in there)
