# SPDX-License-Identifier: GPL-3.0-or-later
"""Three combined members in memory are upgraded from 2.19.6 to 3.8.0, as the product sees and drives it."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState

from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import MemberSpec
from tests.sandbox.web import Answer, Request, answered

FROM, TO = "2.19.6", "3.8.0"
NAMES = ("m-0", "m-1", "m-2")
ENABLE = "cluster.routing.allocation.enable"


def spec(name: str, version: str = FROM) -> MemberSpec:
    number = int(name.rpartition("-")[2])
    zone = {"zone": "abc"[number % 3]}
    settings = {"cluster.routing.allocation.awareness.attributes": "zone"}
    return MemberSpec(
        name, version, f"10.0.0.{number}", f"data-{name}", attributes=zone, settings=settings, initial_managers=NAMES
    )


def three() -> Cluster:
    cluster = Cluster(Clock(), "three")
    for name in NAMES:
        cluster.start(spec(name))
    cluster.clock.advance(10)
    return cluster


def ask(cluster: Cluster, method: str, target: str, body: Any = None, *, member: str = "") -> Answer:
    path, _mark, query = target.partition("?")
    pairs = dict(each.partition("=")[::2] for each in query.split("&") if each)
    return answered(cluster.handler(member), Request(method, path, pairs, body), cluster.clock)


def observed(cluster: Cluster) -> ClusterState:
    nodes = ask(cluster, "GET", "/_nodes/_all/_none").body["nodes"]
    metrics = "metadata,routing_table,nodes,blocks,version,customs,cluster_manager_node"
    return parse_state(nodes, ask(cluster, "GET", f"/_cluster/state/{metrics}").body)


def test_three_members_are_upgraded_one_by_one() -> None:
    cluster = three()
    made = ask(cluster, "PUT", "/logs", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
    assert (made.status, made.body["shards_acknowledged"]) == (200, True)
    cluster.clock.advance(5)
    before = observed(cluster)
    assert ask(cluster, "GET", "/_cluster/health").body["status"] == "green"
    for name in NAMES:
        ask(cluster, "PUT", "/_cluster/settings", {"persistent": {ENABLE: "primaries"}})
        cluster.stop(name)
        away = ask(cluster, "GET", "/_cluster/health?wait_for_nodes=2&timeout=9s").body
        assert (away["status"], away["number_of_nodes"]) == ("yellow", 2)
        assert name not in {member.name for member in observed(cluster).members.values()}
        cluster.start(spec(name, TO))
        cluster.clock.advance(6)
        assert cluster.ready(name)
        ask(cluster, "PUT", "/_cluster/settings", {"persistent": {ENABLE: None}})
        assert ask(cluster, "GET", "/_cluster/health?wait_for_status=green&timeout=30s").status == 200
    after = observed(cluster)
    assert {str(member.version) for member in after.members.values()} == {TO}
    assert after.members.keys() == before.members.keys()
    assert {m.ephemeral_id for m in after.members.values()}.isdisjoint(m.ephemeral_id for m in before.members.values())
    assert after.uuid == before.uuid
    assert after.voting.committed == frozenset(after.members)
