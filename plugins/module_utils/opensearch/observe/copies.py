"""Facts about the copies of the shards: those that stand in for one another, that are alone, or that move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from .state import ClusterState, ShardCopy

Shard = tuple[str, int]


def last_copies(state: ClusterState) -> Mapping[Shard, ShardCopy]:
    """The shards of which only the primary is assigned although others should be, and that copy.

    Search-only copies are left out. A lone replica has lost its primary, which another reason says.
    """
    lone: dict[Shard, ShardCopy] = {}
    for (index, shard, search_only), copies in copy_sets(state).items():
        held = [copy for copy in copies if copy.member is not None]
        if not search_only and len(held) == 1 and held[0].primary and len(copies) > 1:
            lone[index, shard] = held[0]
    return lone


def copies_move(state: ClusterState) -> bool:
    """Whether any copy recovers or moves. As long as one does, others may just be waiting for their turn."""
    return any(copy.state in {"INITIALIZING", "RELOCATING"} for copy in state.copies)


def unassigned(state: ClusterState) -> tuple[ShardCopy, ...]:
    """The copies without a member, one for each shard, since the server does not explain two alike separately.

    A shard without its primary is represented by the primary: its replicas can only follow it.
    """
    found = [copy for copy in state.copies if copy.state == "UNASSIGNED"]
    lost = {(copy.index, copy.shard) for copy in found if copy.primary}
    seen: dict[tuple[str, int], ShardCopy] = {}
    for copy in found:
        if copy.primary or (copy.index, copy.shard) not in lost:
            seen.setdefault((copy.index, copy.shard), copy)
    return tuple(seen.values())


def left_on(state: ClusterState, names: Collection[str]) -> tuple[ShardCopy, ...]:
    """The copies that the named members hold. A copy that relocates counts until it has arrived elsewhere."""
    members = state.ids(names)
    return tuple(copy for copy in state.copies if copy.member in members)


CopySets = Mapping[tuple[str, int, bool], Sequence[ShardCopy]]


def copy_sets(state: ClusterState) -> CopySets:
    """Copies that can stand in for one another: those of one shard. Search-only copies are a set of their own."""
    found: dict[tuple[str, int, bool], list[ShardCopy]] = defaultdict(list)
    for copy in state.copies:
        found[(copy.index, copy.shard, copy.search_only)].append(copy)
    return found
