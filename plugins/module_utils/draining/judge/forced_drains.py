"""The pods that may be removed although a drain has not done so, by rungs that a user has allowed. Pure.

The rungs are those of managed-upgrade-operator (`pkg/drain`), without the removal of finalizers, and only in namespaces
that are named. The first one evicts: after ten minutes the machine config operator does that every five minutes alone
(`DrainRequeueFailingDelay` in `pkg/controller/drain/drain_controller.go`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import counted, enumerate_few
from ..observe.workloads import PlacedPod

EVICT, DELETE, DELETE_NOW = "evict", "delete", "delete_now"
RUNGS = (EVICT, DELETE, DELETE_NOW)
"""Evicted as soon as the budgets let the pod go, deleted with its grace period, and without any. The last one of those
that are due counts."""
PROTECTED = ("default", "openshift", "openshift-*", "kube-*")
"""The namespaces of the platform, in which nothing is forced."""
KEPT_OWNER = "StatefulSet"
"""The kind of controller whose pods are not deleted."""
FORCED: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "rung": {"type": "str", "required": True, "choices": list(RUNGS)},
        "after": {"type": "int", "required": True},
        "namespaces": {"type": "list", "elements": "str", "required": True},
    },
}
"""The option `allow_forced_drains`."""


@dataclass(frozen=True)
class ForcedRung:
    """One rung that a user allows."""

    rung: str
    after: int
    """Seconds since the drain of the Kubernetes node began."""
    namespaces: tuple[str, ...]
    """Patterns of the namespaces in which it is allowed."""

    def __str__(self) -> str:
        return f"{self.rung} after {self.after} s in {', '.join(self.namespaces)}"


def rungs_in(given: Iterable[Mapping[str, Any]]) -> tuple[ForcedRung, ...]:
    """The rungs of the option `allow_forced_drains`, in their order."""
    found = [ForcedRung(each["rung"], int(each["after"]), tuple(each["namespaces"])) for each in given]
    return tuple(sorted(found, key=lambda each: (each.after, RUNGS.index(each.rung))))


def may_be_forced(pod: PlacedPod, rungs: Collection[ForcedRung]) -> bool:
    """Whether any rung deletes a pod, whatever budgets say."""
    return any(_covers(each, pod) for each in rungs if each.rung != EVICT)


def rung_due(pod: PlacedPod, rungs: Collection[ForcedRung], seconds: float, *, kept: bool) -> str:
    """The last rung that is due for a pod on a Kubernetes node that has been drained for so many seconds; empty if none
    is.

    A pod that is `kept` by a budget is not evicted.
    """
    due = [each.rung for each in rungs if _covers(each, pod) and each.after <= seconds]
    return due[-1] if due and not (kept and due[-1] == EVICT) else ""


def _covers(rung: ForcedRung, pod: PlacedPod) -> bool:
    """Whether a rung is for a pod: none of the platform, none that a drain leaves, and none with data is deleted."""
    if not pod.is_evicted or _is_in(pod.namespace, PROTECTED) or not _is_in(pod.namespace, rung.namespaces):
        return False
    return rung.rung == EVICT or not (pod.owner == KEPT_OWNER or pod.claims)


def _is_in(namespace: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(namespace, each) for each in patterns)


@as_verdict
def judge_forced(
    pods: Iterable[PlacedPod], drained: Collection[str], rungs: Collection[ForcedRung]
) -> Iterator[Reason]:
    """A remark on what the rungs allow, with the number of pods that they cover now."""
    if rungs:
        covered = [each for each in pods if each.kubernetes_node in drained and may_be_forced(each, rungs)]
        named = enumerate_few(f"{each.namespace}/{each.name}" for each in covered) or "none now"
        yield remark(
            "drains_forced",
            f"Pods that hold a drain up are forced ({'; '.join(map(str, rungs))}). {counted(len(covered), 'pod')} may"
            f" be deleted: {named}.",
            "Take a namespace out of allow_forced_drains if its pods may not be deleted.",
        )
