"""Evicting and deleting pods that hold a drain up, where a user has allowed it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...common.errors import Conflict, NoConnection, Unreachable
from ...common.task import Task
from ...kubernetes.answers import NotAdmitted
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
    _reported: set[tuple[str, str]] = field(default_factory=set)
    """Those that the server has not made, and that were reported."""

    def force(self, pods: Iterable[PlacedPod], seconds: Mapping[str, float], kept: Collection[str]) -> None:
        """Remove the pods for which a rung is due, each pod once for each rung.

        `seconds` is the age of the drain of each Kubernetes node, and `kept` has the UIDs of pods that budgets keep.
        One that the server does not remove is reported, keeps no other from going, and is tried again the next time.

        Raises:
            Refusal: the user may not do that, or no server can be reached.
        """
        for pod in (each for each in pods if each.kubernetes_node in seconds):
            rung = rung_due(pod, self.rungs, seconds[pod.kubernetes_node], kept=pod.uid in kept)
            # A deletion with its grace period is under way already.
            if not rung or (pod.terminating and rung != DELETE_NOW) or (pod.uid, rung) in self._done:
                continue
            self.task.still_wanted()
            try:
                self._remove(pod, rung)
            except (EvictionKept, PodGone, Conflict):
                # One that a budget keeps, or that is gone by now, is seen at the next look.
                continue
            except NoConnection:
                raise
            except (NotAdmitted, Unreachable) as error:
                self._report(pod, rung, error.verdict.reasons[0].sentence())
            else:
                self._done.add((pod.uid, rung))

    def _remove(self, pod: PlacedPod, rung: str) -> None:
        consent = f"{rung} on {pod.kubernetes_node} (upgrade_allow_forced_drains)"
        said = {"rung": rung, "kubernetes_node": pod.kubernetes_node, "consent": consent}
        with self.task.journal.doing(("forced", f"Pod {pod.full_name}", said)):
            if rung == EVICT:
                evict(self.client, pod.namespace, pod.name, pod.uid)
            else:
                self.client.delete(pod_path(pod.namespace, pod.name), pod.uid, 0 if rung == DELETE_NOW else None)

    def _report(self, pod: PlacedPod, rung: str, cause: str) -> None:
        if (pod.uid, rung) not in self._reported:
            self._reported.add((pod.uid, rung))
            self.task.progress(f"Pod {pod.full_name} was not removed ({rung}), and is tried again. {cause}")
