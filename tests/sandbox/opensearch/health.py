"""`_cluster/health`: the colours and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.sandbox.opensearch.model import Copy, Index
from tests.sandbox.opensearch.state import State

STATUS = ("green", "yellow", "red")
"""The best first."""
STARTED = ("STARTED", "RELOCATING")


def colour(copies: Sequence[Copy]) -> str:
    """The status of one shard: a new primary that nothing has kept from starting is yellow."""
    primary = next(copy for copy in copies if copy.primary)
    if not primary.started:
        fresh = primary.new and primary.why is not None and primary.why.reason == "INDEX_CREATED"
        return "yellow" if fresh and not primary.why.failed else "red"  # type: ignore[union-attr]
    return "green" if all(copy.started for copy in copies) else "yellow"


def counted(counts: Counter[tuple[str, bool]]) -> dict[str, int]:
    """The number of copies in each state, from those by state and whether they are primaries."""
    primaries = sum(counts[state, True] for state in STARTED)
    return {
        "active_primary_shards": primaries,
        "active_shards": primaries + sum(counts[state, False] for state in STARTED),
        "relocating_shards": counts["RELOCATING", True] + counts["RELOCATING", False],
        "initializing_shards": counts["INITIALIZING", True] + counts["INITIALIZING", False],
        "unassigned_shards": counts["UNASSIGNED", True] + counts["UNASSIGNED", False],
    }


def _of_index(state: State, index: Index) -> dict[str, Any]:
    return {
        "status": _worst([colour(each) for each in index.shards.values()]),
        "number_of_shards": len(index.shards),
        "number_of_replicas": index.replicas,
        **counted(state.load.states_of(index)),
    }


def _worst(colours: Sequence[str]) -> str:
    return max(colours, key=STATUS.index, default="green")


def health(state: State, names: str, level: str) -> dict[str, Any]:
    """The health of the indices of these names, or of all; one that is named and not there is red."""
    wanted = names.split(",") if names and names != "_all" else ["*"]
    there = [index for index in state.indices.values() if any(_fits(index.name, name) for name in wanted)]
    missing = [name for name in wanted if "*" not in name and name not in state.indices]
    load = state.counted
    counts = sum((load.states_of(index) for index in there), Counter()) if wanted != ["*"] else load.states
    counts = counts if state.recovered else Counter()
    passing = any(block["retryable"] for block in state.blocks().values())
    ill = [index for index in there if not load.is_green(index)] if state.recovered else []
    colours = [colour(each) for index in ill for each in index.shards.values()]
    delayed = sum(state.is_delayed(copy) for index in ill for copy in index.copies)
    said = counted(counts)
    number = sum(counts.values())
    body = {
        "cluster_name": state.name,
        "status": "red" if passing or missing else _worst(colours),
        "timed_out": False,
        "number_of_nodes": len(state.nodes),
        "number_of_data_nodes": len(state.data_nodes),
        **_of_product(state, counts),
        **said,
        "delayed_unassigned_shards": delayed,
        "number_of_pending_tasks": 0,
        "number_of_in_flight_fetch": 0,
        "task_max_waiting_in_queue_millis": 0,
        "active_shards_percent_as_number": 100.0 * said["active_shards"] / number if number else 100.0,
    }
    if level in {"indices", "shards"}:
        body["indices"] = {index.name: _of_index(state, index) for index in there}
    return body


def _of_product(state: State, counts: Counter[tuple[str, bool]]) -> dict[str, Any]:
    """The fields that only one product has: OpenSearch says whether there is an elected manager."""
    there = state.manager is not None
    if not any(node.version.elastic for node in state.nodes.values()):
        return {"discovered_master": there, "discovered_cluster_manager": there}
    lost = counts["UNASSIGNED", True]
    return {"unassigned_primary_shards": lost} if state.managing_version >= (8, 18, 0) else {}


def _fits(name: str, pattern: str) -> bool:
    head, star, tail = pattern.partition("*")
    return name == pattern or (bool(star) and name.startswith(head) and name.endswith(tail))
