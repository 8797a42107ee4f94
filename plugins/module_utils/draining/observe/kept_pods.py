"""The pods that PodDisruptionBudgets keep on Kubernetes nodes, so that a drain of these does not end."""

from __future__ import annotations

from collections.abc import Collection

from ...kubernetes.client import KubernetesClient
from ...kubernetes.pods import list_budgets
from .placed_pods import placed_pods
from .workloads import KeptPod, covering


def kept_pods(client: KubernetesClient, nodes: Collection[str]) -> tuple[KeptPod, ...]:
    """The pods on these Kubernetes nodes, of which there are few, that budgets keep now.

    Raises:
        Refusal: they cannot be had or understood.
    """
    budgets = list_budgets(client, "")
    found = [
        KeptPod(pod.namespace, pod.name, pod.kubernetes_node, keeping[0], len(keeping) > 1)
        for node in (nodes if budgets else ())
        for pod in placed_pods(client, node)
        if pod.needs_budget and (keeping := covering(budgets, pod))
    ]
    return tuple(sorted(found, key=lambda each: (each.kubernetes_node, each.namespace, each.name)))
