"""The clusters and volumes on the Kubernetes nodes of a batch."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.residents import (
    cluster_of,
    judge_residents,
    judge_unasked,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import VolumeReplica
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part

from tests.unit.plugins.module_utils.draining.placed import node, pod, workloads

CHART = {"app.kubernetes.io/name": "opensearch", "app.kubernetes.io/instance": "logs"}


@pytest.mark.parametrize(
    ("labels", "other", "found"),
    [
        (CHART, {}, "OpenSearch search/logs"),
        ({"app.kubernetes.io/name": "elasticsearch"}, {"owner_name": "hot"}, "Elasticsearch search/hot"),
        (CHART, {"owner": "ReplicaSet"}, ""),
        ({"app.kubernetes.io/name": "opensearch-dashboards"}, {}, ""),
        ({"opster.io/opensearch-cluster": "logs"}, {}, "OpenSearch search/logs"),
        ({"elasticsearch.k8s.elastic.co/cluster-name": "logs"}, {}, "Elasticsearch search/logs"),
        ({"opensearch.org/opensearch-cluster": "logs"}, {"owner": "Deployment"}, ""),
        ({}, {}, ""),
    ],
)
def test_a_cluster_is_known_by_the_labels_of_its_operator_or_chart(labels: Any, other: Any, found: str) -> None:
    assert cluster_of(pod("data-0", labels=labels, **other)) == found


def test_each_batch_has_one_line() -> None:
    seen = workloads(
        [node("w-0"), node("w-1"), node("w-2")],
        pod("data-1", labels=CHART, claims=("data-1", "other")),
        pod("data-0", "w-1", labels=CHART, claims=("data-0",)),
        pod("pg-0", "w-1", claims=("pg-0",)),
        pod("web", "w-2"),
        longhorn={("search", name): f"pvc-{name}" for name in ("data-0", "data-1", "pg-0")}
        | {("else", "other"): "pvc"},
    )
    said = [each.message for each in judge_residents(seen, {"one": ["w-0", "w-1"], "two": ["w-2"]}).reasons]
    assert said == [
        "Batch one has on its Kubernetes nodes OpenSearch search/logs (data-0 on w-1, data-1 on w-0) and 3 volumes of"
        " Longhorn in use (search/data-0 on w-1, search/data-1 on w-0, search/pg-0 on w-1)."
    ]


def test_a_volume_without_another_healthy_replica_is_named() -> None:
    """A volume that is not in use has no pod, and loses its data as well."""
    places = {"both": ("w-0", "w-2"), "last": ("w-0", "w-1"), "alone": ("w-1",), "far": ("w-2",)}
    seen = workloads(
        [node("w-0"), node("w-1"), node("w-2")],
        pod("data-0", "w-1", claims=("data-0",)),
        longhorn={("search", "data-0"): "alone"},
        replicas=(
            VolumeReplica("far", "w-0", healthy=False),
            *(VolumeReplica(volume, held) for volume, nodes in places.items() for held in nodes),
        ),
    )
    batches = {"one": ["w-0", "w-1"], "two": ["w-2"]}
    together = [each.message for each in judge_residents(seen, batches).reasons]
    assert together == [
        "Batch one has on its Kubernetes nodes 1 volume of Longhorn in use (search/data-0 on w-1) and healthy replicas"
        " of 3 volumes (both on w-0, last on w-0 and w-1, search/data-0 on w-1)."
        " No other healthy replica: last, search/data-0.",
        "Batch two has on Kubernetes node w-2 healthy replicas of 2 volumes (both, far)."
        " No other healthy replica: far.",
    ]
    apart = [
        each.message
        for each in judge_residents(seen, batches, {"one": AwaySets([[Part(frozenset({"w-0", "w-1"}), 1)]])}).reasons
    ]
    assert apart[0].endswith(" No other healthy replica: search/data-0.")
    at_once = [
        each.message
        for each in judge_residents(seen, batches, {"one": AwaySets([[Part(frozenset({"w-0", "w-1"}), 2)]])}).reasons
    ]
    assert at_once == together


def test_the_first_few_volumes_of_a_kubernetes_node_are_named() -> None:
    replicas = tuple(VolumeReplica(f"v-{number}", held) for number in range(7) for held in ("w-0", "w-1"))
    (reason,) = judge_residents(workloads([node("w-0"), node("w-1")], replicas=replicas), {"one": ["w-0"]}).reasons
    assert reason.message == (
        "Batch one has on Kubernetes node w-0 healthy replicas of 7 volumes (v-0, v-1, v-2, v-3, v-4 and 2 more)."
    )


def test_many_batches_are_counted() -> None:
    names = [f"w-{number}" for number in range(15)]
    seen = workloads(map(node, names), *(pod(f"p-{name}", name, labels=CHART) for name in names))
    reasons = judge_residents(seen, {name: [name] for name in names}).reasons
    assert len(reasons) == 13
    assert reasons[-1].message == "Databases or volumes are on the Kubernetes nodes of 3 further batches."
    assert judge_residents(seen, {}).passed


def test_clusters_and_volumes_that_nothing_asks_are_named_once() -> None:
    seen = workloads(
        [node("w-0"), node("w-1"), node("w-2")],
        pod("data-0", labels=CHART, claims=("data-0",)),
        pod("data-1", "w-1", labels=CHART),
        pod("data-2", "w-2", labels={"opster.io/opensearch-cluster": "far"}),
        longhorn={("search", "data-0"): "pvc"},
    )

    def said(drained: set[str], *asked: tuple[str, str]) -> list[str]:
        found = judge_unasked(seen, drained, lambda product, namespace: (product, namespace) in asked)
        return [each.message.partition(" before")[0] for each in found.reasons]

    assert said({"w-0", "w-1"}) == ["Nothing asks Longhorn, OpenSearch search/logs"]
    assert said({"w-0", "w-1"}, ("OpenSearch", "search")) == ["Nothing asks Longhorn"]
    assert said({"w-0", "w-1"}, ("OpenSearch", "search"), ("Longhorn", "")) == []
    assert said({"w-1"}, ("OpenSearch", "other"), ("Elasticsearch", "search")) == [
        "Nothing asks OpenSearch search/logs"
    ]
    assert said(set()) == []


def test_a_replica_that_no_pod_uses_counts_for_longhorn() -> None:
    seen = workloads([node("w-0")], replicas=(VolumeReplica("cold", "w-0"),))
    (reason,) = judge_unasked(seen, {"w-0"}, lambda _product, _namespace: False).reasons
    assert (reason.code, reason.message) == (
        "workloads_unasked",
        "Nothing asks Longhorn before their Kubernetes nodes are taken, so a shard or a volume may lose its last copy.",
    )
    assert judge_unasked(seen, {"w-0"}, lambda _product, _namespace: True).passed
