"""Large clusters in memory, with their shards in place from the start: recoveries one by one would take hours."""

from __future__ import annotations

import itertools

from tests.lab.opensearch.layouts import Pool
from tests.sandbox.opensearch.changed import key_of
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import Copy, Member, Store
from tests.sandbox.sandbox import Sandbox

PER_INDEX = 50
"""Shards of an index; each has one replica."""
OF_NODE = 10
"""Members on one Kubernetes node, in addition to those that every sandbox has."""


def pools_of(members: int) -> tuple[Pool, ...]:
    """Three dedicated managers, and three pools of data members that are as large as one another."""
    data = members - 3
    sizes = [data // 3 + (number < data % 3) for number in range(3)]
    return (
        Pool("managers", 3, ("cluster_manager",)),
        *(Pool(f"data-{name}", size, ("data", "ingest")) for name, size in zip("abc", sizes, strict=True)),
    )


def register_nodes(sandbox: Sandbox, members: int) -> None:
    """Kubernetes nodes for so many members, over three zones."""
    for number in range(members // OF_NODE):
        sandbox.kubernetes.nodes.register(f"node-{number:03}", "abc"[number % 3])


def fill(servers: Cluster, shards: int) -> None:
    """Give a cluster without indices this number of shards with a replica each, evenly, all of them started.

    Neighbours in the order of the members are in different zones, so that the two copies of a shard are as well.
    """
    state = servers.state
    by_zone: dict[str, list[Member]] = {}
    for member in sorted(state.data_nodes, key=lambda each: each.name):
        by_zone.setdefault(member.attributes.get("zone", ""), []).append(member)
    ordered = [each for row in itertools.zip_longest(*by_zone.values()) for each in row if each is not None]
    for number in range(shards // PER_INDEX):
        servers.indices.add(
            f"index-{number:04}", {"settings": {"number_of_shards": PER_INDEX, "number_of_replicas": 1}}
        )
    places = itertools.cycle(ordered)
    for copy in list(state.copies):
        _start(servers, copy, next(places))
    servers.allocation.publish()


def _start(servers: Cluster, copy: Copy, member: Member) -> None:
    copy.state, copy.node, copy.allocation = "STARTED", member.id, servers.state.names.make()
    copy.why, copy.new = None, False
    member.disk.stores[key_of(copy)] = Store(copy.allocation)
    copy.index.in_sync[copy.shard].add(copy.allocation)
    copy.index.terms[copy.shard] = 1
