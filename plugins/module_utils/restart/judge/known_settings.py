"""The settings that the servers themselves know, and which of them they take while they run. Pure.

They are read from `ClusterSettings.BUILT_IN_CLUSTER_SETTINGS`, and from the flagged ones next to it, in the published
jars of OpenSearch 1.3.20, 2.11.1, 2.19.6 and 3.8.0, and of Elasticsearch 7.17.29 and 8.19.0: dynamic is a setting with
`Property.Dynamic` in each of these versions that knows it. Those of plugins and modules are not among them.
Each line is a prefix and the rest of each name; `*` stands for any text.
"""

from __future__ import annotations


def _names(written: str) -> frozenset[str]:
    """The names that these lines stand for."""
    found: set[str] = set()
    for line in written.split("\n"):
        prefix, colon, rests = line.partition(":")
        found.update(f"{prefix}.{rest}" if prefix else rest for rest in rests.split() if colon)
    return frozenset(found)


DYNAMIC = _names("""
action: auto_create_index destructive_requires_name search.shard_count.limit
admission_control: cluster.admin.cpu_usage.limit cluster_admin.native_memory_usage.limit indexing.cpu_usage.limit
admission_control: indexing.io_usage.limit indexing.native_memory_pool_usage.limit indexing.native_memory_usage.limit
admission_control: search.cpu_usage.limit search.io_usage.limit search.native_memory_usage.limit
admission_control: transport.cpu_usage.mode_override transport.io_usage.mode_override transport.mode
admission_control: transport.native_memory_usage.mode_override
breaker: *.limit *.overhead
cat: indices.response.limit.number_of_indices segments.response.limit.number_of_indices
cat: shards.response.limit.number_of_shards
cluster: allocator.gateway.batch_size application_templates.enabled auto_force_merge.enabled
cluster: auto_sharding.max_write_threads auto_sharding.min_write_threads auto_shrink_voting_configuration
cluster: blocks.create_index blocks.create_index.auto_release blocks.read_only blocks.read_only_allow_delete
cluster: default.index.max_merge_at_once default.index.refresh_interval default_number_of_replicas
cluster: filecache.activeusage.indexing.threshold filecache.activeusage.search.threshold
cluster: filecache.activeusage.threshold.enabled filecache.remote_data_ratio ignore_dot_indexes
cluster: index.merge.scheduler.auto_throttle index.merge.scheduler.max_merge_count
cluster: index.merge.scheduler.max_thread_count index.refresh.fixed_interval_scheduling.enabled
cluster: index.refresh.shard_level.enabled indices.close.enable info.update.interval info.update.timeout
cluster: ingest.max_number_processors ingest.system_pipeline_enabled lifecycle.default.rollover
cluster: max_remote_capable_shards_per_node max_shards_per_node max_shards_per_node.frozen
cluster: max_voting_config_exclusions merge.scheduler.max_force_merge_mb_per_sec metadata.* migration.direction
cluster: minimum.index.refresh_interval no_cluster_manager_block no_master_block persistent_tasks.allocation.enable
cluster: persistent_tasks.allocation.recheck_interval pluggable.dataformat pluggable.dataformat.enabled
cluster: remote_state.download.serve_read_api.enabled restrict.pluggable.dataformat
cluster: service.slow_cluster_manager_task_logging_threshold service.slow_master_task_logging_threshold
cluster: service.slow_task_logging_threshold service.slow_task_thread_dump_timeout
cluster: snapshot.info.max_concurrent_fetches task.consumers.top_n.frequency task.consumers.top_n.size thread_pool.*
cluster: tiering.filecache_active_threshold_percent tiering.jvm_usage_threshold_percent
cluster: tiering.max_concurrent_hot_to_warm_requests tiering.max_concurrent_warm_to_hot_requests
cluster: tiering.prepare_timeout
cluster.remote.*: cluster_name mode node_connections proxy proxy_address proxy_socket_connections seeds server_name
cluster.remote.*: skip_unavailable transport.compress transport.compression_scheme transport.ping_schedule
cluster.remote_store: compatibility_mode index.path.hash_algorithm index.path.type
cluster.remote_store: index.segment_metadata.retention.max_count index.translog.translog_metadata
cluster.remote_store: index_metadata.path_hash_algo index_metadata.path_type publication.enabled
cluster.remote_store: routing_table.path_hash_algo routing_table.path_type segment.transfer_timeout
cluster.remote_store: server_side_encryption translog.buffer_interval translog.max_readers translog.transfer_timeout
cluster.remote_store: uploaded_segments_cleanup_threshold
cluster.remote_store.state: checksum_validation.mode cleanup.batch_size cleanup.max_batches cleanup_interval
cluster.remote_store.state: global_metadata.upload_timeout index_metadata.upload_timeout
cluster.remote_store.state: metadata_manifest.upload_timeout read_timeout
cluster.routing: ignore_weighted_routing rebalance.enable search_replica.strict use_adaptive_replica_selection
cluster.routing: weighted.default_weight weighted.fail_open weighted.strict
cluster.routing.allocation: allow_rebalance awareness.attributes awareness.balance awareness.force.*
cluster.routing.allocation: balanced_shards_allocator.allocator_timeout
cluster.routing.allocation: balanced_shards_allocator.schedule_reroute.priority cluster_concurrent_rebalance
cluster.routing.allocation: cluster_concurrent_recoveries
cluster.routing.allocation: desired_balance.max_balance_computation_time_during_index_creation
cluster.routing.allocation: desired_balance.progress_log_interval desired_balance.undesired_allocations.log_interval
cluster.routing.allocation: desired_balance.undesired_allocations.threshold enable enforce_default_tier_preference
cluster.routing.allocation: exclude.* include.* load_awareness.allow_unassigned_primaries load_awareness.flat_skew
cluster.routing.allocation: load_awareness.provisioned_capacity load_awareness.skew_factor move.primary_first
cluster.routing.allocation: node_concurrent_incoming_recoveries node_concurrent_outgoing_recoveries
cluster.routing.allocation: node_concurrent_recoveries node_initial_primaries_recoveries
cluster.routing.allocation: node_initial_replicas_recoveries primary_constraint.threshold rebalance.primary.buffer
cluster.routing.allocation: rebalance.primary.enable remote_primary.ignore_throttle require.* same_shard.host
cluster.routing.allocation: search.replica.dedicated.include.* shard_movement_strategy shard_state.reroute.priority
cluster.routing.allocation: shards_batch_gateway_allocator.primary_allocator_timeout
cluster.routing.allocation: shards_batch_gateway_allocator.replica_allocator_timeout
cluster.routing.allocation: shards_batch_gateway_allocator.schedule_reroute.priority stats.cache.ttl
cluster.routing.allocation: total_primary_shards_per_node total_remote_capable_shards_limit
cluster.routing.allocation: total_remote_capable_shards_per_node total_shards_limit total_shards_per_node
cluster.routing.allocation: unassigned.node_left.delayed_timeout
cluster.routing.allocation.balance: disk_usage index prefer_primary shard threshold write_load
cluster.routing.allocation.disk: include_relocations reroute_interval threshold_enabled warm_threshold_enabled
cluster.routing.allocation.disk.watermark: flood_stage flood_stage.frozen flood_stage.frozen.max_headroom
cluster.routing.allocation.disk.watermark: flood_stage.max_headroom high high.max_headroom low low.max_headroom
cluster.search: enabled_system_generated_factories ignore_awareness_attributes request.slowlog.level
cluster.search: request.slowlog.threshold.debug request.slowlog.threshold.info request.slowlog.threshold.trace
cluster.search: request.slowlog.threshold.warn
cluster_manager: throttling.retry.base.delay throttling.retry.max.delay throttling.thresholds.*
compatibility: override_main_response_version
data_streams: auto_sharding.decrease_shards.cooldown auto_sharding.excludes auto_sharding.increase_shards.cooldown
data_streams: failure_store.enabled lifecycle.retention.default lifecycle.retention.failures_default
data_streams: lifecycle.retention.max
discovery: zen.commit_timeout zen.minimum_master_nodes zen.no_master_block zen.publish_diff.enable zen.publish_timeout
gateway: slow_write_logging_threshold
health: node.enabled periodic_logger.enabled periodic_logger.output_mode periodic_logger.poll_interval
health: reporting.local.monitor.interval shards_availability.replica_unassigned_buffer_time
health_node: transport_action_timeout
http: client_stats.enabled request_id.max_length tracer.exclude tracer.include
indices: composite_index.star_tree.enabled composite_index.translog.max_flush_threshold_size id_field_data.enabled
indices: mapping.dynamic_timeout mapping.max_in_flight_updates merge.disk.check_interval merge.disk.watermark.high
indices: merge.disk.watermark.high.max_headroom publish_check_point.retry_timeout queries.cache.costly_min_frequency
indices: queries.cache.min_frequency queries.cache.skip_cache_factor requests.cache.cleanup.staleness_threshold
indices: requests.cache.maximum_cacheable_size translog_concurrent_recovery.batch_size
indices: translog_concurrent_recovery.enable
indices.breaker: accounting.limit accounting.overhead fielddata.limit fielddata.overhead request.limit
indices.breaker: request.overhead total.limit
indices.recovery: chunk_size internal_action_long_timeout internal_action_retry_timeout internal_action_timeout
indices.recovery: internal_remote_upload_timeout max_bytes_per_sec max_concurrent_file_chunks
indices.recovery: max_concurrent_operations max_concurrent_remote_store_streams max_concurrent_snapshot_file_downloads
indices.recovery: max_concurrent_snapshot_file_downloads_per_node recovery_activity_timeout retry_delay_network
indices.recovery: retry_delay_state_sync use_snapshots
indices.replication: initial_retry_backoff_bound max_bytes_per_sec merges.warmer.enabled
indices.replication: merges.warmer.max_bytes_per_sec merges.warmer.min_segment_size_threshold merges.warmer.timeout
indices.replication: retry_timeout
ingest_node: transport_action_timeout
logger: *
monitor: fs.health.enabled fs.health.healthy_timeout_threshold fs.health.slow_path_logging_threshold
network: breaker.inflight_requests.limit breaker.inflight_requests.overhead
node: bandwidth.recovery.factor.read bandwidth.recovery.factor.write native_memory.buffer_percent native_memory.limit
node: resource.tracker.global_cpu_usage.window_duration resource.tracker.global_io_usage.window_duration
node: resource.tracker.global_jvmmp.window_duration resource.tracker.global_native_memory_usage.window_duration
node.auto_force_merge: cpu.threshold disk.threshold jvm.threshold merge_delay scheduler.interval segment.count
node.auto_force_merge: threads.concurrency_multiplier translog.age
point_in_time: max_keep_alive
remote_store: compatibility_mode moving_average_window_size segment.pressure.bytes_lag.variance_factor
remote_store: segment.pressure.consecutive_failures.limit segment.pressure.enabled
remote_store: segment.pressure.time_lag.variance_factor
rest: incremental_bulk
script: context.*.cache_expire context.*.cache_max_size context.*.max_compilations_rate max_compilations_rate
script: max_size_in_bytes
search: aggregation.bucket_selection_strategy_factor aggregation_rewrite_filters.segment_threshold.docs_per_bucket
search: aggs.allowed_inline_metric_scripts aggs.allowed_stored_metric_scripts aggs.only_allowed_metric_scripts
search: aggs.rewrite_to_filter_by_filter aggs.tdigest_execution_hint allow_expensive_queries batched_query_phase
search: cancel_after_time_interval ccs.collect_telemetry concurrent_segment_search.enabled
search: concurrent_segment_search.mode concurrent_segment_search.partition_min_segment_size
search: concurrent_segment_search.partition_strategy default_allow_partial_results default_keep_alive
search: default_search_timeout derived_field.enabled dynamic_pruning.cardinality_aggregation.max_allowed_cardinality
search: index_pruning.enabled index_pruning.fields index_pruning.min_shards keyword_index_or_doc_values_enabled
search: low_level_cancellation max_aggregation_rewrite_filters max_async_search_response_size max_buckets
search: max_keep_alive max_open_pit_context max_open_scroll_context phase_took_enabled query.max_query_string_length
search: query.max_query_string_length_monitor_only query_phase_parallel_collection_enabled query_rewriting.enabled
search: query_rewriting.terms_threshold remote.*.proxy remote.*.seeds remote.*.skip_unavailable request_stats_enabled
search: worker_threads_enabled
search.aggregations: cardinality.hybrid_collector.enabled cardinality.hybrid_collector.memory_threshold
search.aggregations: streaming.max_estimated_bucket_count streaming.min_cardinality_ratio
search.aggregations: streaming.min_estimated_bucket_count terms.max_precompute_cardinality
search_backpressure: cancellation_burst cancellation_rate cancellation_ratio mode node_duress.cpu_threshold
search_backpressure: node_duress.heap_threshold node_duress.native_memory_limit node_duress.native_memory_threshold
search_backpressure: node_duress.num_successive_breaches
search_backpressure.search_shard_task: cancellation_burst cancellation_rate cancellation_ratio
search_backpressure.search_shard_task: cpu_time_millis_threshold elapsed_time_millis_threshold
search_backpressure.search_shard_task: heap_moving_average_window_size heap_percent_threshold heap_variance
search_backpressure.search_shard_task: native_memory_percent_threshold total_heap_percent_threshold
search_backpressure.search_task: cancellation_burst cancellation_rate cancellation_ratio cpu_time_millis_threshold
search_backpressure.search_task: elapsed_time_millis_threshold heap_moving_average_window_size heap_percent_threshold
search_backpressure.search_task: heap_variance native_memory_percent_threshold total_heap_percent_threshold
segrep: pressure.checkpoint.limit pressure.enabled pressure.replica.stale.limit pressure.time.limit
segrep: replication.time.limit
shard_indexing_pressure: cache_store.max_size enabled enforced operating_factor.lower operating_factor.optimal
shard_indexing_pressure: operating_factor.upper primary_parameter.node.soft_limit primary_parameter.shard.min_limit
shard_indexing_pressure: secondary_parameter.successful_request.elapsed_timeout
shard_indexing_pressure: secondary_parameter.successful_request.max_outstanding_requests
shard_indexing_pressure: secondary_parameter.throughput.degradation_factor
shard_indexing_pressure: secondary_parameter.throughput.request_size_window
snapshot: delete.cleanup_stale_blobs max_concurrent_operations max_shards_allowed_in_status_api
snapshot: refresh_repo_uuid_on_restore repository.io_timeout repository.max_outstanding_ops
stream: search.enabled
task_cancellation: duration_millis enabled
task_resource_consumers: enabled
task_resource_tracking: binary_header.enabled enabled
telemetry: tracer.enabled tracer.sampler.probability
tiering: prepare.replica_sync_timeout service.prefetch.read_ahead.block_count service.prefetch.stored_fields.enabled
transport: slow_operation_logging_threshold stream.request_timeout tracer.exclude tracer.include
wlm.query_group: duress_streak enforcement_interval mode node.cpu_cancellation_threshold node.cpu_rejection_threshold
wlm.query_group: node.memory_cancellation_threshold node.memory_rejection_threshold
wlm.workload_group: duress_streak enforcement_interval mode node.cpu_cancellation_threshold
wlm.workload_group: node.cpu_rejection_threshold node.memory_cancellation_threshold node.memory_rejection_threshold
""")
"""Settings that every known version takes while it runs."""

