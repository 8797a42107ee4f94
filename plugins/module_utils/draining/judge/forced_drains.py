"""The pods that may be deleted although a drain cannot evict them, by rungs that a user has allowed. Pure.

The rungs are those of managed-upgrade-operator (`pkg/drain`), without the removal of finalizers, and only in namespaces
that are named. A drain evicts again by itself, so that is no rung.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import enumerate_few
from ..observe.workloads import PlacedPod

DELETE, DELETE_NOW = "delete", "delete_now"
RUNGS = (DELETE, DELETE_NOW)
"""Deleted with the grace period of the pod, and without any. The later one of two that are due counts."""
PROTECTED = ("default", "openshift", "openshift-*", "kube-*")
"""The namespaces of the platform, in which nothing is forced."""
KEPT_OWNERS = ("StatefulSet", "DaemonSet")
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
    """Seconds since the Kubernetes node was taken."""
    namespaces: tuple[str, ...]
    """Patterns of the namespaces in which it is allowed."""

    def __str__(self) -> str:
        return f"{self.rung} after {self.after} s in {', '.join(self.namespaces)}"


def rungs_in(given: Iterable[Mapping[str, Any]]) -> tuple[ForcedRung, ...]:
    """The rungs of the option `allow_forced_drains`, in their order."""
    found = [ForcedRung(each["rung"], int(each["after"]), tuple(each["namespaces"])) for each in given]
    return tuple(sorted(found, key=lambda each: (each.after, RUNGS.index(each.rung))))


def may_be_forced(pod: PlacedPod, rungs: Collection[ForcedRung]) -> bool:
    """Whether any rung covers a pod: none of the platform, none with data of its own, and none that stays anyway."""
    return any(_covers(each, pod) for each in rungs)


def rung_due(pod: PlacedPod, rungs: Collection[ForcedRung], seconds: float) -> str:
    """The last rung that is due for a pod on a Kubernetes node that was taken so many seconds ago; empty if none is."""
    due = [each.rung for each in rungs if _covers(each, pod) and each.after <= seconds]
    return due[-1] if due else ""


def _covers(rung: ForcedRung, pod: PlacedPod) -> bool:
    if pod.is_static or pod.owner in KEPT_OWNERS or pod.claims or _is_in(pod.namespace, PROTECTED):
        return False
    return _is_in(pod.namespace, rung.namespaces)


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
            f"Pods that a drain cannot evict are deleted ({'; '.join(map(str, rungs))}). {len(covered)} pods are"
            f" covered: {named}.",
            "Take a namespace out of allow_forced_drains if its pods may not be deleted.",
        )
