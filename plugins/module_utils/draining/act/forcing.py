"""Evicting and deleting pods that hold a drain up, where a user has allowed it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...common.errors import Conflict
from ...common.task import Task
from ...kubernetes.client import KubernetesClient
from ...kubernetes.evictions import EvictionKept, PodGone, evict
from ...kubernetes.pods import pod_path
from ..judge.forced_drains import DELETE_NOW, EVICT, ForcedRung, rung_due
from ..observe.workloads import PlacedPod


@dataclass
class Forcing:
    """The forced acts of one task."""

    task: Task
    client: KubernetesClient
    rungs: Sequence[ForcedRung]
    _done: set[tuple[str, str]] = field(default_factory=set)
    """The pods by UID, and the rungs that were made for them."""

    def force(self, pods: Iterable[PlacedPod], seconds: Mapping[str, float], kept: Collection[str]) -> None:
        """Remove the pods for which a rung is due, each pod once for each rung.

        `seconds` is the age of the drain of each Kubernetes node, and `kept` has the UIDs of pods that budgets keep.

        Raises:
            Refusal: the user may not do that.
        """
        for pod in (each for each in pods if each.kubernetes_node in seconds):
            rung = rung_due(pod, self.rungs, seconds[pod.kubernetes_node], kept=pod.uid in kept)
            # A deletion with its grace period is under way already.
            if not rung or (pod.terminating and rung != DELETE_NOW) or (pod.uid, rung) in self._done:
                continue
            self._done.add((pod.uid, rung))
            self.task.still_wanted()
            consent = f"{rung} on {pod.kubernetes_node} (upgrade_allow_forced_drains)"
            said = {"rung": rung, "kubernetes_node": pod.kubernetes_node, "consent": consent}
            with self.task.journal.doing(("forced", f"Pod {pod.namespace}/{pod.name}", said)):
                self._remove(pod, rung)

    def _remove(self, pod: PlacedPod, rung: str) -> None:
        if rung == EVICT:
            # One that a budget keeps, or that is gone by now, is seen at the next look.
            with suppress(EvictionKept, PodGone, Conflict):
                evict(self.client, pod.namespace, pod.name, pod.uid)
        else:
            self.client.delete(pod_path(pod.namespace, pod.name), pod.uid, 0 if rung == DELETE_NOW else None)
