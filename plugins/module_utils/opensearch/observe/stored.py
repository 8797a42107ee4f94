"""The bytes that shards still have to move away from members: figures for people, which no verdict needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...common.errors import Refusal
from ...common.reading import FOREIGN
from .client import OpenSearchClient
from .copies import left_on
from .state import ClusterState


def observe_bytes_left(client: OpenSearchClient, state: ClusterState, names: Collection[str]) -> int | None:
    """The bytes that are left on the named members, or None if it is not known. Two calls.

    A member counts a shard until it has moved as a whole (`_nodes/stats`), so the bytes that have been copied are
    subtracted (`_recovery`). Members do not know each other's sizes: only the named ones are asked for theirs.
    """
    ids = sorted(state.ids(names))
    moving = {(copy.index, copy.shard) for copy in left_on(state, names) if copy.relocating_to}
    try:
        stats = client.get(
            f"/_nodes/{','.join(ids)}/stats/indices/store", filter_path="nodes.*.indices.store.size_in_bytes"
        )
        found = stored_bytes(stats, len(ids))
        if found is None or not moving:
            return found
        wanted = "*.shards.id,*.shards.index.size.recovered_in_bytes"
        recoveries = client.get("/_recovery", active_only="true", filter_path=wanted)
        return max(0, found - copied_bytes(recoveries, moving))
    except (Refusal, *FOREIGN):
        return None


def stored_bytes(answer: Mapping[str, Any], members: int) -> int | None:
    """The bytes that the members store, of `_nodes/stats/indices/store`; None if not all have answered.

    Raises:
        KeyError: a figure is missing.
    """
    nodes = answer.get("nodes", {})
    sizes = [int(node["indices"]["store"]["size_in_bytes"]) for node in nodes.values()]
    return sum(sizes) if len(sizes) == members else None


def copied_bytes(answer: Mapping[str, Any], moving: Collection[tuple[str, int]]) -> int:
    """The bytes that the recoveries of these shards have copied, of `_recovery?active_only=true`.

    Raises:
        KeyError: a figure is missing.
    """
    return sum(
        int(recovery["index"]["size"]["recovered_in_bytes"])
        for index, shards in answer.items()
        for recovery in shards["shards"]
        if (index, recovery["id"]) in moving
    )
