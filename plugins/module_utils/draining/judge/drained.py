"""Whether Kubernetes nodes are drained: no pod that could go is left, and no volume of those that went. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ...kubernetes.state import Budget
from ..observe.drain_state import DrainLook, HeldVolume
from ..observe.workloads import KeptPod, PlacedPod


@dataclass(frozen=True)
class EvictionAnswers:
    """The answers of one look to evictions: by the UID of each pod that was not evicted."""

    kept: Mapping[str, str] = field(default_factory=dict)
    """The words of the server about pods that a budget keeps."""
    covered_twice: frozenset[str] = frozenset()
    """Those of them that several budgets cover."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The words about pods whose eviction the server did not make for another cause."""


@as_verdict
def judge_drained(seen: DrainLook, answers: EvictionAnswers, overdue: str, *, tried: bool = False) -> Iterator[Reason]:
    """Whether all is off these Kubernetes nodes that a drain removes.

    A pod is overdue whose grace period ended before the time `overdue`, which is written as Kubernetes writes it. A
    cordon that is only tried (check mode) does not count as one that something else has taken away.
    """
    for node in seen.nodes:
        if not node.cordoned and not tried:
            yield refused(
                "cordon_undone",
                f"Kubernetes node {node.name} was uncordoned by something else while it was drained, so pods may start"
                " there again.",
                "Find out who uncordons it, such as an autoscaler or a person, and run again.",
            )
        yield from _left_on(node.name, seen, answers, overdue)
    yield from map(_still_attached, seen.held)


def _left_on(name: str, seen: DrainLook, answers: EvictionAnswers, overdue: str) -> Iterator[Reason]:
    left_there, since = seen.left_on(name), seen.since.get(name, "")
    staying = {each.full_name: each for each in left_there if not each.terminating}
    kept = [each for each in seen.kept if each.kubernetes_node == name and each.full_name in staying]
    yield from _kept_by_budgets(name, kept, since)
    explained, leaving = {each.full_name for each in kept}, []
    for pod in left_there:
        if pod.terminating and pod.ends and pod.ends < overdue:
            yield _overdue(pod)
        elif pod.terminating:
            leaving.append(pod.full_name)
        elif pod.uid in answers.refused:
            yield _not_evicted(pod, answers.refused[pod.uid])
        elif pod.full_name not in explained and pod.uid in answers.kept:
            yield _kept_in_words(pod, answers.kept[pod.uid], pod.uid in answers.covered_twice, since)
        elif pod.full_name not in explained:
            leaving.append(pod.full_name)
    if leaving:
        yield waiting(
            "pods_leaving",
            f"Kubernetes node {name} is being drained, and pods {enumerate_few(leaving)} are leaving it.",
            "Wait: each pod has its grace period.",
            about=name,
        )


def _kept_by_budgets(name: str, kept: Collection[KeptPod], since: str) -> Iterator[Reason]:
    by_budget: dict[tuple[str, str, bool], list[KeptPod]] = defaultdict(list)
    for each in kept:
        by_budget[each.namespace, each.budget.name, each.covered_twice].append(each)
    for pods in by_budget.values():
        budget, names = pods[0].budget, enumerate_few(each.name for each in pods)
        if pods[0].covered_twice:
            yield _overlap(name, f"{pods[0].namespace}/{budget.name}", names, since)
        else:
            yield _keeps(name, pods[0].namespace, budget, names, since)


def _keeps(name: str, namespace: str, budget: Budget, pods: str, since: str) -> Reason:
    missing = budget.desired + 1 - budget.healthy
    lacking = missing > 0 and budget.most > 0
    more = f", so {missing} more {'has' if missing == 1 else 'have'} to become so" if lacking else ""
    unless = "Bring the other pods of the budget back, or change it."
    if budget.most == 0:
        unless = "Change the budget, or give its pods another replica: it never lets one go."
    return waiting(
        "drain_blocked",
        f"Kubernetes node {name} is being drained, and PodDisruptionBudget {namespace}/{budget.name} keeps {pods}"
        f" there{_since(max(since, budget.closed_since))}: it lets {budget.allowed} go, with {budget.healthy} of"
        f" {budget.expected} healthy, and {budget.desired} have to be{more}.",
        unless,
        about=f"{name} {namespace}/{budget.name}",
    )


def _overlap(name: str, budget: str, pods: str, since: str) -> Reason:
    return waiting(
        "drain_blocked",
        f"Kubernetes node {name} is being drained, and {pods} stays there{_since(since)}: PodDisruptionBudget {budget}"
        " and another one cover it, and Kubernetes evicts no pod that more than one covers.",
        "Change the selectors, so that one budget covers it.",
        about=f"{name} {budget}",
    )


def _kept_in_words(pod: PlacedPod, words: str, twice: bool, since: str) -> Reason:
    remedy = "Bring the other pods of the budget back, or change it."
    if twice:
        remedy = "Change the selectors of the budgets, so that one of them covers it."
    return waiting(
        "drain_blocked",
        f"Kubernetes node {pod.kubernetes_node} is being drained, and pod {pod.full_name} is kept there{_since(since)}."
        f" The server says: {words}",
        remedy,
        about=f"{pod.kubernetes_node} {pod.full_name}",
    )


def _not_evicted(pod: PlacedPod, words: str) -> Reason:
    return waiting(
        "eviction_refused",
        f"Kubernetes node {pod.kubernetes_node} is being drained, and the API server does not evict pod"
        f" {pod.full_name}: {words}",
        "Fix the cause that it names, such as a webhook that is down.",
        about=pod.full_name,
    )


def _overdue(pod: PlacedPod) -> Reason:
    cause = "Its kubelet has not confirmed that its containers have ended"
    remedy = "See the log of the kubelet, and whether the Kubernetes node is Ready."
    if pod.finalizers:
        cause = f"It has the finalizers {enumerate_few(pod.finalizers)}"
        remedy = "See the controllers of these finalizers: each removes its own once its work is done."
    return waiting(
        "pod_overdue",
        f"Pod {pod.full_name} on Kubernetes node {pod.kubernetes_node} is still there, although its grace period ended"
        f" at {pod.ends}. {cause}.",
        remedy,
        about=pod.full_name,
    )


def _still_attached(held: HeldVolume) -> Reason:
    how = f", which was asked to be detached at {held.detaching_since}" if held.detaching_since else ""
    trouble = f" Its detachment failed: {held.trouble}" if held.trouble else ""
    return waiting(
        "volume_attached",
        f"All pods have left Kubernetes node {held.kubernetes_node}, and volume {held.volume} is still attached to"
        f" it{how}: its pod cannot start elsewhere.{trouble}",
        "Wait; if it lasts, see the VolumeAttachment of the volume, and the pods of its CSI driver.",
        about=f"{held.kubernetes_node} {held.volume}",
    )


def _since(at: str) -> str:
    return f" since {at}" if at else ""


def left(seen: DrainLook) -> tuple[float, ...]:
    """The amount that is left: pods, and volumes that are still attached."""
    return (float(sum(len(seen.left_on(each.name)) for each in seen.nodes)), float(len(seen.held)))


def evictable(seen: DrainLook, refused_uids: Sequence[str] = ()) -> tuple[PlacedPod, ...]:
    """The pods to be evicted now: those that a drain removes, that are not leaving yet, and that no budget is seen to
    keep; without the pods of these UIDs."""
    kept = {(each.namespace, each.name) for each in seen.kept}
    return tuple(
        pod
        for node in seen.nodes
        for pod in seen.left_on(node.name)
        if not pod.terminating and (pod.namespace, pod.name) not in kept and pod.uid not in refused_uids
    )