STATIC = _names("""
: pidfile processors
action: search.pre_filter_shard_size.default
aux: transport.types
bootstrap: ctrlhandler memory_lock serial_filter system_call_filter
breaker: *.type
cache.recycler.page: limit.heap type weight.bytes weight.ints weight.longs weight.objects
client: transport.ignore_cluster_name transport.nodes_sampler_interval transport.ping_timeout transport.sniff type
cluster: allocator.existing_shards_allocator.batch_enabled discovery_configuration_check.interval
cluster: election.back_off_time election.duration election.initial_timeout election.max_timeout election.strategy
cluster: follower_lag.timeout index.restrict.replication.type indices.replication.strategy indices.tombstones.size
cluster: initial_cluster_manager_nodes initial_master_nodes join.timeout join_validation.cache_timeout name
cluster: nodes.reconnect_interval pluggable.dataformat.restrict.allowlist publish.info_timeout publish.timeout
cluster: remote.*.credentials remote.connect remote.connections_per_cluster remote.initial_connect_timeout
cluster: remote.node.attr routing.allocation.disk.watermark.enable_for_single_data_node routing.allocation.type
cluster: service.master_service_starvation_logging_threshold snapshot.shard.path.prefix
cluster.fault_detection: follower_check.interval follower_check.retry_count follower_check.timeout
cluster.fault_detection: leader_check.interval leader_check.retry_count leader_check.timeout
cluster.remote_store: index.restrict.async-durability pinned_timestamps.enabled pinned_timestamps.lookback_interval
cluster.remote_store: pinned_timestamps.scheduler_interval routing_table.path.prefix segments.path.prefix
cluster.remote_store: state.enabled state.path.prefix translog.path.prefix
cluster_state: document_page_size
discovery: cluster_formation_warning_timeout find_peers_interval find_peers_interval_during_decommission
discovery: initial_state_timeout probe.connect_timeout probe.handshake_timeout request_peers_timeout seed_hosts
discovery: seed_providers seed_resolver.max_concurrent_resolvers seed_resolver.timeout type
discovery: unconfigured_bootstrap_timeout
discovery.zen: bwc_ping_timeout fd.connect_on_network_disconnect fd.ping_interval fd.ping_retries fd.ping_timeout
discovery.zen: fd.register_connection_listener hosts_provider join_retry_attempts join_retry_delay join_timeout
discovery.zen: master_election.ignore_non_master_pings master_election.wait_for_joins_timeout
discovery.zen: max_pings_from_another_master ping.unicast.concurrent_connects ping.unicast.hosts
discovery.zen: ping.unicast.hosts.resolve_timeout ping_timeout publish.max_pending_cluster_states send_leave_request
discovery.zen: unsafe_rolling_upgrades_enabled
gateway: auto_import_dangling_indices expected_data_nodes expected_master_nodes expected_nodes
gateway: recover_after_data_nodes recover_after_master_nodes recover_after_nodes recover_after_time
gateway: write_dangling_indices_info
health: master_history.has_master_lookup_timeframe master_history.identity_changes_threshold
health: master_history.no_master_transitions_threshold
http: bind_host client_stats.closed_channels.max_age client_stats.closed_channels.max_count compression
http: compression_level connect_timeout content_type.required detailed_errors.enabled host max_chunk_size
http: max_content_length max_header_size max_initial_line_length max_warning_header_count max_warning_header_size
http: pipelining.max_events port protocol.http3.enabled publish_host publish_port read_timeout reset_cookies
http: shutdown_grace_period shutdown_poll_period tcp_no_delay type type.default
http.cors: allow-credentials allow-headers allow-methods allow-origin enabled max-age
http.tcp: keep_alive keep_count keep_idle keep_interval no_delay receive_buffer_size reuse_address send_buffer_size
indexing_pressure.memory: coordinating.limit limit primary.limit replica.limit split_bulk.watermark.high
indexing_pressure.memory: split_bulk.watermark.high.bulk_size split_bulk.watermark.low
indexing_pressure.memory: split_bulk.watermark.low.bulk_size split_bulk_threshold
indices: analysis.hunspell.dictionary.* analysis.hunspell.dictionary.ignore_case analysis.hunspell.dictionary.lazy
indices: breaker.fielddata.type breaker.request.type breaker.total.use_real_memory breaker.type cache.cleanup_interval
indices: fielddata.cache.expire fielddata.cache.size merge.policy.max_merged_segment
indices: merge.policy.max_time_based_merged_segment merge.scheduler.use_thread_pool queries.cache.all_segments
indices: queries.cache.count queries.cache.size query.bool.max_clause_count query.bool.max_nested_depth
indices: query.query_string.allowLeadingWildcard query.query_string.analyze_wildcard store.delete.shard.timeout
indices: store.max_concurrent_closing_shards store.shard_lock_retry.interval store.shard_lock_retry.timeout
indices: time_series_index.default_index_merge_policy write_ack_delay_interval write_ack_delay_randomness_bound
indices.memory: index_buffer_size interval max_index_buffer_size max_native_index_buffer_size min_index_buffer_size
indices.memory: min_native_index_buffer_size native_index_buffer_size shard_inactive_time
indices.requests.cache: cleanup.interval expire opensearch_onheap.expire opensearch_onheap.size size store.name
ingest: grok.watchdog.interval grok.watchdog.max_execution_time
keystore: seed
logger: level
master_history: max_age
monitor: fs.health.refresh_interval fs.refresh_interval native_memory.refresh_interval os.refresh_interval
monitor: process.refresh_interval
monitor.jvm: refresh_interval
monitor.jvm.gc: collector.* enabled overhead.debug overhead.info overhead.warn refresh_interval
network: bind_host host publish_host server thread.watchdog.interval thread.watchdog.quiet_time
network.tcp: connect_timeout keep_alive keep_count keep_idle keep_interval no_delay receive_buffer_size reuse_address
network.tcp: send_buffer_size
node: _internal.default_refresh_interval attr.* enable_lucene_segment_infos_trace external_id id.seed local_storage
node: max_local_storage_nodes name pidfile portsfile processors roles search.cache.size store.allow_mmap
node.bandwidth.recovery: disk.read disk.write network operator.factor operator.factor.max_overcommit
node.bandwidth.recovery: operator.factor.read operator.factor.write
path: data home logs repo shared_data
plugin: mandatory
point_in_time: init.keep_alive
readiness: port
remote_cluster: bind_host host max_request_header_size port publish_host publish_port
remote_cluster.tcp: keep_alive keep_count keep_idle keep_interval no_delay reuse_address send_buffer_size
remote_cluster_server: enabled
repositories: fs.chunk_size fs.compress fs.location
request: headers.*
resource: reload.enabled reload.interval.high reload.interval.low reload.interval.medium
rest: action.multi.allow_explicit_index
script: allowed_contexts allowed_types cache.expire cache.max_size disable_max_compilations_rate
search: check_ccs_compatibility concurrent.max_slice_count highlight.term_vector_multi_value keep_alive_interval
search: remote.connect remote.connections_per_cluster remote.initial_connect_timeout remote.node.attr
security: manager.filter_bad_defaults
snapshot: repository_data.cache.threshold
telemetry: feature.metrics.enabled feature.tracer.enabled otel.metrics.publish.interval
thread_pool: estimated_time_interval estimated_time_interval.warn_threshold scheduler.warn_threshold write.ewma_alpha
transport: bind_host compress compression_scheme connect_timeout connections_per_node.bulk connections_per_node.ping
transport: connections_per_node.recovery connections_per_node.reg connections_per_node.state enable_stack_protection
transport: features.* host ping_schedule port publish_host publish_port rst_on_close ssl.dual_mode.enabled
transport: ssl.enforce_hostname_verification ssl.resolve_hostname stream.type.default tcp_no_delay type type.default
transport.profiles.*: bind_host port publish_host publish_port receive_buffer_size reuse_address send_buffer_size
transport.profiles.*: tcp_keep_alive tcp_no_delay
transport.profiles.*.tcp: keep_alive keep_count keep_idle keep_interval no_delay receive_buffer_size reuse_address
transport.profiles.*.tcp: send_buffer_size
transport.tcp: compress connect_timeout keep_alive keep_count keep_idle keep_interval no_delay port
transport.tcp: receive_buffer_size reuse_address send_buffer_size
""")
"""Settings that some version reads only when it starts."""
