"""An OpenSearch cluster in one look: frozen data, parsed from the servers' answers.

Their shapes are those of real answers of 2.11, 2.19, 3.6 and 3.8, and of Elasticsearch 8.18 and 8.19. A parser raises
`Unreadable` if a field that decides is missing, or has a value that no server writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...common.errors import Unreachable
from ...common.reading import (
    Json,
    Unreadable,
    count,
    flag,
    listed,
    named,
    one_of,
    optional_text,
    part,
    text,
    text_map,
    texts,
    whole,
    within,
)
from ...common.words import enumerate_few
from .decommissioned import Decommissioned
from .products import OPENSEARCH, Product, product_of
from .version import Version, created_in

COORDINATING = "coordinating only"
"""The name of the service of members that have no role."""


@dataclass(frozen=True)
class ClusterMember:
    """One member as the cluster knows it. `id` survives a restart, `ephemeral_id` does not."""

    id: str
    ephemeral_id: str
    name: str
    address: str
    version: Version
    roles: frozenset[str]
    attributes: Mapping[str, str] = field(default_factory=dict)
    holds_up_to: int | None = None
    """The highest index version that it can hold, if it reports that (Elasticsearch from 8.11 on)."""

    @property
    def manager_eligible(self) -> bool:
        """Whether it may vote and be elected (role `cluster_manager`; `master` in 1.x and Elasticsearch)."""
        return bool(self.roles & {"cluster_manager", "master"})

    @property
    def electable(self) -> bool:
        """Whether it may be elected: a voter of Elasticsearch may be there only to break a tie (`voting_only`)."""
        return self.manager_eligible and "voting_only" not in self.roles

    @property
    def holds_data(self) -> bool:
        """Whether it can hold shards (role `data` and its tiers, `search`, `warm`)."""
        return any(role in {"data", "search", "warm"} or role.startswith("data_") for role in self.roles)

    @property
    def has_remote_store(self) -> bool:
        """Whether it also writes its shards to a repository (DiscoveryNode.isRemoteStoreNode)."""
        return "remote_store.segment.repository" in self.attributes

    @property
    def serves(self) -> frozenset[str]:
        """The roles in which others may take its place, apart from holding data and voting.

        A member without such a role, without data and without a vote only coordinates. Its connections to other
        clusters (`remote_cluster_client`) are no service: each member uses its own.
        """
        special = self.roles - {"data", "cluster_manager", "master", "voting_only", "remote_cluster_client"}
        return special or (frozenset() if self.holds_data or self.manager_eligible else frozenset({COORDINATING}))


@dataclass(frozen=True)
class ShardCopy:
    """One copy of a shard. `member` is the id of the member that holds it, or None if it is unassigned."""

    index: str
    shard: int
    primary: bool
    state: str
    member: str | None = None
    relocating_to: str | None = None
    search_only: bool = False
    unassigned_reason: str = ""

    @property
    def started(self) -> bool:
        """Whether it serves. A relocating copy serves at its source until it has moved."""
        return self.state in {"STARTED", "RELOCATING"}

    @property
    def never_held(self) -> bool:
        """Whether no member has ever held it: the index was just made (server source, UnassignedInfo.Reason)."""
        return self.unassigned_reason == "INDEX_CREATED"


@dataclass(frozen=True)
class Index:
    """The settings of an index that decide about safety."""

    name: str
    open: bool
    shards: int
    replicas: int
    created: Version | None
    allocation: str | None = None
    """`index.routing.allocation.enable` if it is set; it overrides the cluster's."""
    wait_for_active_shards: int = 1
    auto_expand: bool = False
    """Whether the servers themselves add and take away its replicas with the members."""
    of_snapshot: bool = False
    """Whether its shards only read from a snapshot (`index.store.type`), so that they come back from its repository."""
    verified: bool = False
    """Whether Elasticsearch has made it readable for good, so that the major after next opens it too
    (`index.verified_read_only`)."""
    in_remote_store: bool = False
    """Whether its data is also written to a repository (`index.remote_store.enabled`)."""


@dataclass(frozen=True)
class Voting:
    """The voting configurations: ids of manager-eligible members whose majority elects and commits."""

    committed: frozenset[str]
    accepted: frozenset[str]
    exclusions: frozenset[str] = frozenset()
    """The names of the members that are excluded."""
    absent: frozenset[str] = frozenset()
    """The excluded names that no member had at that time."""


_OF_SNAPSHOT = frozenset({"remote_snapshot", "snapshot"})
"""The stores of searchable snapshots: that of OpenSearch, and that of Elasticsearch, which restores the shards of a
member that fails from the repository as well (Elasticsearch guide, Searchable snapshots)."""
_CREATE_INDEX = "create_index"
"""The level of a block that keeps indices from being made, and nothing else."""
_ABSENT = "_absent_"
"""The id in an exclusion whose name no member had (server source, VotingConfigExclusion)."""


