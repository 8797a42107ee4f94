"""Containers as the layouts of the lab write them become members."""

from __future__ import annotations

from typing import Any

from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.image import EVERYTHING, QUIET, ZONE, member_of
from tests.sandbox.opensearch.model import COMBINED


def started(manifests: list[dict[str, Any]], version: str) -> Cluster:
    cluster, number = Cluster(Clock(), "opensearch"), 0
    for each in manifests:
        if each["kind"] == "StatefulSet":
            container = each["spec"]["template"]["spec"]["containers"][0]
            environment = {variable["name"]: variable["value"] for variable in container["env"]}
            for ordinal in range(each["spec"]["replicas"]):
                number += 1
                name = f"{each['metadata']['name']}-{ordinal}"
                own = {**environment, ZONE: "abc"[ordinal % 3]}
                cluster.start(member_of(name, version, f"10.0.0.{number}", name, own))
    cluster.clock.advance(10)
    return cluster


def address(_namespace: str, pod: str) -> str:
    return pod


def test_three_combined_members_form_a_cluster_over_three_zones() -> None:
    cluster = started(three_combined("default", "2.19.6", address=address), "2.19.6")
    assert sorted(cluster.members) == [f"opensearch-members-{number}" for number in range(3)]
    assert {frozenset(node.spec.roles) for node in cluster.state.nodes.values()} == {frozenset(COMBINED)}
    assert {node.attributes["zone"] for node in cluster.state.nodes.values()} == set("abc")
    assert cluster.state.setting("cluster.routing.allocation.awareness.attributes") == "zone"
    assert len(cluster.state.committed) == 3


def test_of_seven_members_three_are_managers_three_hold_data_and_one_has_no_role() -> None:
    cluster = started(seven_members("default", "2.19.6", address=address), "2.19.6")
    nodes = cluster.state.nodes.values()
    assert len(nodes) == 7
    assert sum(node.manages for node in nodes) == sum(node.holds_data for node in nodes) == 3
    assert [node.name for node in nodes if not node.spec.roles] == ["opensearch-coordinating-0"]


def test_what_is_no_setting_is_left_out() -> None:
    environment = {"PATH": "/bin", "node.attr.rack": "r1", "path.repo": "/snapshots", "JAVA_OPTS": "-Xmx1g"}
    found = member_of("a", "3.8.0", "10.0.0.1", "claim", environment)
    assert found.settings == {**QUIET, "path.repo": "/snapshots"}
    assert found.attributes == {"rack": "r1"}
    assert found.roles == EVERYTHING
