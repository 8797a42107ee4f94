"""Deleting pods that a drain cannot evict, where a user has allowed it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ...common.task import Task
from ...kubernetes.client import KubernetesClient
from ...kubernetes.pods import pod_path
from ..judge.forced_drains import DELETE_NOW, ForcedRung, rung_due
from ..observe.placed_pods import placed_pods


@dataclass
class Forcing:
    """The forced acts of one batch. The time counts from its start, whatever becomes of a cordon."""

    task: Task
    client: KubernetesClient
    rungs: Sequence[ForcedRung]
    since: float
    _done: set[tuple[str, str]] = field(default_factory=set)
    """The pods by UID, and the rungs that were made for them."""

    def force(self, nodes: Collection[str]) -> None:
        """Delete the pods on these Kubernetes nodes, which are drained, for which a rung is due. Each one once a rung.

        Raises:
            Refusal: the user may not delete them.
        """
        seconds = self.task.clock.now() - self.since
        if not any(each.after <= seconds for each in self.rungs):
            return
        for pod in (each for node in nodes for each in placed_pods(self.client, node)):
            rung = rung_due(pod, self.rungs, seconds)
            # A deletion with its grace period is under way already.
            if not rung or (pod.terminating and rung != DELETE_NOW) or (pod.uid, rung) in self._done:
                continue
            self._done.add((pod.uid, rung))
            self.task.still_wanted()
            said = {"rung": rung, "kubernetes_node": pod.kubernetes_node}
            with self.task.journal.doing(("forced", f"Pod {pod.namespace}/{pod.name}", said)):
                self.client.delete(pod_path(pod.namespace, pod.name), pod.uid, 0 if rung == DELETE_NOW else None)
