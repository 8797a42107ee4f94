"""Kubernetes nodes that are drained, their pods and volumes: observations. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .workloads import KeptPod, PlacedPod


@dataclass(frozen=True)
class DrainedNode:
    """A Kubernetes node that is drained."""

    name: str
    cordoned: bool
    ours: bool
    """Whether a run of this collection has cordoned it, so that it carries the undo."""
    since: str
    """The time at which it was cordoned, from its own data; empty if it is not known."""


@dataclass(frozen=True)
class HeldVolume:
    """A volume that is attached to a Kubernetes node (storage.k8s.io/v1, `VolumeAttachment`)."""

    volume: str
    """The name of its PersistentVolume; that of the attachment for a volume of a pod alone."""
    kubernetes_node: str
    detaching_since: str
    """Empty while nothing has asked to detach it."""
    trouble: str
    """The last error of its detachment."""


@dataclass(frozen=True)
class DrainLook:
    """Kubernetes nodes that are drained, as one look has seen them."""

    nodes: tuple[DrainedNode, ...]
    """Those that are still there."""
    pods: tuple[PlacedPod, ...]
    """The pods on them, also those that have ended."""
    kept: tuple[KeptPod, ...] = ()
    held: tuple[HeldVolume, ...] = ()
    """The volumes attached to Kubernetes nodes from which every pod that a drain removes is gone, without those that
    pods use which stay there."""

    def left_on(self, name: str) -> tuple[PlacedPod, ...]:
        """The pods on a Kubernetes node that a drain removes."""
        return tuple(each for each in self.pods if each.kubernetes_node == name and each.is_evicted)

    @property
    def since(self) -> dict[str, str]:
        """The time at which each Kubernetes node was cordoned, if it is known."""
        return {each.name: each.since for each in self.nodes if each.since}
