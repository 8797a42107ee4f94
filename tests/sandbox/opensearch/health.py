"""`_cluster/health`: the colours and the counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.sandbox.opensearch.model import Copy, Index
from tests.sandbox.opensearch.state import State

STATUS = ("green", "yellow", "red")
"""The best first."""


def colour(copies: Sequence[Copy]) -> str:
    """The status of one shard: a new primary that nobody has kept from starting is yellow."""
    primary = next(copy for copy in copies if copy.primary)
    if not primary.started:
        fresh = primary.new and primary.why is not None and primary.why.reason == "INDEX_CREATED"
        return "yellow" if fresh and not primary.why.failed else "red"  # type: ignore[union-attr]
    return "green" if all(copy.started for copy in copies) else "yellow"


def counted(copies: Sequence[Copy]) -> dict[str, int]:
    """The number of copies in each state."""
    return {
        "active_primary_shards": sum(copy.started and copy.primary for copy in copies),
        "active_shards": sum(copy.started for copy in copies),
        "relocating_shards": sum(copy.state == "RELOCATING" for copy in copies),
        "initializing_shards": sum(copy.state == "INITIALIZING" for copy in copies),
        "unassigned_shards": sum(copy.state == "UNASSIGNED" for copy in copies),
    }


def _of_index(index: Index) -> dict[str, Any]:
    copies = list(index.copies)
    return {
        "status": _worst([colour(each) for each in index.shards.values()]),
        "number_of_shards": len(index.shards),
        "number_of_replicas": index.replicas,
        **counted(copies),
    }


def _worst(colours: Sequence[str]) -> str:
    return max(colours, key=STATUS.index, default="green")


def health(state: State, names: str, level: str) -> dict[str, Any]:
    """The health of the indices of these names, or of all; one that is named and not there is red."""
    wanted = names.split(",") if names and names != "_all" else ["*"]
    there = [index for index in state.indices.values() if any(_fits(index.name, name) for name in wanted)]
    missing = [name for name in wanted if "*" not in name and name not in state.indices]
    copies = [copy for index in there for copy in index.copies] if state.recovered else []
    passing = any(block["retryable"] for block in state.blocks().values())
    colours = [colour(each) for index in there for each in index.shards.values()] if state.recovered else []
    active = sum(copy.started for copy in copies)
    body = {
        "cluster_name": state.name,
        "status": "red" if passing or missing else _worst(colours),
        "timed_out": False,
        "number_of_nodes": len(state.nodes),
        "number_of_data_nodes": len(state.data_nodes),
        **_of_product(state, copies),
        **counted(copies),
        "delayed_unassigned_shards": sum(state.is_delayed(copy) for copy in copies),
        "number_of_pending_tasks": 0,
        "number_of_in_flight_fetch": 0,
        "task_max_waiting_in_queue_millis": 0,
        "active_shards_percent_as_number": 100.0 * active / len(copies) if copies else 100.0,
    }
    if level in {"indices", "shards"}:
        body["indices"] = {index.name: _of_index(index) for index in there}
    return body


def _of_product(state: State, copies: Sequence[Copy]) -> dict[str, Any]:
    """The fields that only one product has: OpenSearch says whether there is an elected manager."""
    there = state.manager is not None
    if not any(node.version.elastic for node in state.nodes.values()):
        return {"discovered_master": there, "discovered_cluster_manager": there}
    lost = sum(copy.state == "UNASSIGNED" and copy.primary for copy in copies)
    return {"unassigned_primary_shards": lost} if state.managing_version >= (8, 18, 0) else {}


def _fits(name: str, pattern: str) -> bool:
    head, star, tail = pattern.partition("*")
    return name == pattern or (bool(star) and name.startswith(head) and name.endswith(tail))
