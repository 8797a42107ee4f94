"""A member that lags behind its elected manager: it answers from the last cluster state that it has applied.

A publication is committed as soon as a majority of the voters has accepted it. A member that is slow to apply it stays
in the cluster for `cluster.publish.timeout` (30 s) and then `cluster.follower_lag.timeout` (90 s), after which the
elected manager removes it (server source, LagDetector). All that time it answers from `ClusterService.state()`, which
is what it has applied.

Requests with `local=false`, which is the default, go to the elected manager of that state (server source,
TransportClusterManagerNodeAction). From 2.13 on OpenSearch answers some of them on the member itself, once the elected
manager has said that its term and version are the same, so those are never older. `_nodes`, `_tasks` and `_recovery`
ask the members of the state of whoever is asked (server source, TransportNodesAction.resolveRequest). Elasticsearch
reads its templates and settings on any member from 9.0 on, and the cluster state from 9.2 on (server source,
TransportLocalClusterStateAction; elastic/elasticsearch#119831, #129872).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from tests.sandbox.opensearch.model import Index
from tests.sandbox.opensearch.state import State

LONGEST = 90.0
"""The seconds for which a member lags at most here, so that it is not removed."""


def applied(state: State) -> State:
    """The cluster state as a member has applied it now. Processes are the same: each answers for itself."""
    found = state.duplicate()
    found.nodes = dict(state.nodes)
    found.exclusions = [*state.exclusions]
    found.indices = {name: _index(index) for name, index in state.indices.items()}
    for name in ("settings", "component_templates", "index_templates", "repositories", "snapshots", "managed"):
        setattr(found, name, deepcopy(getattr(state, name)))
    return found


def _index(index: Index) -> Index:
    in_sync = {shard: {*ids} for shard, ids in index.in_sync.items()}
    found = replace(index, settings=dict(index.settings), in_sync=in_sync, terms=dict(index.terms), shards={}, told={})
    found.shards = {shard: [replace(copy, index=found) for copy in copies] for shard, copies in index.shards.items()}
    return found
