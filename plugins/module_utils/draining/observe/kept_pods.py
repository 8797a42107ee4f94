"""The pods on Kubernetes nodes that are drained, and those of them that PodDisruptionBudgets keep there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...kubernetes.client import KubernetesClient
from ...kubernetes.pods import list_budgets
from .placed_pods import placed_pods
from .workloads import KeptPod, PlacedPod, covering


def pods_on(client: KubernetesClient, nodes: Collection[str]) -> tuple[PlacedPod, ...]:
    """The pods on these Kubernetes nodes, of which there are few.

    Raises:
        Refusal: they cannot be had or understood.
    """
    return tuple(pod for node in nodes for pod in placed_pods(client, node))


def kept_pods(
    client: KubernetesClient, pods: Iterable[PlacedPod], since: Mapping[str, str] | None = None
) -> tuple[KeptPod, ...]:
    """Those of the pods that budgets keep now. `since` is the time at which the drain of each Kubernetes node began.

    Raises:
        Refusal: the budgets cannot be had or understood.
    """
    going = [pod for pod in pods if pod.needs_budget]
    budgets = list_budgets(client, "") if going else ()
    found = [
        KeptPod(
            *(pod.namespace, pod.name, pod.kubernetes_node),
            budget=keeping[0],
            covered_twice=len(keeping) > 1,
            uid=pod.uid,
            since=(since or {}).get(pod.kubernetes_node, ""),
        )
        for pod in going
        if (keeping := covering(budgets, pod))
    ]
    return tuple(sorted(found, key=lambda each: (each.kubernetes_node, each.namespace, each.name)))
