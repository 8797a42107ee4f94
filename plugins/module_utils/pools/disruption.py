"""PodDisruptionBudgets: whether they allow these pods to go. Pure.

A deletion is not an eviction, so the API server does not check them; the people who wrote them meant restarts, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..common.verdict import Reason, as_verdict, refused, waiting
from ..common.words import enumerate_few
from ..kubernetes.state import Budget, Pod, Selector


def matches(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector matches. An empty one matches everything, a missing one nothing (policy/v1)."""
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(_meets(each, labels) for each in selector.get("matchExpressions") or [])


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    meets = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return meets[expression["operator"]]


@as_verdict
def judge_budgets(budgets: Iterable[Budget], going: Iterable[Pod]) -> Iterator[Reason]:
    """Whether the budgets leave room for all these pods now. A pod that is not Ready needs no room."""
    up = [pod for pod in going if pod.ready and not pod.terminating]
    for budget in budgets:
        covered = [pod.name for pod in up if matches(budget.selector, pod.labels)]
        if len(covered) > budget.allowed:
            yield waiting(
                "disruption_budget",
                f"PodDisruptionBudget {budget.name} lets {budget.allowed} more go ({budget.healthy} of"
                f" {budget.expected} are healthy, {budget.desired} have to be), and the batch takes"
                f" {enumerate_few(covered)}.",
                "Bring the other pods of the budget back, or change it.",
            )


@as_verdict
def judge_planned(budgets: Iterable[Budget], batches: Iterable[Iterable[Pod]]) -> Iterator[Reason]:
    """Whether a budget would forbid a batch even when all its pods are healthy."""
    steps = [list(batch) for batch in batches]
    for budget in budgets:
        covered = [[pod.name for pod in step if matches(budget.selector, pod.labels)] for step in steps]
        greatest = max(covered, key=len, default=[])
        if len(greatest) > budget.most:
            yield refused(
                "disruption_budget_too_small",
                f"PodDisruptionBudget {budget.name} never lets more than {budget.most} of its {budget.expected} pods go"
                f" ({budget.desired} have to be healthy), and a batch takes {enumerate_few(greatest)}.",
                "Lower max_unavailable, or change the budget for the time of the upgrade.",
            )
