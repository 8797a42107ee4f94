"""The clusters and volumes on the Kubernetes nodes of a batch."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.residents import (
    cluster_of,
    judge_residents,
)

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
        longhorn=frozenset({("search", "data-0"), ("search", "data-1"), ("search", "pg-0"), ("else", "other")}),
    )
    said = [each.message for each in judge_residents(seen, {"one": ["w-0", "w-1"], "two": ["w-2"]}).reasons]
    assert said == [
        "Batch one has on its Kubernetes nodes OpenSearch search/logs (data-0, data-1) and 3 volumes of Longhorn in"
        " use."
    ]


def test_many_batches_are_counted() -> None:
    names = [f"w-{number}" for number in range(15)]
    seen = workloads(map(node, names), *(pod(f"p-{name}", name, labels=CHART) for name in names))
    reasons = judge_residents(seen, {name: [name] for name in names}).reasons
    assert len(reasons) == 13
    assert reasons[-1].message == "Further batches with such clusters or volumes: 3."
    assert judge_residents(seen, {}).passed