@dataclass(frozen=True)
class Block:
    """A cluster-wide block. The cluster lifts a `passing` one by itself, such as `state not recovered`."""

    description: str
    passing: bool = False


@dataclass(frozen=True)
class RunningSnapshot:
    """A snapshot being taken: `repository/name`, and its unfinished parts as index, shard and id of the member."""

    name: str
    unfinished: tuple[tuple[str, int, str | None], ...] = ()


@dataclass(frozen=True)
class ClusterState:
    """One consistent look at a cluster."""

    uuid: str
    version: int
    elected: str | None
    members: Mapping[str, ClusterMember]
    copies: tuple[ShardCopy, ...]
    indices: Mapping[str, Index]
    voting: Voting
    blocks: tuple[Block, ...] = ()
    snapshots: tuple[RunningSnapshot, ...] = ()
    name: str = ""
    decommissioned: Decommissioned | None = None
    removals: Mapping[str, str] = field(default_factory=dict)
    """The members that others have registered to leave for good, with the reasons that they gave, by id."""

    @property
    def product(self) -> Product:
        """The server that the members run."""
        return next((product_of(member.version) for member in self.members.values()), OPENSEARCH)

    def named(self, name: str) -> ClusterMember | None:
        """The member with that name."""
        return next((member for member in self.members.values() if member.name == name), None)

    def ids(self, names: Iterable[str]) -> frozenset[str]:
        """The ids of those of the named members that are in the cluster."""
        wanted = set(names)
        return frozenset(member.id for member in self.members.values() if member.name in wanted)

    def serves(self, copy: ShardCopy) -> bool:
        """Whether a copy is started on a member that has answered for itself."""
        return copy.started and copy.member in self.members


def voting_again(state: ClusterState) -> ClusterState:
    """The state to plan with, in which no member is excluded from voting any more.

    An interrupted run may have left a member excluded, which is taken back before the first batch. Until then the
    configurations are smaller; then the servers let every manager-eligible member vote, but of two only the elected one
    (Reconfigurator).
    """
    if not state.voting.exclusions:
        return state
    voters = frozenset(member.id for member in state.members.values() if member.manager_eligible)
    if len(voters) == 2 and state.elected in voters:
        voters = frozenset({state.elected})
    return replace(state, voting=Voting(voters, voters))


@dataclass(frozen=True)
class Health:
    """`_cluster/health`, the fields that matter."""

    status: str
    timed_out: bool
    initializing: int
    relocating: int
    unassigned: int
    delayed: int
    in_flight_fetch: int
    pending_tasks: int

    @property
    def green(self) -> bool:
        """Whether it is green, and no change of it is pending."""
        return self.status == "green" and not self.timed_out


HEALTH = frozenset({"green", "yellow", "red"})


def parse_health(answer: Json) -> Health:
    """Health from its JSON."""
    return Health(
        status=one_of(answer, "status", HEALTH),
        timed_out=flag(answer, "timed_out"),
        initializing=whole(answer, "initializing_shards"),
        relocating=whole(answer, "relocating_shards"),
        unassigned=whole(answer, "unassigned_shards"),
        delayed=whole(answer, "delayed_unassigned_shards"),
        in_flight_fetch=whole(answer, "number_of_in_flight_fetch"),
        pending_tasks=whole(answer, "number_of_pending_tasks"),
    )


def unanswered(nodes_info: Json, nodes_state: Json) -> list[str]:
    """The names of the members of the cluster state that did not answer, or answered under another name."""
    names = named({"nodes": nodes_state}, "nodes", lambda _identity, state: text(state, "name"))
    return sorted(name for each, name in names.items() if part(nodes_info, each, {}).get("name") != name)


def silence(path: str, names: Iterable[str]) -> Unreachable:
    """The refusal for members that are in the cluster, and did not answer for themselves."""
    return Unreachable.because(
        "opensearch_incomplete",
        f"Members are in the cluster and did not answer GET {path}: {enumerate_few(names)}.",
        "If this does not pass, look at the log of that member (a circuit breaker, a broken connection).",
    )


def parse_members(nodes_info: Json, nodes_state: Json) -> dict[str, ClusterMember]:
    """Members from `GET _nodes/_all/_none` (versions) joined with `nodes` of the cluster state (ephemeral ids).

    The state decides who is in the cluster: a member that is not in it has left, or has not joined yet.

    Raises:
        Unreachable: a member of the state did not answer for itself. It is in the cluster, so it must not count as
            away, and the whole answer is refused.
        Unreadable: the answer of one cannot be read.
    """
    silent = unanswered(nodes_info, nodes_state)
    if silent:
        raise silence("_nodes", silent)

    def member(identity: str, state: Json) -> ClusterMember:
        info = part(nodes_info, identity)
        return ClusterMember(
            id=identity,
            ephemeral_id=text(state, "ephemeral_id"),
            name=text(info, "name"),
            address=text(info, "ip", "") or text(info, "host", ""),
            version=version_of(info, "version", elastic="build_flavor" in info),
            roles=frozenset(texts(info, "roles", ())),
            attributes=text_map(info, "attributes"),
            holds_up_to=whole(state, "max_index_version") if "max_index_version" in state else None,
        )

    return named({"nodes": nodes_state}, "nodes", member)


