"""Pods, budgets and Kubernetes nodes as a plan of OpenShift sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import (
    PlacedPod,
    RoomyNode,
    Workloads,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Budget


def pod(name: str, node: str = "w-0", **other: Any) -> PlacedPod:
    """A pod of a StatefulSet that is well."""
    found = PlacedPod("search", name, {"app": "data"}, node, "Running", True, False, "StatefulSet", False)
    return replace(found, **other)


def budget(name: str = "data", **other: Any) -> Budget:
    """A budget of three pods that lets one go, and that is met."""
    return replace(Budget(name, {"matchLabels": {"app": "data"}}, 1, 3, 2, 3, "search"), **other)


def node(name: str, **other: Any) -> RoomyNode:
    """A Kubernetes node in zone a that takes four pods of one processor."""
    labels = {"topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": name}
    return replace(RoomyNode(name, labels, (), False, {"cpu": 4000, "memory": 8000, "pods": 10000}), **other)


def workloads(nodes: Iterable[RoomyNode], *pods: PlacedPod, **other: Any) -> Workloads:
    """These pods on these Kubernetes nodes."""
    return replace(Workloads(pods, (), {each.name: each for each in nodes}), **other)
