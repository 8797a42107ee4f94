"""The clusters and volumes on the Kubernetes nodes of a batch that this collection can ask. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import first_few
from ...run.away_sets import AwaySets
from ..observe.workloads import PlacedPod, Workloads

IsAsked = Callable[[str, str], bool]
"""Whether a run asks a product in a namespace before its Kubernetes nodes are taken. Longhorn has no namespace."""
LONGHORN = "Longhorn"
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
def judge_residents(
    seen: Workloads,
    batches: Mapping[str, Collection[str]],
    apart: Mapping[str, AwaySets] | None = None,
) -> Iterator[Reason]:
    """A remark for each batch with members of a cluster, with volumes of Longhorn in use, or with their replicas.

    Each has its Kubernetes node. Of the batches in `apart` those of one of these sets are away at once, and of others
    all of them.
    """
    there: dict[str, list[PlacedPod]] = defaultdict(list)
    for pod in seen.pods:
        there[pod.kubernetes_node].append(pod)
    holders = _holders(seen)
    found = {}
    for name, nodes in batches.items():
        away = (apart or {}).get(name) or AwaySets.at_once(nodes)
        last = sorted(volume for volume, held in holders.items() if away.has(held))
        pods = [pod for node in nodes for pod in there.get(node, ())]
        parts = [*_residents(seen, pods, _BatchNodes({*nodes})), *_replicas(seen, holders, _BatchNodes({*nodes}))]
        if parts:
            where = "its Kubernetes nodes" if len(nodes) > 1 else f"Kubernetes node {min(nodes)}"
            found[name] = f"{where} {_joined(parts)}.{_alone(seen, last)}"
    for name, said in list(found.items())[:MOST_SHOWN]:
        yield remark("stateful_there", f"Batch {name} has on {said}")
    if len(found) > MOST_SHOWN:
        yield remark(
            "stateful_there",
            f"Databases or volumes are on the Kubernetes nodes of {len(found) - MOST_SHOWN:,} further batches.",
        )


@as_verdict
def judge_unasked(seen: Workloads, drained: Collection[str], is_asked: IsAsked) -> Iterator[Reason]:
    """A remark that names the clusters on these Kubernetes nodes, and Longhorn, as far as nothing asks them."""
    pods = [pod for pod in seen.pods if pod.kubernetes_node in drained]
    found = {
        cluster
        for pod in pods
        if (cluster := cluster_of(pod)) and not is_asked(cluster.partition(" ")[0], pod.namespace)
    }
    in_use = any((pod.namespace, claim) in seen.longhorn for pod in pods for claim in pod.claims)
    if (in_use or any(not held.isdisjoint(drained) for held in _holders(seen).values())) and not is_asked(LONGHORN, ""):
        found.add(LONGHORN)
    if found:
        said = (
            f"Nothing asks {first_few(sorted(found))} before their Kubernetes nodes are taken, so a shard or a volume"
        )
        yield remark(
            "workloads_unasked",
            f"{said} may lose its last copy.",
            "Name them in upgrade_workloads, or ask them in a file of tasks (upgrade_workload_gate).",
        )


def _holders(seen: Workloads) -> dict[str, set[str]]:
    """The Kubernetes nodes with a healthy replica of each volume."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in (replica for replica in seen.replicas if replica.healthy):
        found[each.volume].add(each.kubernetes_node)
    return found


@dataclass(frozen=True)
class _BatchNodes:
    """The Kubernetes nodes of a batch, which are named with what is there if there are several."""

    nodes: Collection[str]

    def few(self, found: Mapping[str, Collection[str]]) -> str:
        """The first few of these things, each of which is on some Kubernetes nodes."""
        several = len(self.nodes) > 1
        return first_few(
            [f"{name} on {_joined(sorted(held))}" if several else name for name, held in sorted(found.items())]
        )


def _replicas(seen: Workloads, holders: Mapping[str, set[str]], place: _BatchNodes) -> Iterator[str]:
    claims = _claims(seen)
    held = {claims.get(each, each): nodes & {*place.nodes} for each, nodes in holders.items()}
    if there := {name: nodes for name, nodes in held.items() if nodes}:
        yield f"healthy replicas of {_volumes(len(there))} ({place.few(there)})"


def _claims(seen: Workloads) -> dict[str, str]:
    """The claim of each volume that has one."""
    return {volume: "/".join(claim) for claim, volume in seen.longhorn.items()}


def _alone(seen: Workloads, last: Collection[str]) -> str:
    """The sentence about volumes without any healthy replica elsewhere, by their claims if they have one."""
    claims = _claims(seen)
    named = first_few(sorted(claims.get(each, each) for each in last))
    return f" No other healthy replica: {named}." if last else ""


def _volumes(count: int) -> str:
    return f"{count} volume{'' if count == 1 else 's'}"


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _residents(seen: Workloads, pods: Collection[PlacedPod], place: _BatchNodes) -> Iterator[str]:
    clusters: dict[str, dict[str, set[str]]] = defaultdict(dict)
    volumes: dict[str, set[str]] = defaultdict(set)
    for pod in pods:
        if cluster := cluster_of(pod):
            clusters[cluster][pod.name] = {pod.kubernetes_node}
        for claim in pod.claims:
            if (pod.namespace, claim) in seen.longhorn:
                volumes[f"{pod.namespace}/{claim}"].add(pod.kubernetes_node)
    yield from (f"{cluster} ({place.few(members)})" for cluster, members in sorted(clusters.items()))
    if volumes:
        yield f"{_volumes(len(volumes))} of Longhorn in use ({place.few(volumes)})"


def cluster_of(pod: PlacedPod) -> str:
    """The product and the cluster that a pod is a member of, such as `OpenSearch search/logs`; empty if it is none."""
    if pod.owner != "StatefulSet":
        return ""
    for label, product in _OF_CLUSTER.items():
        if name := pod.labels.get(label):
            return f"{product} {pod.namespace}/{name}"
    named = _NAMED.get(pod.labels.get(_NAME, ""))
    return f"{named} {pod.namespace}/{pod.labels.get(_INSTANCE) or pod.owner_name}" if named else ""