def version_of(of: Json, name: str, *, elastic: bool = False) -> Version:
    """A version that is written as a text; `elastic` says that it is one of Elasticsearch."""
    found = text(of, name)
    try:
        return Version.parse(found, elastic=elastic)
    except ValueError as error:
        raise Unreadable(str(error), name) from error


def parse_index(name: str, metadata: Json, holding: Sequence[tuple[int, Version]] = ()) -> Index:
    """An index from `metadata.indices`. `holding` says what members can hold, as `created_in` has it."""
    is_open = one_of(metadata, "state", ("open", "close")) == "open"
    return within(metadata, "settings.index", lambda index: _index(name, index, holding, is_open=is_open))


def _index(name: str, settings: Json, holding: Sequence[tuple[int, Version]], *, is_open: bool) -> Index:
    created = within(
        settings, "version", lambda version: count(version, "created") if "created" in version else None, {}
    )
    replicas = count(settings, "number_of_replicas")
    write = part(settings, "write", {})
    awaits_all = write.get("wait_for_active_shards") == "all"
    return Index(
        name=name,
        open=is_open,
        shards=count(settings, "number_of_shards"),
        replicas=replicas,
        created=created_in(created, holding) if created is not None else None,
        allocation=within(settings, "routing.allocation", lambda found: optional_text(found, "enable"), {}),
        wait_for_active_shards=replicas + 1 if awaits_all else count(write, "wait_for_active_shards", 1),
        auto_expand=text(settings, "auto_expand_replicas", "false") not in {"false", "0-0"},
        verified=text(settings, "verified_read_only", "false") == "true",
        of_snapshot=within(settings, "store", lambda store: optional_text(store, "type"), {}) in _OF_SNAPSHOT,
        in_remote_store=within(settings, "remote_store", lambda store: text(store, "enabled", "false"), {}) == "true",
    )


def parse_voting(coordination: Json) -> Voting:
    """Voting configurations from `metadata.cluster_coordination`, whose list of exclusions is there even if empty."""
    excluded = listed(
        coordination,
        "voting_config_exclusions",
        lambda entry: (text(entry, "node_id", ""), text(entry, "node_name", "")),
    )
    return Voting(
        committed=frozenset(texts(coordination, "last_committed_config")),
        accepted=frozenset(texts(coordination, "last_accepted_config")),
        exclusions=frozenset(name for _identity, name in excluded),
        absent=frozenset(name for identity, name in excluded if identity == _ABSENT),
    )


def parse_blocks(blocks: Json) -> tuple[Block, ...]:
    """The cluster-wide blocks. Those that the server calls retryable pass (server source, ClusterBlock).

    One that only keeps indices from being made stops nothing that a run does, so it does not count. People set it for
    an upgrade (`cluster.blocks.create_index`), and OpenSearch sets it itself as long as the disks of all members are
    above the high watermark (server source, Metadata.CLUSTER_CREATE_INDEX_BLOCK and DiskThresholdMonitor).
    """

    def block(number: str, found: Json) -> Block | None:
        if texts(found, "levels", ()) == (_CREATE_INDEX,):
            return None
        return Block(text(found, "description", "") or number, flag(found, "retryable", default=False))

    return tuple(each for each in named(blocks, "global", block, {}).values() if each)


_FINISHED = frozenset({"SUCCESS", "FAILED", "MISSING"})
"""The final states of a shard in a snapshot (server source, SnapshotsInProgress.ShardState)."""


def parse_snapshots(custom: Json) -> tuple[RunningSnapshot, ...]:
    """The snapshots being taken, from `snapshots` of the cluster state, which is absent if there are none."""
    return listed(custom, "snapshots", _snapshot, ())


def _snapshot(entry: Json) -> RunningSnapshot:
    shards = listed(entry, "shards", _part_of_snapshot, ())
    name = f"{text(entry, 'repository')}/{text(entry, 'snapshot')}"
    return RunningSnapshot(name, tuple(place for place, state in shards if state not in _FINISHED))


def _part_of_snapshot(shard: Json) -> tuple[tuple[str, int, str | None], str]:
    index = within(shard, "index", lambda index: text(index, "index_name"))
    return (index, whole(shard, "shard"), optional_text(shard, "node")), text(shard, "state")
