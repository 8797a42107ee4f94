"""Elasticsearch by the same playbook: a new major version, and what its own rules refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.lab.opensearch.layouts import ELASTICSEARCH, seven_members, three_combined
from tests.scenarios.branches.conftest import REAL
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAN, play, upgrade

pytestmark = pytest.mark.real_servers

OLD, FROM, TO = "7.17.29", "8.18.0", "8.19.4"
RESTART = "stateful.upgrade.restart"


@pytest.fixture
def seven(platform: Platform) -> Iterator[Cluster]:
    cluster = Cluster.start(platform, "elastic-seven", seven_members, FROM, product=ELASTICSEARCH)
    yield cluster
    cluster.remove()


@pytest.mark.skipif(REAL, reason="7.17 is no server of the lab")
def test_a_new_major_version_of_elasticsearch(platform: Platform, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(platform, "elastic-major", three_combined, OLD, product=ELASTICSEARCH)
    try:
        cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
        cluster.until_green()
        before = cluster.fingerprint()
        played = upgrade(cluster.variables(TO), ansible_environment)
        print(played.output)
        assert played.code == 0, played.message
        assert f"(Elasticsearch)   {OLD} → {TO}" in played.output
        cluster.is_upgraded(TO)
        assert cluster.fingerprint().settings == before.settings
        its_processes_restart_in_their_pods(cluster, platform, ansible_environment)
    finally:
        cluster.remove()


def its_processes_restart_in_their_pods(cluster: Cluster, platform: Platform, environment: Mapping[str, str]) -> None:
    """The same cluster by the playbook of restarts: other processes in the same pods, of the same version."""
    platform.apply(bound(RESTART_ROLE, cluster.namespace))
    before, processes = cluster.fingerprint(), ephemeral_ids(cluster)
    given = {name: value for name, value in cluster.variables("").items() if name != "target_version"}
    shown = play(RESTART, given, environment)
    digest = re.search(r"Plan (p\w{11}) .*\(Elasticsearch\)", shown.output)
    assert digest, shown.output
    played = play(RESTART, {**given, "upgrade_confirm": digest[1]}, environment)
    print(played.output)
    assert played.code == 0, played.message
    assert "3 restarted" in played.output
    assert cluster.fingerprint() == before
    assert not processes & ephemeral_ids(cluster)


def ephemeral_ids(cluster: Cluster) -> set[str]:
    """The processes of the members."""
    nodes = json.loads(cluster.ask("/_cluster/state/nodes"))["nodes"]
    return {node["ephemeral_id"] for node in nodes.values()}


def test_the_rules_of_elasticsearch_refuse_a_plan(seven: Cluster, ansible_environment: Mapping[str, str]) -> None:
    before = seven.fingerprint()
    rest = {"upgrade_pools": ["opensearch-data", "opensearch-managers"]}
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("9.1.0", {}, f"{FROM} → 8.19 → 9.1.0"),
        ("3.8.0", {}, "is a version of OpenSearch"),
        # Within a major version: the coordinating member could not come back.
        (TO, rest, "it can no longer join"),
    )
    for target, more, said in cases:
        played = play(PLAN, seven.variables(target, **more), ansible_environment)
        assert played.code != 0, (target, more)
        assert said in played.message, played.message
    assert seven.fingerprint() == before
