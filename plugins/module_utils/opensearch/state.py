# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is seen of an OpenSearch cluster in one look: frozen data, parsed from the servers' answers.

Shapes read from the servers' own answers on 2.11, 2.19, 3.6 and 3.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.errors import Unreachable
from ..common.verdict import refused
from ..common.words import enumerate_few
from ..planning.versions import Version

COORDINATING = "coordinating only"
"""What is served by members that have no role, in the place of one."""


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

    @property
    def manager_eligible(self) -> bool:
        """Whether it may vote and be elected (role `cluster_manager`, `master` in 1.x)."""
        return bool(self.roles & {"cluster_manager", "master"})

    @property
    def holds_data(self) -> bool:
        """Whether shards can be on it (role `data` and the tiers of it, `search`, `warm`)."""
        return any(role in {"data", "search", "warm"} or role.startswith("data_") for role in self.roles)

    @property
    def serves(self) -> frozenset[str]:
        """The roles in which others may stand in for it, beside those that its shards and its vote tell of.

        A member without any of these, without data and without a vote is one of those that only coordinate. That it
        can reach other clusters (`remote_cluster_client`) is no service: the member that is asked uses its own.
        """
        special = self.roles - {"data", "cluster_manager", "master", "remote_cluster_client"}
        return special or (frozenset() if self.holds_data or self.manager_eligible else frozenset({COORDINATING}))


@dataclass(frozen=True)
class ShardCopy:
    """One copy of a shard. `member` is the id of the member that holds it, or None when unassigned."""

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
        """Whether it serves (a relocating copy serves at its source until it has moved)."""
        return self.state in {"STARTED", "RELOCATING"}


@dataclass(frozen=True)
class Index:
    """The settings of an index that decide about safety."""

    name: str
    open: bool
    replicas: int
    created: Version | None
    allocation: str | None = None
    """`index.routing.allocation.enable`, where it is set: it overrides the cluster's."""
    wait_for_active_shards: int = 1
    auto_expand: bool = False
    """Whether the servers themselves add and take away its replicas with the members."""
    delay: str | None = None
    """`index.unassigned.node_left.delayed_timeout`, where it is set."""


