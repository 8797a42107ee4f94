"""The settings that the servers know, with their defaults: those that an upgrade or a test touches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.sandbox.opensearch.values import Check, a_flag, a_number, a_size, a_time, anything, one_of
from tests.sandbox.opensearch.versions import Version

ROUTING = "cluster.routing.allocation"
ENABLE = f"{ROUTING}.enable"
REBALANCE = "cluster.routing.rebalance.enable"
RECOVERIES = f"{ROUTING}.node_concurrent_recoveries"
INCOMING = f"{ROUTING}.node_concurrent_incoming_recoveries"
OUTGOING = f"{ROUTING}.node_concurrent_outgoing_recoveries"
PRIMARIES = f"{ROUTING}.node_initial_primaries_recoveries"
DELAY = f"{ROUTING}.unassigned.node_left.delayed_timeout"
AWARENESS = f"{ROUTING}.awareness.attributes"
FORCED = f"{ROUTING}.awareness.force."
DISK = f"{ROUTING}.disk"
READ_ONLY = "cluster.blocks.read_only"
NO_DELETE = "cluster.blocks.read_only_allow_delete"
SHRINK = "cluster.auto_shrink_voting_configuration"
MOST_EXCLUSIONS = "cluster.max_voting_config_exclusions"
FORGOTTEN = "compatibility.override_main_response_version"

_ALLOCATING = one_of("allocation.enable", "all", "primaries", "new_primaries", "none")


class Known(NamedTuple):
    """A setting: its default, what its values may be, and the versions that know it."""

    default: Any
    check: Check = anything
    dynamic: bool = True
    since: Version = Version(0, 0, 0)
    until: Version = Version(99, 0, 0)
    elastic: bool = True
    """Whether Elasticsearch has it too."""


SETTINGS: Mapping[str, Known] = {
    ENABLE: Known("all", _ALLOCATING),
    REBALANCE: Known("all", one_of("rebalance.enable", "all", "primaries", "replicas", "none")),
    RECOVERIES: Known("2", a_number(0)),
    INCOMING: Known("2", a_number(0)),
    OUTGOING: Known("2", a_number(0)),
    PRIMARIES: Known("4", a_number(0)),
    f"{ROUTING}.node_initial_replicas_recoveries": Known("4", a_number(0)),
    f"{ROUTING}.cluster_concurrent_rebalance": Known("2", a_number(-1)),
    f"{ROUTING}.cluster_concurrent_recoveries": Known("-1", a_number(-1)),
    f"{ROUTING}.allow_rebalance": Known(
        "indices_all_active",
        one_of(
            "cluster.routing.allocation.allow_rebalance", "always", "indices_primaries_active", "indices_all_active"
        ),
    ),
    f"{ROUTING}.same_shard.host": Known("false", a_flag),
    f"{ROUTING}.total_shards_per_node": Known("-1", a_number(-1)),
    f"{ROUTING}.type": Known("balanced", dynamic=False),
    f"{ROUTING}.balance.index": Known("0.55"),
    f"{ROUTING}.balance.shard": Known("0.45"),
    f"{ROUTING}.balance.threshold": Known("1.0"),
    AWARENESS: Known([]),
    f"{ROUTING}.awareness.balance": Known("false", a_flag),
    DELAY: Known("-1", a_time, since=Version(3, 8, 0), elastic=False),
    f"{DISK}.threshold_enabled": Known("true", a_flag),
    f"{DISK}.watermark.low": Known("85%"),
    f"{DISK}.watermark.high": Known("90%"),
    f"{DISK}.watermark.flood_stage": Known("95%"),
    f"{DISK}.watermark.enable_for_single_data_node": Known("false", a_flag, dynamic=False),
    f"{DISK}.include_relocations": Known("true", a_flag),
    f"{DISK}.reroute_interval": Known("60s", a_time),
    "indices.recovery.max_bytes_per_sec": Known("41943040b", a_size),
    "indices.recovery.max_concurrent_file_chunks": Known("2", a_number(1)),
    "indices.recovery.max_concurrent_operations": Known("1", a_number(1)),
    READ_ONLY: Known("false", a_flag),
    NO_DELETE: Known("false", a_flag),
    "cluster.blocks.create_index": Known("false", a_flag),
    "action.auto_create_index": Known("true"),
    "action.destructive_requires_name": Known("false", a_flag),
    "cluster.info.update.interval": Known("30s", a_time),
    "cluster.default_number_of_replicas": Known("1", a_number(0)),
    "cluster.no_cluster_manager_block": Known("metadata_write", elastic=False),
    "cluster.max_shards_per_node": Known("1000", a_number(1)),
    SHRINK: Known("true", a_flag),
    MOST_EXCLUSIONS: Known("10", a_number(1)),
    "cluster.remote_store.compatibility_mode": Known("STRICT", elastic=False),
    "cluster.migration.direction": Known("NONE", elastic=False),
    "cluster.initial_cluster_manager_nodes": Known([], dynamic=False, elastic=False),
    "cluster.name": Known("opensearch", dynamic=False),
    "search.max_buckets": Known("65535", a_number(0)),
    FORGOTTEN: Known("false", a_flag, until=Version(3, 0, 0), elastic=False),
}
FAMILIES = (
    "cluster.metadata.",
    "logger.",
    FORCED,
    *(f"{ROUTING}.{kind}." for kind in ("exclude", "include", "require")),
)
"""Beginnings of names that may be followed by anything."""
DYNAMIC_OF_INDEX: Mapping[str, Check] = {
    "number_of_replicas": a_number(0),
    "auto_expand_replicas": anything,
    "unassigned.node_left.delayed_timeout": a_time,
    "routing.allocation.enable": _ALLOCATING,
    "routing.allocation.total_shards_per_node": a_number(-1),
    "routing.rebalance.enable": anything,
    "write.wait_for_active_shards": anything,
    "allocation.max_retries": a_number(0),
    "refresh_interval": anything,
    "priority": a_number(0),
    "hidden": a_flag,
    "blocks.read_only": a_flag,
    "blocks.read_only_allow_delete": a_flag,
    "blocks.write": a_flag,
    "translog.durability": anything,
    "max_result_window": a_number(1),
}
FIXED_OF_INDEX: Mapping[str, Check] = {
    "number_of_shards": a_number(1),
    "replication.type": anything,
    "number_of_routing_shards": a_number(1),
    "codec": anything,
    "uuid": anything,
    "creation_date": anything,
    "provided_name": anything,
    "version.created": anything,
}
FAMILIES_OF_INDEX = tuple(f"routing.allocation.{kind}." for kind in ("exclude", "include", "require"))


def known(name: str, version: Version) -> Known | None:
    """The setting, as a member of that version knows it."""
    if name.startswith(FAMILIES):
        return Known(None)
    found = SETTINGS.get(name)
    if found is not None and version.elastic and not found.elastic:
        return None
    return found if found is not None and found.since <= version < found.until else None
