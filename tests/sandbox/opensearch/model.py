"""The parts of a cluster: processes and the data they leave behind, indices and the copies of their shards."""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.sandbox.opensearch.versions import Version

if TYPE_CHECKING:
    from tests.sandbox.opensearch.state import State

COMBINED = ("cluster_manager", "data", "ingest")
TOTAL, AVAILABLE = 100 * 1024**3, 60 * 1024**3
"""The bytes of a disk, and those of it that are free."""


@dataclass(frozen=True)
class Durations:
    """Seconds that things take. They are near those of the lab's real servers on an idle machine."""

    boot: float = 4.0
    """From the start of a process until it looks for a cluster."""
    join: float = 0.3
    """Until a member that has found the elected manager is in the cluster."""
    retry: float = 1.0
    """Between two attempts to join."""
    no_manager: float = 30.0
    """After which a member opens its REST port without having joined (discovery.initial_state_timeout)."""
    election: float = 0.2
    abdication: float = 0.05
    removal: float = 0.1
    """From the end of a process until the cluster state is without it."""
    stop: float = 0.4
    """From SIGTERM until the process has ended."""
    reconfiguration: float = 0.05
    recovered: float = 0.1
    """From the election after a full restart until the state is recovered."""
    empty: float = 0.1
    """The recovery of a copy of an empty store, or of a primary from the disk."""
    resumed: float = 0.2
    """The recovery of a replica that has the files already."""
    copied: float = 0.5
    """The recovery of a replica that has to be copied."""
    disks: float = 30.0
    """From a change of a disk until the elected manager knows it (cluster.info.update.interval, at its default)."""


@dataclass(frozen=True)
class MemberSpec:
    """One process as it is started. Its disk is kept under `data_key`."""

    name: str
    version: str
    address: str
    data_key: str
    roles: tuple[str, ...] = COMBINED
    attributes: Mapping[str, str] = field(default_factory=dict)
    """As `zone`; what is `node.attr.zone` in the settings."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of its file or its environment, by full name."""
    plugins: tuple[str, ...] = ()
    """The names of the plugins that are installed."""
    initial_managers: tuple[str, ...] = ()
    """`cluster.initial_cluster_manager_nodes`: who may found a cluster together."""


@dataclass
class Store:
    """The files of one copy of a shard."""

    allocation: str
    documents: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Accepted:
    """The part of the cluster state that a manager-eligible member has accepted, and by which it votes."""

    term: int
    version: int
    committed: frozenset[str]
    accepted: frozenset[str]


@dataclass
class Disk:
    """The data that outlives a process."""

    id: str
    version: Version | None = None
    accepted: Accepted | None = None
    stores: dict[tuple[str, int], Store] = field(default_factory=dict)
    total: int = TOTAL
    available: int = AVAILABLE
    known: tuple[int, int] = (AVAILABLE, TOTAL)
    """What is free, and all of it, as the elected manager knows it, which decides by it where shards may be."""


@dataclass
class Counters:
    """The requests that a process has served since it was started. Tests add to them: no load is played here."""

    searches: int = 0
    """Of each shard."""
    search_millis: int = 0
    completed: Counter[str] = field(default_factory=Counter)
    """By thread pool."""
    rejected: Counter[str] = field(default_factory=Counter)
    tripped: int = 0
    """The times that a circuit breaker has refused memory."""


