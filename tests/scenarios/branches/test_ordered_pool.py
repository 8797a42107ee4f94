"""A pool with OrderedReady whose lower ordinal is broken: once its template is corrected, a run puts it right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import seven_members
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import upgrade

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"
NOWHERE = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "none"}}}}}
LOWER, HIGHER = "opensearch-data-0", "opensearch-data-2"
ANYWHERE = {"spec": {"template": {"spec": {"nodeSelector": None}}}}


def ordered(namespace: str, version: str, **options: Any) -> list[dict[str, Any]]:
    """Seven members, whose data pool makes one pod after the other."""
    made = seven_members(namespace, version, update_strategy="OnDelete", **options)
    for each in made:
        if each["kind"] == "StatefulSet" and each["metadata"]["name"].endswith("-data"):
            each["spec"]["podManagementPolicy"] = "OrderedReady"
    return made


@pytest.fixture
def cluster(platform: Platform) -> Iterator[Cluster]:
    cluster = Cluster.start(platform, "ordered", ordered, FROM)
    cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 2}})
    cluster.until_green()
    yield cluster
    cluster.remove()


def change(cluster: Cluster, body: Mapping[str, Any]) -> None:
    with cluster.platform.client() as api:
        client.AppsV1Api(api).patch_namespaced_stateful_set("opensearch-data", cluster.namespace, dict(body))


def delete(cluster: Cluster, pod: str) -> None:
    before = cluster.fingerprint().pods
    with cluster.platform.client() as api:
        client.CoreV1Api(api).delete_namespaced_pod(pod, cluster.namespace)
    until(f"{pod} to be gone", lambda: cluster.fingerprint().pods.get(pod) != before[pod], 60)


def test_a_broken_pod_of_lower_ordinal_is_replaced_before_the_one_that_waits_for_it(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    """Its controller replaces no broken pod when the template is corrected (kubernetes/kubernetes#67250)."""
    change(cluster, NOWHERE)
    for pod in LOWER, HIGHER:
        delete(cluster, pod)
    change(cluster, ANYWHERE)
    assert HIGHER not in cluster.fingerprint().pods

    done = upgrade(cluster.variables(TO), ansible_environment)

    assert done.code == 0, done.message
    cluster.is_upgraded(TO)
    recap = done.output.partition("PLAY RECAP")[2]
    assert recap.index(f"batch-01.{LOWER}") < recap.index(f"batch-02.{HIGHER}")
