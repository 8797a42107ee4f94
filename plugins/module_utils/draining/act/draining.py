"""Each change of a drain: cordoning Kubernetes nodes for a while, and evicting pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ...common.errors import Conflict, Refusal, Unreachable
from ...common.task import Task
from ...common.verdict import Reason
from ...kubernetes.answers import NotAdmitted
from ...kubernetes.client import KubernetesClient
from ...kubernetes.evictions import EvictionKept, PodGone, evict
from ...kubernetes.kubernetes_nodes import PATH as NODES
from ...run.lock.lease import lease_at
from ...run.lock.lock_watch import Writers
from ...run.undo.temporary_changes import change, judge_undo, put_back
from ..judge.drained import EvictionAnswers
from ..observe.drain_look import UNSCHEDULABLE, is_cordon
from ..observe.workloads import PlacedPod

AT_ONCE = 8
"""The most evictions that are asked for at the same time."""


class Draining:
    """The acts of one task. `module` is the module whose option `take_over` puts back what another run has cordoned."""

    def __init__(self, task: Task, client: KubernetesClient, module: str, at_once: int = AT_ONCE) -> None:
        self._task, self._client, self._at_once = task, client, at_once
        self._writers = Writers(task, partial(lease_at, client), module)

    def cordon(self, name: str) -> bool:
        """Cordon a Kubernetes node, with the undo in the same request. The result says whether there was anything to
        do.

        One that a person has cordoned stays as it is, and is never uncordoned by a run.

        Raises:
            Refusal: there is no such Kubernetes node, or the run lives whose undo it carries.
        """
        path, wanted = f"{NODES}/{name}", {UNSCHEDULABLE: True}
        if change(self._task, self._client, path, wanted, is_cordon, self._writers.judge):
            return True
        # A live run that has cordoned it works there.
        judge_undo(self._client, path, is_cordon, self._writers.judge)
        return False

    def uncordon(self, name: str) -> tuple[Reason, ...]:
        """Uncordon a Kubernetes node that a run has cordoned. The result names a value that another has changed since.

        Raises:
            Refusal: the run lives that has cordoned it.
        """
        return put_back(self._task, self._client, f"{NODES}/{name}", is_cordon, self._writers.judge)[1]

    def evict(self, pods: Sequence[PlacedPod]) -> EvictionAnswers:
        """Ask once for the eviction of each pod, several at the same time. In check mode the server only answers.

        A pod that is gone, or whose name another pod has by now, needs no eviction. If no request of one round is
        answered, the others are not made.

        Raises:
            Refusal: this task may not act, or the user lacks the right.
        """
        kept: dict[str, str] = {}
        twice: set[str] = set()
        refused: dict[str, str] = {}
        for start in range(0, len(pods), self._at_once):
            lot = pods[start : start + self._at_once]
            if not self._task.check_mode:
                self._task.still_wanted()
            with ThreadPoolExecutor(max_workers=len(lot)) as pool:
                errors = list(pool.map(self._evict, lot))
            for pod, error in zip(lot, errors, strict=True):
                if isinstance(error, EvictionKept):
                    kept[pod.uid] = _words(error)
                    twice |= {pod.uid} if error.covered_twice else set()
                elif isinstance(error, (NotAdmitted, Unreachable)):
                    refused[pod.uid] = _words(error)
            _raise_first(error for error in errors if not isinstance(error, _OF_ONE_POD))
            if all(isinstance(error, Unreachable) for error in errors):
                break
        return EvictionAnswers(kept, frozenset(twice), refused)

    def _evict(self, pod: PlacedPod) -> Refusal | None:
        said = {"kubernetes_node": pod.kubernetes_node}
        try:
            with self._task.journal.doing(("evicted", f"Pod {pod.full_name}", said)):
                evict(self._client, pod.namespace, pod.name, pod.uid, dry_run=self._task.check_mode)
        except Refusal as error:
            return error
        return None


_OF_ONE_POD = (EvictionKept, PodGone, Conflict, NotAdmitted, Unreachable)
"""The answers after which the next pod is asked for."""


def _words(error: EvictionKept | NotAdmitted | Unreachable) -> str:
    if isinstance(error, Unreachable):
        return " ".join(reason.message for reason in error.verdict.reasons)
    return error.said


def _raise_first(errors: Iterable[Refusal | None]) -> None:
    for error in errors:
        if error is not None:
            raise error
