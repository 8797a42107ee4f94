"""Whether Longhorn lets the pods of its instance managers leave Kubernetes nodes that are drained. Pure.

The budget of an instance manager never lets its pod go. Longhorn deletes it once the Kubernetes node is cordoned, no
volume is attached there, and the setting `node-drain-policy` is met (`canDeleteInstanceManagerPDB` in
`controller/instance_manager_controller.go`, `ListVolumePDBProtectedHealthyReplicasRO` in `datastore/longhorn.go` and
`shouldEvictReplica` in `controller/node_controller.go` of longhorn-manager).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few, first_few
from ...pools.disruption import matches
from ...run.away_sets import AwaySets
from ..observe.workloads import VolumeReplica, Workloads, is_of_manager

ALLOW, ALLOW_STOPPED = "always-allow", "allow-if-replica-is-stopped"
EVICT, EVICT_LAST = "block-for-eviction", "block-for-eviction-if-contains-last-replica"


@as_verdict
def judge_manager_budgets(
    seen: Workloads,
    batches: Mapping[str, Collection[str]],
    apart: Mapping[str, AwaySets] | None = None,
) -> Iterator[Reason]:
    """Whether each instance manager may leave its Kubernetes node once its volumes are attached elsewhere.

    Of the batches in `apart` those of one of these sets are cordoned at once, and of others all Kubernetes nodes.
    Nothing is said if the policy is not known.
    """
    if seen.drain_policy in ("", ALLOW):
        return
    guarded = _guarded(seen)
    drained = {node for nodes in batches.values() for node in nodes}
    cordoned = {name for name, each in seen.nodes.items() if each.closed} - drained
    for name, nodes in batches.items():
        away = (apart or {}).get(name) or AwaySets.at_once(nodes)
        kept = [*_kept(seen, away.names & guarded, away, cordoned)]
        if kept:
            yield _said(seen, kept)


def _guarded(seen: Workloads) -> set[str]:
    """The Kubernetes nodes with an instance manager that a budget of Longhorn keeps."""
    budgets = [each for each in seen.budgets if is_of_manager(each)]
    return {
        pod.kubernetes_node
        for pod in seen.pods
        if pod.needs_budget
        and any(each.namespace == pod.namespace and matches(each.selector, pod.labels) for each in budgets)
    }


def _kept(
    seen: Workloads, nodes: Collection[str], away: AwaySets, cordoned: Collection[str]
) -> Iterator[VolumeReplica]:
    """The replicas for which Longhorn keeps the instance managers of these Kubernetes nodes while one of the sets is
    closed, and those that are cordoned already."""
    holders: dict[str, set[str]] = defaultdict(set)
    for each in seen.replicas:
        if each.healthy and each.kubernetes_node not in cordoned:
            holders[each.volume].add(each.kubernetes_node)
    for each in seen.replicas:
        if each.kubernetes_node not in nodes or (each.stopped and seen.drain_policy == ALLOW_STOPPED):
            continue
        if seen.drain_policy == EVICT or (each.used and away.has({each.kubernetes_node, *holders[each.volume]})):
            yield each


def _said(seen: Workloads, kept: Collection[VolumeReplica]) -> Reason:
    nodes = enumerate_few({each.kubernetes_node for each in kept})
    claims = {volume: "/".join(claim) for claim, volume in seen.longhorn.items()}
    volumes = first_few(sorted({claims.get(each.volume, each.volume) for each in kept}))
    policy = f"node-drain-policy of Longhorn is {seen.drain_policy}"
    if seen.drain_policy in (EVICT, EVICT_LAST):
        return remark(
            "longhorn_drain_waits",
            f"Before the drain of {nodes} ends, Longhorn moves replicas of these volumes elsewhere: {volumes}"
            f" ({policy}).",
            "Keep room for them on other Kubernetes nodes: each drain waits until they are rebuilt there.",
        )
    if seen.drain_policy == ALLOW_STOPPED:
        return remark(
            "longhorn_drain_waits",
            f"The drain of {nodes} waits until the replicas of these volumes have stopped, which have no other healthy"
            f" replica: {volumes} ({policy}).",
            "Give the volumes a healthy replica on another Kubernetes node, or stop their pods.",
        )
    return refused(
        "drain_never_ends",
        f"The drain of {nodes} never ends, because Longhorn keeps its instance manager there: no healthy replica of"
        f" these volumes would be on another Kubernetes node that is not cordoned: {volumes} ({policy}).",
        "Give the volumes a healthy replica on another Kubernetes node, drain fewer at once, or change"
        " node-drain-policy.",
    )
