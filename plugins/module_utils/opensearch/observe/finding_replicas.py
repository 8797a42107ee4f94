"""The requests for the replicas of indices: their settings, their sizes, and the limits of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from .answers import reading
from .client import OpenSearchClient
from .index_replicas import (
    FIELDS,
    IN_CLUSTER,
    ON_MEMBER,
    IndexReplicas,
    ReplicaLimits,
    limits_in,
    replicas_in,
    sizes_in,
)

LONGEST = 2000
"""Characters of the names in one path. Servers take lines of 4,096 bytes (`http.max_initial_line_length`)."""
_SCOPES = ("persistent", "transient", "defaults")
_LIMITS = (
    "cluster.routing.allocation.awareness",
    f"cluster.routing.allocation.{ON_MEMBER}",
    f"cluster.routing.allocation.{IN_CLUSTER}",
    "cluster.max_shards_per_node",
    "indices.recovery.max_bytes_per_sec",
)


def observe_replicas(client: OpenSearchClient) -> dict[str, IndexReplicas]:
    """The replicas of all indices as their settings say, by name; also of closed, hidden and system ones."""
    path = "/_cluster/state/metadata"
    answer = client.get(path, filter_path=",".join(f"metadata.indices.*.settings.index.{each}" for each in FIELDS))
    with reading(f"GET {path}"):
        return replicas_in(answer)


def observe_limits(client: OpenSearchClient) -> ReplicaLimits:
    """The limits of the cluster for more replicas."""
    path = "/_cluster/settings"
    wanted = ",".join(f"{scope}.{name}" for scope in _SCOPES for name in _LIMITS)
    answer = client.get(path, include_defaults="true", filter_path=wanted)
    with reading(f"GET {path}"):
        return limits_in(answer)


def observe_sizes(client: OpenSearchClient, names: Iterable[str]) -> dict[tuple[str, int], int]:
    """The bytes of each shard of these indices, by its primary. One that no member has reported is missing."""
    found: dict[tuple[str, int], int] = {}
    wanted = "indices.*.shards.*.routing.primary,indices.*.shards.*.store.size_in_bytes"
    for some in portions(names):
        answer = client.get(
            f"/{listed(some)}/_stats/store", level="shards", forbid_closed_indices="false", filter_path=wanted
        )
        with reading("GET /_stats/store"):
            found |= sizes_in(answer)
    return found


def portions(names: Iterable[str]) -> Iterator[list[str]]:
    """The names in lists that fit into one path each."""
    some: list[str] = []
    for name in names:
        if some and len(listed([*some, name])) > LONGEST:
            yield some
            some = []
        some.append(name)
    if some:
        yield some


def listed(names: Iterable[str]) -> str:
    """The names as a path has them."""
    return ",".join(quote(name, safe="") for name in names)
