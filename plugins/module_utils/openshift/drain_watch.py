"""The drains of a batch, watched by one task: since when they last, the pods that are kept, and forced acts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ..common.task import Task
from ..common.timestamps import now_text, timestamp_of, utc_now
from ..draining.act.forcing import Forcing
from ..draining.judge.forced_drains import rungs_in
from ..draining.observe.kept_pods import kept_pods, pods_on
from ..draining.observe.workloads import KeptPod
from ..kubernetes.client import KubernetesClient
from ..run.record.lasting import Lasting, note_lasting
from .judge.progress import is_drained
from .observe.state import ConfiguredNode, OpenShift

BETWEEN_LOOKS = 5.0
"""Seconds between two looks at the pods. A batch that is just taken is looked at more often than that."""


@dataclass
class DrainWatch:
    """The drains of one task.

    The age of a drain belongs to the request of the machine config operator (`desiredDrain`), and the record keeps it
    from the first look on. A later cordon, after a person has opened the Kubernetes node, does not change it.
    """

    task: Task
    client: KubernetesClient
    kept: tuple[KeptPod, ...] = ()
    """The pods that budgets have kept at the last look."""
    _since: dict[tuple[str, str], str] = field(default_factory=dict)
    """The time of the start by Kubernetes node and request."""

    def __post_init__(self) -> None:
        self._rungs = rungs_in(self.task.params["allow_forced_drains"])
        self._forcing = Forcing(self.task, self.client, self._rungs)

    _looked: float | None = None

    def look(self, seen: OpenShift, names: Collection[str]) -> None:
        """Look at the drains of these Kubernetes nodes, and make the forced acts that are due.

        Raises:
            Refusal: the pods cannot be had or understood, or the user may not remove them.
        """
        at = self.task.clock.now()
        if self._looked is not None and at - self._looked < BETWEEN_LOOKS:
            return
        self._looked = at
        drained = {name: seen.nodes[name] for name in names if name in seen.nodes and is_drained(seen.nodes[name])}
        pods = pods_on(self.client, drained)
        kept = kept_pods(self.client, pods)
        held_up = {each.kubernetes_node for each in kept}
        since = self._times([each for name, each in drained.items() if self._rungs or name in held_up])
        self.kept = tuple(replace(each, since=since[each.kubernetes_node]) for each in kept)
        if self._rungs:
            now = utc_now()
            seconds = {name: (now - timestamp_of(time)).total_seconds() for name, time in since.items()}
            self._forcing.force(pods, seconds, {each.uid for each in kept})

    def _times(self, drained: Collection[ConfiguredNode]) -> dict[str, str]:
        """The start of each drain. The record is asked once for each."""
        new = [each for each in drained if (each.name, each.wanted_drain) not in self._since]
        found = note_lasting(
            self.task, [Lasting(each.name, each.wanted_drain, each.closed_since or now_text()) for each in new]
        )
        self._since |= {(each.name, each.wanted_drain): found[each.name] for each in new}
        return {each.name: self._since[each.name, each.wanted_drain] for each in drained}
