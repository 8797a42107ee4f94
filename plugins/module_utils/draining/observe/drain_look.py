"""One look at Kubernetes nodes that are drained: whether they are cordoned, their pods, budgets and volumes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from ...common.reading import Json, flag, listed, part, text, within
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.kubernetes_nodes import PATH as NODES
from ...kubernetes.paths import CORE, in_namespace
from ...run.undo.undo import Change, Path
from ...run.undo.undo_annotation import carried_undo
from .drain_state import DrainedNode, DrainLook, HeldVolume
from .kept_pods import kept_pods
from .placed_pods import PODS, placed_pod
from .workloads import PlacedPod

UNSCHEDULABLE: Path = ("spec", "unschedulable")
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
_TAINT = "node.kubernetes.io/unschedulable"
"""The taint of a cordoned Kubernetes node. Its controller notes the time (`node_lifecycle_controller.go`)."""


def is_cordon(made: Change) -> bool:
    """Whether a run of this collection makes such a change of a Kubernetes node."""
    return made.path == UNSCHEDULABLE and made.was in (None, False) and made.set_to is True


def look_at_drain(client: KubernetesClient, names: Collection[str]) -> DrainLook:
    """One look.

    Raises:
        Refusal: an answer cannot be had or understood, or an undo cannot be read.
    """
    nodes = tuple(found for name in names if (found := _node(client, name)) is not None)
    present = [each.name for each in nodes]
    pods = tuple(pod for name in present for pod in _pods_on(client, name))
    kept = kept_pods(client, pods)
    seen = DrainLook(nodes, pods, kept)
    empty = [name for name in present if not seen.left_on(name)]
    held = client.list_as(ATTACHMENTS, partial(_held, empty)) if empty else []
    volumes = [each for each in held if each is not None]
    # A look at claims is made only where it decides: few pods that stay have volumes of this kind.
    staying = _used_by(client, (each for each in pods if each.kubernetes_node in empty)) if volumes else frozenset()
    left = (each for each in volumes if (each.kubernetes_node, each.volume) not in staying)
    return DrainLook(nodes, pods, kept, tuple(sorted(left, key=lambda each: (each.kubernetes_node, each.volume))))


def _node(client: KubernetesClient, name: str) -> DrainedNode | None:
    item = client.get(f"{NODES}/{name}")
    if item is None:
        return None
    with reading_object("Node", item):
        spec = part(item, "spec", {})
        cordoned = flag(spec, "unschedulable", default=False)
        tainted = [
            text(each, "timeAdded", "") for each in listed(spec, "taints", dict, ()) if text(each, "key", "") == _TAINT
        ]
    undo = carried_undo(item, is_cordon)
    since = undo.writer.at if undo is not None else next(iter(tainted), "")
    return DrainedNode(name, cordoned, undo is not None, since if cordoned else "")


def _pods_on(client: KubernetesClient, name: str) -> list[PlacedPod]:
    return client.list_as(PODS, placed_pod, field_selector=f"spec.nodeName={name}")


def _held(names: Collection[str], item: Json) -> HeldVolume | None:
    """A volume attached to one of these Kubernetes nodes, or being detached from it; None for any other."""
    with reading_object("VolumeAttachment", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
        name = text(spec, "nodeName")
        detaching = text(metadata, "deletionTimestamp", "")
        if name not in names or not (flag(status, "attached", default=False) or detaching):
            return None
        volume = within(spec, "source", lambda source: text(source, "persistentVolumeName", ""), {})
        trouble = text(part(status, "detachError", {}), "message", "")
        return HeldVolume(volume or text(metadata, "name"), name, detaching, trouble)


def _used_by(client: KubernetesClient, pods: Iterable[PlacedPod]) -> frozenset[tuple[str, str]]:
    """The volumes that pods have, with their Kubernetes nodes."""
    found = set()
    for pod in pods:
        for name in pod.claims:
            claim = client.get(in_namespace(CORE, pod.namespace, "persistentvolumeclaims", name)) or {}
            with reading_object("PersistentVolumeClaim", claim):
                found.add((pod.kubernetes_node, text(part(claim, "spec", {}), "volumeName", "")))
    return frozenset(found)
