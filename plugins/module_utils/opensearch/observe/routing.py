"""The routing table: the places of the copies of each shard. One that contradicts itself or the metadata is refused.

The checks are those that the servers make themselves (server source, IndexRoutingTable.validate, ShardRouting). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...common.reading import Json, Unreadable, flag, listed, named, one_of, optional_text, part, text, whole, within
from .state import Index, ShardCopy

STATES = frozenset({"INITIALIZING", "RELOCATING", "STARTED", "UNASSIGNED"})
"""All states of a copy (server source, ShardRoutingState)."""


def parse_copies(routing_table: Json, indices: Mapping[str, Index], members: Collection[str]) -> tuple[ShardCopy, ...]:
    """Every shard copy of `routing_table.indices`; `members` are the ids of those in the cluster."""
    tables = named(routing_table, "indices", lambda name, table: _index(name, table, indices, members), {})
    return tuple(copy for copies in tables.values() for copy in copies)


def health_of(routing_table: Any) -> str:
    """The health that the servers make of it: red without an active primary, yellow without an active replica.

    A primary that no member has held yet is yellow (server source, ClusterShardHealth.getInactivePrimaryHealth). Empty
    if it cannot be read: this is a figure for people, and no decision depends on it.
    """
    try:
        tables = named(
            part({"table": routing_table}, "table"), "indices", lambda _name, table: part(table, "shards"), {}
        )
        shards = [listed(table, number, _activity) for table in tables.values() for number in table]
    except Unreadable:
        return ""
    inactive = [activity for copies in shards for activity in copies if activity]
    return max(inactive, key=("yellow", "red").index, default="green")


def _activity(copy: Json) -> str:
    """The health of a shard of which this copy alone is not active; empty if it is."""
    if one_of(copy, "state", STATES) in {"STARTED", "RELOCATING"}:
        return ""
    fresh = within(copy, "unassigned_info", lambda info: text(info, "reason", ""), {}) == "INDEX_CREATED"
    return "red" if flag(copy, "primary") and not fresh else "yellow"


def _index(name: str, table: Json, indices: Mapping[str, Index], members: Collection[str]) -> Sequence[ShardCopy]:
    index = indices.get(name)
    if index is None:
        raise Unreadable("is an index that the metadata does not have")
    shards = part(table, "shards")
    if len(shards) != index.shards or {*shards} != {str(number) for number in range(len(shards))}:
        raise Unreadable(f"are {', '.join(sorted(shards)) or 'none'}, and there have to be {index.shards}", "shards")

    def read(number: str) -> tuple[ShardCopy, ...]:
        copies = listed(shards, number, lambda copy: _copy(copy, name, int(number), members))
        _agree(copies, index, number)
        return copies

    return within(table, "shards", lambda shards: [copy for number in shards for copy in read(number)])


def _copy(copy: Json, index: str, shard: int, members: Collection[str]) -> ShardCopy:
    if (copy.get("index"), whole(copy, "shard")) != (index, shard):
        raise Unreadable(f"is a copy of another shard ({copy.get('index')}[{copy['shard']}])")
    seen = ShardCopy(
        index=index,
        shard=shard,
        primary=flag(copy, "primary"),
        state=one_of(copy, "state", STATES),
        member=optional_text(copy, "node"),
        relocating_to=optional_text(copy, "relocating_node"),
        search_only=flag(copy, "searchOnly", default=False),
        unassigned_reason=within(copy, "unassigned_info", lambda info: text(info, "reason", ""), {}),
    )
    wrong = _contradiction(seen, members)
    if wrong:
        raise Unreadable(f"is {seen.state}, and {wrong}")
    return seen


def _contradiction(copy: ShardCopy, members: Collection[str]) -> str:
    """The contradiction in one copy, as the end of a sentence; empty if there is none."""
    if (copy.state == "UNASSIGNED") is not (copy.member is None):
        return "has a member" if copy.member else "has no member"
    if copy.state in {"STARTED", "UNASSIGNED"} and copy.relocating_to:
        return "relocates"
    if copy.state == "RELOCATING" and copy.relocating_to in {None, copy.member}:
        return "relocates nowhere"
    unknown = [place for place in (copy.member, copy.relocating_to) if place and place not in members]
    if unknown:
        return f"is on {', '.join(sorted(unknown))}, which is no member"
    return "is the primary and for search only" if copy.primary and copy.search_only else ""


def _agree(copies: Sequence[ShardCopy], index: Index, shard: str) -> None:
    """Check the number of copies. An index in search-only mode has neither primaries nor replicas; any other has as
    many as its settings say."""
    ordinary = [copy for copy in copies if not copy.search_only]
    if not copies or (ordinary and len(ordinary) != index.replicas + 1):
        raise Unreadable(f"has {len(ordinary)} copies, and there have to be {index.replicas + 1}", shard)
    primaries = sum(copy.primary for copy in ordinary)
    if ordinary and primaries != 1:
        raise Unreadable(f"has {primaries} primaries", shard)
    places = [place for copy in copies for place in (copy.member, copy.relocating_to) if place]
    if len(places) != len({*places}):
        raise Unreadable("has two copies on one member", shard)
