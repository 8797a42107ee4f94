"""The clusters and volumes on the Kubernetes nodes of a batch that this collection can ask. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import first_few
from ..observe.workloads import PlacedPod, Workloads

MOST_SHOWN = 12
"""Batches that have a remark of their own. The others are only counted."""
_OF_CLUSTER = {
    "opensearch.org/opensearch-cluster": "OpenSearch",
    "opster.io/opensearch-cluster": "OpenSearch",
    "elasticsearch.k8s.elastic.co/cluster-name": "Elasticsearch",
}
"""Labels whose value is the name of a cluster, as its operator sets them."""
_NAME, _INSTANCE = "app.kubernetes.io/name", "app.kubernetes.io/instance"
_NAMED = {"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}
"""Values of the recommended label for the name of an application, as Helm charts set it."""


@as_verdict
def judge_residents(seen: Workloads, batches: Mapping[str, Collection[str]]) -> Iterator[Reason]:
    """A remark for each batch with members of a cluster, or with pods that have a volume of Longhorn."""
    there: dict[str, list[PlacedPod]] = defaultdict(list)
    for pod in seen.pods:
        there[pod.kubernetes_node].append(pod)
    found = {
        name: said
        for name, nodes in batches.items()
        if (said := _residents(seen, [pod for node in nodes for pod in there.get(node, ())]))
    }
    for name, said in list(found.items())[:MOST_SHOWN]:
        yield remark("stateful_there", f"Batch {name} has on its Kubernetes nodes {said}.")
    if len(found) > MOST_SHOWN:
        yield remark("stateful_there", f"Further batches with such clusters or volumes: {len(found) - MOST_SHOWN:,}.")


def _residents(seen: Workloads, pods: Collection[PlacedPod]) -> str:
    clusters: dict[str, list[str]] = defaultdict(list)
    for pod in pods:
        if cluster := cluster_of(pod):
            clusters[cluster].append(pod.name)
    parts = [f"{cluster} ({first_few(sorted(names))})" for cluster, names in sorted(clusters.items())]
    volumes = {(pod.namespace, claim) for pod in pods for claim in pod.claims} & seen.longhorn
    if volumes:
        parts.append(f"{len(volumes)} volume{'' if len(volumes) == 1 else 's'} of Longhorn in use")
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""


def cluster_of(pod: PlacedPod) -> str:
    """The product and the cluster that a pod is a member of, such as `OpenSearch search/logs`; empty if it is none."""
    if pod.owner != "StatefulSet":
        return ""
    for label, product in _OF_CLUSTER.items():
        if name := pod.labels.get(label):
            return f"{product} {pod.namespace}/{name}"
    named = _NAMED.get(pod.labels.get(_NAME, ""))
    return f"{named} {pod.namespace}/{pod.labels.get(_INSTANCE) or pod.owner_name}" if named else ""