@dataclass(frozen=True)
class Voting:
    """The voting configurations: ids of manager-eligible members whose majority elects and commits."""

    committed: frozenset[str]
    accepted: frozenset[str]
    exclusions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Block:
    """A cluster-wide block. One that is `passing` the cluster lifts by itself, such as `state not recovered`."""

    description: str
    passing: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A snapshot being taken: `repository/name`, and what is not yet written: index, shard, id of its member."""

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
    snapshots: tuple[Snapshot, ...] = ()

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
    """The state as it is to be planned with: nobody is excluded from voting any more.

    A run that was interrupted may have left somebody excluded, and takes it back before the first batch. Until then the
    configurations are smaller than they will be; then the servers let every member vote that can (Reconfigurator).
    """
    if not state.voting.exclusions:
        return state
    voters = frozenset(member.id for member in state.members.values() if member.manager_eligible)
    return replace(state, voting=Voting(voters, voters))


@dataclass(frozen=True)
class Health:
    """`_cluster/health`, the fields that matter."""

    status: str
    timed_out: bool
    members: int
    initializing: int
    relocating: int
    unassigned: int
    delayed: int
    in_flight_fetch: int
    pending_tasks: int


def parse_health(answer: Mapping[str, Any]) -> Health:
    """Health from its JSON. Raises KeyError on a missing field: an answer that cannot be read is not a pass."""
    return Health(
        status=answer["status"],
        timed_out=answer["timed_out"],
        members=answer["number_of_nodes"],
        initializing=answer["initializing_shards"],
        relocating=answer["relocating_shards"],
        unassigned=answer["unassigned_shards"],
        delayed=answer["delayed_unassigned_shards"],
        in_flight_fetch=answer["number_of_in_flight_fetch"],
        pending_tasks=answer["number_of_pending_tasks"],
    )


def unanswered(nodes_info: Mapping[str, Any], nodes_state: Mapping[str, Any]) -> list[str]:
    """The names of the members of the cluster state that did not answer for themselves, or under another name."""
    return sorted(
        str(state.get("name", identity))
        for identity, state in nodes_state.items()
        if identity not in nodes_info or nodes_info[identity].get("name") != state.get("name")
    )


def parse_members(nodes_info: Mapping[str, Any], nodes_state: Mapping[str, Any]) -> dict[str, ClusterMember]:
    """Members from `GET _nodes/_all/_none` (versions) joined with `nodes` of the cluster state (ephemeral ids).

    Who is in the cluster is what the state says: one that is not in it has left, or has not joined yet.

    Raises:
        Unreachable: a member of the state did not answer for itself. It is in the cluster, so without it the answer is
            none: it must not count as away.
    """
    silent = unanswered(nodes_info, nodes_state)
    if silent:
        raise Unreachable(
            refused(
                "opensearch_incomplete",
                f"In the cluster, but without an answer to GET _nodes: {enumerate_few(silent)}.",
                "If this does not pass, look at the log of that member (a circuit breaker, a broken connection).",
            )
        )
    members = {}
    for identity, state in nodes_state.items():
        info = nodes_info[identity]
        members[identity] = ClusterMember(
            id=identity,
            ephemeral_id=state["ephemeral_id"],
            name=info["name"],
            address=str(info.get("ip") or info.get("host") or ""),
            version=Version.parse(info["version"]),
            roles=frozenset(info.get("roles", ())),
            attributes=dict(info.get("attributes", {})),
        )
    return members


def parse_copies(routing_table: Mapping[str, Any]) -> tuple[ShardCopy, ...]:
    """Every shard copy of `routing_table.indices`."""
    return tuple(
        _copy(index, copy)
        for index, table in routing_table.get("indices", {}).items()
        for copies in table.get("shards", {}).values()
        for copy in copies
    )


def _copy(index: str, copy: Mapping[str, Any]) -> ShardCopy:
    return ShardCopy(
        index=index,
        shard=copy["shard"],
        primary=copy["primary"],
        state=copy["state"],
        member=copy.get("node"),
        relocating_to=copy.get("relocating_node"),
        search_only=bool(copy.get("searchOnly", False)),
        unassigned_reason=copy.get("unassigned_info", {}).get("reason", ""),
    )


def parse_index(name: str, metadata: Mapping[str, Any]) -> Index:
    """An index from `metadata.indices`."""
    settings = metadata.get("settings", {}).get("index", {})
    created = settings.get("version", {}).get("created")
    replicas = int(settings.get("number_of_replicas", 0))
    awaited = settings.get("write", {}).get("wait_for_active_shards", "1")
    return Index(
        name=name,
        open=metadata.get("state") == "open",
        replicas=replicas,
        created=Version.from_id(int(created)) if created is not None else None,
        allocation=settings.get("routing", {}).get("allocation", {}).get("enable"),
        wait_for_active_shards=replicas + 1 if awaited == "all" else int(awaited),
        auto_expand=str(settings.get("auto_expand_replicas", "false")) != "false",
        delay=settings.get("unassigned", {}).get("node_left", {}).get("delayed_timeout"),
    )


def parse_voting(coordination: Mapping[str, Any]) -> Voting:
    """Voting configurations from `metadata.cluster_coordination`."""
    return Voting(
        committed=frozenset(coordination["last_committed_config"]),
        accepted=frozenset(coordination["last_accepted_config"]),
        exclusions=frozenset(entry.get("node_name", "") for entry in coordination.get("voting_config_exclusions", ())),
    )


def parse_blocks(blocks: Mapping[str, Any]) -> tuple[Block, ...]:
    """The cluster-wide blocks. Those that the server calls retryable pass (server source, ClusterBlock)."""
    return tuple(
        Block(block.get("description", number), bool(block.get("retryable", False)))
        for number, block in blocks.get("global", {}).items()
    )


_UNFINISHED = frozenset({"INIT", "ABORTED", "WAITING", "QUEUED"})
"""States of a shard in a snapshot that are not its last (server source, SnapshotsInProgress.ShardState)."""


def parse_snapshots(custom: Mapping[str, Any]) -> tuple[Snapshot, ...]:
    """The snapshots being taken, from `snapshots` of the cluster state; it is absent where there is none."""
    return tuple(
        Snapshot(
            f"{entry['repository']}/{entry['snapshot']}",
            tuple(
                (shard["index"]["index_name"], shard["shard"], shard.get("node"))
                for shard in entry.get("shards", ())
                if shard["state"] in _UNFINISHED
            ),
        )
        for entry in custom.get("snapshots", ())
    )
