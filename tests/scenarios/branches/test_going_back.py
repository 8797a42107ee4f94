"""A pool whose new pods do not start goes back to its version, as long as nothing has started on the new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import upgrade

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"
WAY_BACK = f"To go back, since nothing has started on {TO} yet"
UNKNOWN = "no-such-config-map"


@pytest.fixture
def cluster(platform: Platform) -> Iterator[Cluster]:
    cluster = Cluster.start(platform, "going-back", three_combined, FROM, update_strategy="OnDelete")
    cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
    yield cluster
    cluster.remove()


def change(cluster: Cluster, source: Any) -> None:
    """Take the variables of the pool's container from a ConfigMap, or from none."""
    with cluster.platform.client() as api:
        found = cluster.fingerprint().pools["opensearch-members"]["spec"]["template"]["spec"]["containers"][0]
        body = {"spec": {"template": {"spec": {"containers": [{"name": found["name"], "envFrom": source}]}}}}
        client.AppsV1Api(api).patch_namespaced_stateful_set("opensearch-members", cluster.namespace, body)


def test_it_goes_back_through_the_same_gates(cluster: Cluster, ansible_environment: Mapping[str, str]) -> None:
    change(cluster, [{"configMapRef": {"name": UNKNOWN}}])
    stopped = upgrade(cluster.variables(TO), ansible_environment)
    print(stopped.output)
    assert "container_configuration" in stopped.output
    assert (
        f"{WAY_BACK}: undo what else was changed in the pool, and run again with target_version={FROM}."
        in stopped.message
    )

    change(cluster, None)
    back = upgrade(cluster.variables(FROM), ansible_environment)
    assert back.code == 0, back.message
    cluster.is_upgraded(FROM)
    assert "1 upgraded to 2.19.6" in back.output
