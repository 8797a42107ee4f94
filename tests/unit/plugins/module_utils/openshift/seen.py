"""Observations of a small OpenShift: three masters and three workers on 4.18.1, with 4.18.2 on offer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import (
    ClusterVersion,
    ConfiguredNode,
    HistoryEntry,
    MachineConfigPool,
    OpenShift,
    Operator,
    Update,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.target import UpgradeTarget

OLD, NEW = "4.18.1", "4.18.2"
TRUE, FALSE = StatusCondition("True"), StatusCondition("False")
DONE = HistoryEntry(OLD, "Completed", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")
NAMES = {"master": ("m-0", "m-1", "m-2"), "worker": ("w-0", "w-1", "w-2")}


def version(**other: Any) -> ClusterVersion:
    """The ClusterVersion."""
    offered = {each: Update(each, f"release:{each}") for each in (NEW, "4.18.3", "4.19.0")}
    found = ClusterVersion("id", "stable-4.18", "7", 1, 1, "", OLD, (DONE,), offered, {})
    return replace(found, **other)


def under_way(state: str = "Partial", **other: Any) -> ClusterVersion:
    """The ClusterVersion with the update to 4.18.2 under way."""
    newest = HistoryEntry(NEW, state, "2026-02-01T00:00:00Z", "")
    return version(**{"wanted": NEW, "desired": NEW, "history": (newest, DONE), **other})


def config(pool: str, of: str) -> str:
    """The name of a rendered configuration."""
    return f"rendered-{pool}-{of}"


def pool(name: str, of: str = OLD, **other: Any) -> MachineConfigPool:
    """A pool."""
    found = MachineConfigPool(name, False, False, {"matchLabels": {"role": name}}, 1, config(name, of), of, FALSE)
    return replace(found, **other)


def node(name: str, of: str = OLD, **other: Any) -> ConfiguredNode:
    """A Kubernetes node that is as its pool was in a version."""
    kind = "master" if name.startswith("m") else "worker"
    its = config(kind, of)
    drain = f"uncordon-{its}"
    found = ConfiguredNode(name, {"role": kind}, "a", "", True, False, its, its, "Done", "", drain, drain)
    return replace(found, **other)


def openshift(**other: Any) -> OpenShift:
    """All of it."""
    nodes = {name: node(name) for names in NAMES.values() for name in names}
    operators = (Operator("etcd", OLD, TRUE, FALSE), Operator("monitoring", OLD, TRUE, FALSE))
    releases = {config(name, of): of for name in NAMES for of in (OLD, NEW)}
    found = OpenShift(version(), operators, {name: pool(name) for name in NAMES}, nodes, NAMES, releases)
    return replace(found, **other)


def target(wanted: str = NEW, *accepted: str, **other: Any) -> UpgradeTarget:
    """The target, in the present channel."""
    return replace(UpgradeTarget(Release.parse(wanted), "stable-4.18", accepted=accepted), **other)