@dataclass(eq=False)
class Member:
    """One process."""

    spec: MemberSpec
    disk: Disk
    ephemeral_id: str
    version: Version
    alive: bool = True
    seeking: bool = False
    """It has booted, and looks for an elected manager."""
    rest: bool = False
    """Its REST port is open."""
    secure: bool = False
    """Its REST port has TLS, and takes nothing without it."""
    in_memory: bool = False
    """It has had the state of the cluster since it was started, with the routing table."""
    said: str = ""
    """The reason why it may not join, or has ended."""
    applied: State | None = None
    """The cluster state that it has applied, where it lags behind the elected manager."""
    filters: Mapping[str, Mapping[str, list[str]]] | None = None
    """The allocation filters that its process heeds, if the product lets them differ from the settings in force."""
    started: float = 0.0
    """The time at which the process was started."""
    counters: Counters = field(default_factory=Counters)

    @property
    def id(self) -> str:
        """The persistent id of the node."""
        return self.disk.id

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.spec.name

    @property
    def roles(self) -> tuple[str, ...]:
        """Its roles, as its server calls them."""
        old = {"cluster_manager": "master"} if self.version.elastic else {}
        return tuple(old.get(role, role) for role in self.spec.roles)

    @property
    def manages(self) -> bool:
        """Whether it may vote."""
        return bool({"cluster_manager", "master"} & set(self.spec.roles))

    @property
    def electable(self) -> bool:
        """Whether it may be elected, too (server source, VotingOnlyNodePlugin of Elasticsearch)."""
        return self.manages and "voting_only" not in self.spec.roles

    @cached_property
    def holds_data(self) -> bool:
        """Whether shards may be on it."""
        return any(role == "data" or role.startswith("data_") for role in self.spec.roles)

    @property
    def attributes(self) -> dict[str, str]:
        """All its attributes, with what every member says of itself."""
        own = "xpack.installed" if self.version.elastic else "shard_indexing_pressure_enabled"
        return {**self.spec.attributes, own: "true"}


@dataclass(frozen=True)
class Unassigned:
    """The reason why a copy was taken from, or never given to, a member."""

    reason: str
    at: float
    details: str = ""
    delayed: bool = False
    failed: int = 0
    """The number of times that its allocation has failed."""


@dataclass(eq=False)
class Copy:
    """One copy of a shard."""

    index: Index
    shard: int
    primary: bool
    why: Unassigned | None
    state: str = "UNASSIGNED"
    node: str | None = None
    target: str | None = None
    """The node that it relocates to."""
    allocation: str | None = None
    target_allocation: str | None = None
    new: bool = True
    """Whether its recovery starts with an empty store."""

    def __setattr__(self, name: str, value: Any) -> None:
        """A change of a copy is one of its index, too."""
        object.__setattr__(self, name, value)
        self.index.touch()

    @property
    def started(self) -> bool:
        """Whether it serves."""
        return self.state in {"STARTED", "RELOCATING"}

    @property
    def places(self) -> tuple[str, ...]:
        """The members that have it, or are to have it."""
        return tuple(each for each in (self.node, self.target) if each)

    def unassign(self, why: Unassigned) -> None:
        """Take it from its member."""
        self.state, self.why = "UNASSIGNED", why
        self.node = self.target = self.allocation = self.target_allocation = None


@dataclass(eq=False)
class Index:
    """One index. `settings` are flat, without `index.` before the names."""

    name: str
    uuid: str
    created: Version
    made_at: float
    settings: dict[str, Any]
    body: dict[str, Any] = field(default_factory=dict)
    open: bool = True
    shards: dict[int, list[Copy]] = field(default_factory=dict)
    in_sync: dict[int, set[str]] = field(default_factory=dict)
    terms: dict[int, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    """Versions of the documents, for what writes are answered with."""
    revision: int = 0
    """It counts up with each change of what is published of the index: what was found out of one holds until then."""

    told: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    """The parts of answers about it, each with the revision of which it was made."""

    def touch(self) -> None:
        """Something has changed; copies say so by themselves."""
        self.revision += 1

    @property
    def replicas(self) -> int:
        """The number of replicas that each shard is to have."""
        return int(self.settings["number_of_replicas"])

    @property
    def copies(self) -> Iterator[Copy]:
        """All copies."""
        return itertools.chain.from_iterable(self.shards.values())

    def primary(self, shard: int) -> Copy:
        """The primary of a shard."""
        return next(copy for copy in self.shards[shard] if copy.primary)


class Names:
    """Ids as the servers make them: 22 characters. The same numbers give the same ids."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._numbers = itertools.count()

    def make(self) -> str:
        """A new id."""
        digest = hashlib.sha256(f"{self._seed}/{next(self._numbers)}".encode()).digest()
        return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")
