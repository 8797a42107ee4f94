"""The pods that PodDisruptionBudgets keep on Kubernetes nodes, so that a drain of these does not end."""

from __future__ import annotations

from collections.abc import Collection

from ...kubernetes.client import KubernetesClient
from ...kubernetes.pods import list_budgets, list_pods
from ...pools.disruption import matches
from .state import KeptPod


def kept_pods(client: KubernetesClient, nodes: Collection[str]) -> tuple[KeptPod, ...]:
    """The pods on these Kubernetes nodes that a budget keeps now. Only the pods of such budgets are asked for.

    A pod that is not Ready is kept, too, as long as its budget is not met (policy/v1, `IfHealthyBudget`).
    """
    found = []
    for budget in list_budgets(client, ""):
        if budget.allowed:
            continue
        labels = (budget.selector or {}).get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        for pod in list_pods(client, budget.namespace, selector or None):
            there = pod.kubernetes_node in nodes and not pod.terminating
            if there and matches(budget.selector, pod.labels):
                found.append(KeptPod(pod.namespace, pod.name, pod.kubernetes_node, budget))
    return tuple(sorted(found, key=lambda each: (each.kubernetes_node, each.namespace, each.name)))
