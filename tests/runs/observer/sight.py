"""One observation of a cluster and its pods as they are, frozen. Members and pods are known by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

Setting = tuple[str, str]
"""Scope and name."""
Key = tuple[str, int]
"""Index and number of a shard."""
NOTES = "cluster.metadata."
UNDO = f"{NOTES}stateful_upgrade.undo"
"""The persistent setting with the undo of a run."""
UNDO_OF_REPLICAS = f"{NOTES}stateful_upgrade.replicas"
"""The persistent setting with the undo of the replicas that a run has made."""
ANNOTATION = "upgrade.stateful/undo"
"""The annotation with the undo of a pool."""


@dataclass(frozen=True)
class Pod:
    """A pod."""

    uid: str
    revision: str = ""
    ready: bool = True
    going: bool = False
    """Its deletion was asked for."""
    node: str = ""
    """Its Kubernetes node."""


@dataclass(frozen=True)
class Pool:
    """A StatefulSet."""

    name: str
    replicas: int
    revision: str
    """The revision that it wants; empty while its controller has not taken up the latest change."""
    strategy: Mapping[str, Any] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    """By the name of a container."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Those of the collection."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """All of it."""

    def names(self) -> frozenset[str]:
        """The names of its pods."""
        return frozenset(f"{self.name}-{number}" for number in range(self.replicas))

    def keeps(self, pod: str) -> bool:
        """Whether a pod of this name is one of its own."""
        return re.fullmatch(rf"{re.escape(self.name)}-\d+", pod) is not None

    def lets_go(self, pod: str, found: Pod, *, outdated: bool) -> bool:
        """Whether its controller replaces this pod by itself; `outdated` says that it has a new template just now."""
        if self.strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return False
        partition = (self.strategy.get("rollingUpdate") or {}).get("partition") or 0
        old = outdated or bool(self.revision and found.revision != self.revision)
        return old and self.keeps(pod) and int(pod.rpartition("-")[2]) >= partition


@dataclass(frozen=True)
class Member:
    """A process of the cluster."""

    process: str
    version: str
    alive: bool = True
    joined: bool = True
    """It is in the state of the cluster."""
    booted: bool = True
    """It can vote, in the state of the cluster or not."""
    manages: bool = True
    zone: str = ""

    @property
    def serves(self) -> bool:
        """Whether its copies are there."""
        return self.alive and self.joined


@dataclass(frozen=True)
class Shard:
    """A shard."""

    copies: int
    """The number of configured copies."""
    started: frozenset[str]
    """The members with a started copy whose process runs."""
    fresh: bool = False
    """It has never served."""

    @property
    def whole(self) -> bool:
        """Whether all its copies serve."""
        return len(self.started) >= self.copies


@dataclass(frozen=True)
class Sight:
    """All of it. A member that votes and is not known by name is there by its id."""

    pods: Mapping[str, Pod] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    kept_sets: Mapping[str, Pool] = field(default_factory=dict)
    """The StatefulSets whose manifests a run has kept, since it makes them again."""
    emptied: frozenset[str] = frozenset()
    """The Kubernetes nodes that a run empties, as their marks say."""
    cordoned: frozenset[str] = frozenset()
    """Those that a run has cordoned, as their undo says."""
    holder: str = ""
    """The run that the lock names."""
    upgrading: tuple[frozenset[str], ...] = ()
    """The members of each batch that is being upgraded, as the record of the upgrade says."""
    members: Mapping[str, Member] = field(default_factory=dict)
    shards: Mapping[Key, Shard] = field(default_factory=dict)
    committed: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()
    excluded: tuple[str, ...] = ()
    """Those that may not vote."""
    settings: Mapping[Setting, Any] = field(default_factory=dict)
    indices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings of each index, with its `uuid`."""
    snapshots: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The state of each snapshot, by repository and name."""
    retired: frozenset[str] = frozenset()
    """The names of settings that are or were set and that the elected manager does not know."""

    @property
    def going(self) -> frozenset[str]:
        """The members whose pods are on their way out or gone."""
        pods = self.pods
        return frozenset(name for name in self.members if name not in pods or pods[name].going)

    @property
    def undo(self) -> str:
        """The undo that the cluster carries."""
        return str(self.settings.get(("persistent", UNDO)) or "")

    @property
    def undo_of_replicas(self) -> str:
        """The undo of replicas that the cluster carries."""
        return str(self.settings.get(("persistent", UNDO_OF_REPLICAS)) or "")

    def pool_of(self, pod: str) -> Pool | None:
        """The pool that keeps a pod of this name."""
        return next((pool for pool in self.pools.values() if pool.keeps(pod)), None)

    def expected(self) -> frozenset[str]:
        """The members that the pools want."""
        wanted = frozenset[str]().union(*(pool.names() for pool in self.pools.values()))
        return wanted & self.members.keys()

    def is_whole(self) -> bool:
        """Whether each member that the pools want is there with a Ready pod, and all copies serve."""
        wanted = self.expected()
        there = all(self.members[name].serves and self.pods[name].ready for name in wanted - self.going)
        return there and not wanted & self.going and all(shard.whole for shard in self.shards.values())


@dataclass(frozen=True)
class Consents:
    """The consents that the run was given."""

    single_copy: tuple[str, ...] = ()
    """Patterns of the indices whose only copy may be away."""
    red: tuple[str, ...] = ()
    """Patterns of the indices of which shards may be missing."""
    quorum_loss: bool = False

    @classmethod
    def of(cls, variables: Mapping[str, Any]) -> Consents:
        """Those in the variables of a run."""
        single, red = (variables.get(f"upgrade_allow_{name}") or () for name in ("single_copy", "red_indices"))
        return cls(tuple(single), tuple(red), bool(variables.get("upgrade_allow_quorum_loss")))

    def cover(self, index: str, copies: int) -> bool:
        """Whether a shard of an index with so many configured copies may be away."""
        return _fits(index, self.red) or (copies == 1 and _fits(index, self.single_copy))


def _fits(index: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(index, each) for each in patterns)
