"""Whether PodDisruptionBudgets let the pods of Kubernetes nodes go that are to be drained. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ...kubernetes.state import Budget
from ..observe.workloads import KeptPod, PlacedPod, covering, is_of_manager


@as_verdict
def judge_budgets(budgets: Iterable[Budget], pods: Iterable[PlacedPod], drained: Collection[str]) -> Iterator[Reason]:
    """Whether no budget keeps a pod for ever on one of the Kubernetes nodes that will be drained.

    A budget that is not met now is a remark: it may be met when its Kubernetes node is drained. Those of instance
    managers of Longhorn go with the cordon, see `longhorn_budgets`.
    """
    going = (pod for pod in pods if pod.kubernetes_node in drained and pod.needs_budget)
    for several, kept in _covered(budgets, going):
        if len(several) > 1:
            yield _overlapping(several, kept)
        elif is_of_manager(several[0]):
            continue
        elif several[0].most == 0:
            yield _never(several[0], kept)
        else:
            yield _not_met(several[0], kept)


def _covered(
    budgets: Iterable[Budget], pods: Iterable[PlacedPod]
) -> Iterator[tuple[tuple[Budget, ...], list[PlacedPod]]]:
    """The pods that are kept, by the budgets that keep them."""
    by_namespace: dict[str, list[Budget]] = defaultdict(list)
    for budget in budgets:
        by_namespace[budget.namespace].append(budget)
    keepers: dict[tuple[str, ...], tuple[Budget, ...]] = {}
    found: dict[tuple[str, ...], list[PlacedPod]] = defaultdict(list)
    for pod in pods:
        keeping = covering(by_namespace.get(pod.namespace, ()), pod)
        if keeping:
            key = (pod.namespace, *(each.name for each in keeping))
            keepers[key] = keeping
            found[key].append(pod)
    for key in sorted(found):
        yield keepers[key], found[key]


def _overlapping(several: Sequence[Budget], kept: Sequence[PlacedPod]) -> Reason:
    namespace = several[0].namespace
    return refused(
        "budgets_overlap",
        f"PodDisruptionBudgets {enumerate_few(each.name for each in several)} of namespace {namespace} all cover"
        f" {_placed(kept)}, and Kubernetes evicts no pod that more than one budget covers.",
        "Change the selectors, so that one of them covers these pods.",
    )


def _never(budget: Budget, kept: Sequence[PlacedPod]) -> Reason:
    # A budget expects no pods if these have no controller whose size it knows (`disruption.go` of Kubernetes).
    rule = f" ({budget.desired} of {budget.expected} have to be healthy)" if budget.expected else ""
    return refused(
        "drain_never_ends",
        f"PodDisruptionBudget {budget.namespace}/{budget.name} never lets a pod go{rule}, and keeps {_placed(kept)}.",
        "Change the budget, or give its pods another replica.",
    )


def _not_met(budget: Budget, kept: Sequence[PlacedPod]) -> Reason:
    return remark(
        "budget_not_met",
        f"PodDisruptionBudget {budget.namespace}/{budget.name} lets no pod go now ({budget.healthy} of"
        f" {budget.expected} are healthy, {budget.desired} have to be), and keeps {_placed(kept)}.",
        "Bring its other pods back: a drain waits for them.",
    )


def _placed(kept: Sequence[PlacedPod]) -> str:
    nodes = {each.kubernetes_node for each in kept}
    names = enumerate_few(each.name for each in kept)
    return f"{names} on Kubernetes node{'s' if len(nodes) > 1 else ''} {enumerate_few(nodes)}"


@as_verdict
def judge_closed(budgets: Iterable[Budget], started: str) -> Iterator[Reason]:
    """A remark on the budgets that let no pod go now, and did when an upgrade was `started` or later."""
    closed = [f"{each.namespace}/{each.name}" for each in budgets if each.expected and each.closed_since > started]
    if closed:
        yield remark(
            "budgets_closed",
            f"PodDisruptionBudgets that let a pod go after the start of the upgrade, and let none go now:"
            f" {enumerate_few(closed)}.",
            "See whether their pods come back.",
        )


def drain_blocked(stays: Sequence[KeptPod]) -> Reason:
    """The reason for a drain that does not end: since when, the first pod that is kept, and by which budget."""
    first, budget = stays[0], stays[0].budget
    more = f" (and {len(stays) - 1} more)" if len(stays) > 1 else ""
    drain = f"has been draining since {first.since}" if first.since else "is being drained"
    cause = (
        f"it lets {budget.allowed} go, with {budget.healthy} of {budget.expected} healthy, and {budget.desired} have"
    )
    cause, remedy = f"{cause} to be", "Bring the other pods of the budget back, or change it."
    if first.covered_twice:
        cause = "another budget covers this pod, too, and Kubernetes evicts none that more than one covers"
        remedy = "Change the selectors, so that one budget covers it."
    return waiting(
        "drain_blocked",
        f"Kubernetes node {first.kubernetes_node} {drain}, and PodDisruptionBudget"
        f" {first.namespace}/{budget.name} keeps pod {first.name} there{more}: {cause}.",
        remedy,
        about=f"{first.kubernetes_node} {first.name}",
    )
