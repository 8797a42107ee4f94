"""The pods that a drain would delete for ever, and the data that goes with pods: questions of a plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.drain_state import DrainLook
from ..observe.workloads import PlacedPod

ALLOW_UNMANAGED: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
"""The option `allow_unmanaged_pods`: patterns of namespaces."""


def unmanaged(
    pods: Iterable[PlacedPod], drained: Collection[str], allowed: Collection[str] = ()
) -> tuple[PlacedPod, ...]:
    """The pods that nothing makes again elsewhere, and whose eviction is not allowed. Those that have ended or leave
    already are none (`pkg/drain/filters.go` of kubectl)."""
    return tuple(
        each
        for each in pods
        if each.kubernetes_node in drained
        and each.is_evicted
        and not (each.owner or each.ended or each.terminating)
        and not any(fnmatchcase(each.namespace, pattern) for pattern in allowed)
    )


@as_verdict
def judge_startable(seen: DrainLook, drained: Collection[str], allowed: Collection[str] = ()) -> Iterator[Reason]:
    """Whether a drain may start: all of these Kubernetes nodes are there, and no pod would be deleted for ever."""
    missing = set(drained) - {each.name for each in seen.nodes}
    if missing:
        yield refused(
            "kubernetes_node_missing",
            f"There is no Kubernetes node {enumerate_few(missing)}, which was to be drained.",
            "Correct the name (upgrade_member of the host), or choose another cluster with kubernetes.context.",
        )
    yield from judge_undrainable(seen.pods, drained, allowed).deciding()


@as_verdict
def judge_undrainable(
    pods: Collection[PlacedPod], drained: Collection[str], allowed: Collection[str] = ()
) -> Iterator[Reason]:
    """Whether each pod on the Kubernetes nodes that will be drained is made again elsewhere, and a remark on data that
    goes with pods."""
    lost = unmanaged(pods, drained, allowed)
    if lost:
        yield refused(
            "pods_without_controller",
            f"{'Pod' if len(lost) == 1 else 'Pods'} {enumerate_few(each.full_name for each in lost)} on Kubernetes"
            f" {'node' if len({each.kubernetes_node for each in lost}) == 1 else 'nodes'}"
            f" {enumerate_few(each.kubernetes_node for each in lost)} {'has' if len(lost) == 1 else 'have'} no"
            f" controller, so a drain deletes {'it' if len(lost) == 1 else 'them'} for ever.",
            "Give them a controller such as a Deployment, delete them, or allow their namespaces with"
            " allow_unmanaged_pods.",
        )
    scratch = [
        each
        for each in pods
        if each.kubernetes_node in drained and each.is_evicted and each.has_scratch and not each.ended
    ]
    if scratch:
        yield remark(
            "scratch_data_lost",
            f"Pods with a volume of the kind emptyDir on Kubernetes nodes that will be drained: {len(scratch):,}. The"
            " data in it goes with its pod.",
            "Keep data that has to last in a PersistentVolumeClaim.",
        )
