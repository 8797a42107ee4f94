"""The settings of OpenSearch that later versions do not have any more, or call deprecated. Data, and how to find it.

The names come from the servers themselves: the lists of settings that the classes ClusterSettings, IndexScopedSettings
and FeatureFlagSettings of each version register, which were read from the published jars of 1.3.20, 2.0.0, 2.1.0,
2.11.1, 2.19.6, 3.0.0 to 3.6.0 and 3.8.0, and the defaults that 2.19.6 and 3.8.0 answer, for what modules and thread
pools register. The names that took their place are those of the same classes. A test compares the table with both.
Settings of plugins are in `retired_plugin_settings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..observe.version import Version
from . import retired_plugin_settings as of_plugins

FOR_INDICES = "index."
"""The start of the names of settings of an index."""

_POOLS = ("search", "search_throttled", "index_searcher")
_ZEN = "discovery.zen"
_FAULTS = "cluster.fault_detection.follower_check"
_OPPOSITE = "index.store.hybrid.nio.extensions, which lists the opposite"
_FEATURE = "opensearch.experimental.feature"
_GROUPS = (
    *("duress_streak", "enforcement_interval", "mode"),
    *(f"node.{of}_{what}_threshold" for of in ("cpu", "memory") for what in ("cancellation", "rejection")),
)

NEWEST = "3.8.0"
"""The newest version whose settings were read."""

REMOVED: Mapping[str, Mapping[str, str]] = {
    # The transport client, and discovery as it was before voting configurations.
    "2.0.0": {
        **{f"client.transport.{name}": "" for name in ("ignore_cluster_name", "nodes_sampler_interval")},
        **{f"client.transport.{name}": "" for name in ("ping_timeout", "sniff")},
        f"{_ZEN}.bwc_ping_timeout": "",
        f"{_ZEN}.commit_timeout": "cluster.publish.timeout",
        f"{_ZEN}.fd.connect_on_network_disconnect": "",
        f"{_ZEN}.fd.ping_interval": f"{_FAULTS}.interval",
        f"{_ZEN}.fd.ping_retries": f"{_FAULTS}.retry_count",
        f"{_ZEN}.fd.ping_timeout": f"{_FAULTS}.timeout",
        f"{_ZEN}.fd.register_connection_listener": "",
        f"{_ZEN}.join_retry_attempts": "",
        f"{_ZEN}.join_retry_delay": "",
        f"{_ZEN}.join_timeout": "",
        f"{_ZEN}.master_election.ignore_non_master_pings": "",
        f"{_ZEN}.master_election.wait_for_joins_timeout": "",
        f"{_ZEN}.max_pings_from_another_master": "",
        f"{_ZEN}.minimum_master_nodes": "",
        f"{_ZEN}.no_master_block": "cluster.no_cluster_manager_block",
        f"{_ZEN}.ping_timeout": "",
        f"{_ZEN}.publish.max_pending_cluster_states": "",
        f"{_ZEN}.publish_diff.enable": "",
        f"{_ZEN}.publish_timeout": "cluster.publish.timeout",
        f"{_ZEN}.send_leave_request": "",
        f"{_ZEN}.unsafe_rolling_upgrades_enabled": "",
        "index.merge.policy.max_merge_at_once_explicit": "",
        "indices.breaker.accounting.limit": "",
        "indices.breaker.accounting.overhead": "",
        "search.remote.*.proxy": "cluster.remote.<alias>.proxy",
        "search.remote.*.seeds": "cluster.remote.<alias>.seeds",
        "search.remote.*.skip_unavailable": "cluster.remote.<alias>.skip_unavailable",
        "search.remote.connect": "the role remote_cluster_client",
        "search.remote.connections_per_cluster": "cluster.remote.connections_per_cluster",
        "search.remote.initial_connect_timeout": "cluster.remote.initial_connect_timeout",
        "search.remote.node.attr": "cluster.remote.node.attr",
    },
    "3.0.0": {
        "cluster.routing.allocation.search.replica.dedicated.include.*": "",
        "cluster.service.slow_master_task_logging_threshold": (
            "cluster.service.slow_cluster_manager_task_logging_threshold"
        ),
        "compatibility.override_main_response_version": "",
        "gateway.expected_master_nodes": "gateway.expected_data_nodes",
        "gateway.expected_nodes": "gateway.expected_data_nodes",
        "gateway.recover_after_master_nodes": "gateway.recover_after_data_nodes",
        "gateway.recover_after_nodes": "gateway.recover_after_data_nodes",
        "index.store.hybrid.mmap.extensions": _OPPOSITE,
        f"{_FEATURE}.pluggable.caching.enabled": "",
        f"{_FEATURE}.read.write.split.enabled": "",
        f"{_FEATURE}.tiered_remote_index.enabled": "",
        "reindex.remote.whitelist": "reindex.remote.allowlist",
        "search.query.max_query_string_length": "",
        **{
            f"thread_pool.{pool}.{name}": f"thread_pool.{pool}.queue_size"
            for pool in _POOLS
            for name in ("auto_queue_frame_size", "max_queue_size", "min_queue_size", "target_response_time")
        },
        **{f"wlm.query_group.{name}": f"wlm.workload_group.{name}" for name in _GROUPS},
    },
    "3.1.0": {f"{_FEATURE}.composite_index.star_tree.enabled": "indices.composite_index.star_tree.enabled"},
    "3.4.0": {
        f"{_FEATURE}.merged_segment_warmer.enabled": "indices.replication.merged_segment_warmer_enabled",
    },
    "3.6.0": {f"{_FEATURE}.arrow.streams.enabled": ""},
}
"""The first version without a setting, its name, and what takes its place. An asterisk stands for any characters."""

BACK: Mapping[str, str] = {"search.query.max_query_string_length": "3.3.0"}
"""The first version that has a setting again."""

DEPRECATED: Mapping[str, Mapping[str, str]] = {
    "1.3.20": {
        "cluster.join.timeout": "",
        "cluster.remote.connect": "the role remote_cluster_client",
        "cluster.routing.allocation.disk.include_relocations": "",
        "cluster.routing.allocation.shard_state.reroute.priority": "",
        f"{_ZEN}.hosts_provider": "discovery.seed_providers",
        f"{_ZEN}.ping.unicast.concurrent_connects": "discovery.seed_resolver.max_concurrent_resolvers",
        f"{_ZEN}.ping.unicast.hosts": "discovery.seed_hosts",
        f"{_ZEN}.ping.unicast.hosts.resolve_timeout": "discovery.seed_resolver.timeout",
        "gateway.auto_import_dangling_indices": "the requests to _dangling",
        "gateway.expected_master_nodes": "gateway.expected_data_nodes",
        "gateway.expected_nodes": "gateway.expected_data_nodes",
        "gateway.recover_after_master_nodes": "gateway.recover_after_data_nodes",
        "gateway.recover_after_nodes": "gateway.recover_after_data_nodes",
        "http.content_type.required": "",
        "http.tcp_no_delay": "http.tcp.no_delay",
        "index.force_memory_term_dictionary": "",
        "index.mapper.dynamic": "dynamic in the mapping",
        "index.max_adjacency_matrix_filters": "",
        "index.merge.policy.reclaim_deletes_weight": "index.merge.policy.deletes_pct_allowed",
        "network.tcp.connect_timeout": "transport.connect_timeout",
        "node.local_storage": "",
        "node.max_local_storage_nodes": "",
        "pidfile": "node.pidfile",
        "processors": "node.processors",
        "repositories.fs.compress": "compress in the settings of the repository",
        "script.cache.expire": "script.context.<context>.cache_expire",
        "script.cache.max_size": "script.context.<context>.cache_max_size",
        "script.max_compilations_rate": "script.context.<context>.max_compilations_rate",
        **{
            f"transport.profiles.*.{old}": f"transport.profiles.<profile>.tcp.{new}"
            for old, new in (
                ("receive_buffer_size", "receive_buffer_size"),
                ("reuse_address", "reuse_address"),
                ("send_buffer_size", "send_buffer_size"),
                ("tcp_keep_alive", "keep_alive"),
                ("tcp_no_delay", "no_delay"),
            )
        },
        "transport.tcp.compress": "transport.compress",
        "transport.tcp.connect_timeout": "transport.connect_timeout",
        "transport.tcp.port": "transport.port",
        "transport.tcp_no_delay": "transport.tcp.no_delay",
    },
    "2.0.0": {
        "cluster.initial_master_nodes": "cluster.initial_cluster_manager_nodes",
        "cluster.no_master_block": "cluster.no_cluster_manager_block",
        "cluster.service.slow_master_task_logging_threshold": (
            "cluster.service.slow_cluster_manager_task_logging_threshold"
        ),
    },
    "2.11.1": {
        "cluster.routing.allocation.move.primary_first": "cluster.routing.allocation.shard_movement_strategy",
        **{
            f"search_backpressure.cancellation_{name}": (
                f"search_backpressure.search_task.cancellation_{name} and search_shard_task.cancellation_{name}"
            )
            for name in ("burst", "rate", "ratio")
        },
    },
    "2.19.0": {
        "cluster.remote_store.state.index_metadata.upload_timeout": "",
        "index.search.concurrent_segment_search.enabled": "index.search.concurrent_segment_search.mode",
        "index.store.hybrid.mmap.extensions": _OPPOSITE,
        "indices.requests.cache.size": "indices.requests.cache.opensearch_onheap.size",
        "search.concurrent_segment_search.enabled": "search.concurrent_segment_search.mode",
    },
}
"""A version that calls a setting deprecated (of those that were read, the first), as `REMOVED` has it."""


@dataclass(frozen=True)
class Retired:
    """A setting that a version no longer has, or has only for the time being."""

    name: str
    """Its name, in which an asterisk may stand for any characters."""
    removed: bool
    instead: str
    """The setting, or whatever else, that takes its place; empty if nothing does."""
    of_plugin: bool = False
    """Whether it is a setting of a plugin."""


def retired_in(version: Version) -> tuple[Retired, ...]:
    """The settings that a version does not have any more, and those that it calls deprecated."""
    removed = {**_until(version, REMOVED, True), **_until(version, of_plugins.REMOVED, True, of_plugin=True)}
    back = {name for name, since in BACK.items() if Version.parse(since) <= version}
    removed = {name: retired for name, retired in removed.items() if name not in back}
    deprecated = {
        **_until(version, DEPRECATED, False),
        **_until(version, of_plugins.DEPRECATED, False, of_plugin=True),
    }
    return tuple({**deprecated, **removed}.values())


def _until(
    version: Version, table: Mapping[str, Mapping[str, str]], removed: bool, *, of_plugin: bool = False
) -> dict[str, Retired]:
    """The settings of a table that are retired in this version, by name."""
    return {
        name: Retired(name, removed, instead, of_plugin)
        for since, names in table.items()
        for name, instead in names.items()
        if Version.parse(since) <= version
    }


def matching(retired: Retired, names: Mapping[str, object]) -> Iterator[str]:
    """The names among these that mean the retired setting."""
    if "*" not in retired.name:
        yield from (name for name in (retired.name,) if name in names)
        return
    yield from (name for name in names if fnmatchcase(name, retired.name))


def names_for_indices() -> tuple[str, ...]:
    """The names of all settings of an index in the table."""
    tables = (*REMOVED.values(), *DEPRECATED.values(), *of_plugins.REMOVED.values())
    return tuple(sorted({name for names in tables for name in names if name.startswith(FOR_INDICES)}))
