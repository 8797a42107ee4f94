"""A small OpenShift for tests, and short questions to one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.openshift.description import Described, Graph, KubernetesNode, Pool, Release
from tests.sandbox.openshift.habits import KIND, Habits, Pace
from tests.sandbox.openshift.openshift import OpenShift

STABLE, NEXT = "stable-4.18", "stable-4.19"
GRAPH = Graph(
    (
        Release("4.18.1", (STABLE,)),
        Release("4.18.2", (STABLE, NEXT)),
        Release("4.18.3", (STABLE, NEXT)),
        Release("4.19.0", (NEXT,)),
    ),
    (("4.18.1", "4.18.2"), ("4.18.1", "4.18.3"), ("4.18.2", "4.18.3"), ("4.18.2", "4.19.0"), ("4.18.3", "4.19.0")),
)

FAR = Graph(
    (
        Release("4.18.2", (STABLE, NEXT)),
        Release("4.19.0", (NEXT, "stable-4.20")),
        Release("4.19.4", (NEXT, "stable-4.20")),
        Release("4.20.2", ("stable-4.20",)),
    ),
    (("4.18.2", "4.19.0"), ("4.18.2", "4.19.4"), ("4.19.0", "4.20.2"), ("4.19.4", "4.20.2")),
)
"""From an even minor version over an odd one to the next even one."""
LONG = Graph(
    (
        Release("4.19.4", ("stable-4.19", "stable-4.20")),
        Release("4.20.2", ("stable-4.20", "stable-4.21")),
        Release("4.21.0", ("stable-4.21", "stable-4.22")),
        Release("4.22.1", ("stable-4.22",)),
    ),
    (("4.19.4", "4.20.2"), ("4.20.2", "4.21.0"), ("4.21.0", "4.22.1")),
)
"""From an odd minor version over three others."""
ZONES = ("a", "b", "c")
FEW = ("etcd", "kube-apiserver", "monitoring", "machine-config")


def pool(name: str, count: int = 3, zones: tuple[str, ...] = ZONES, **more: Any) -> Pool:
    """A pool of Kubernetes nodes, spread over the zones."""
    nodes = tuple(KubernetesNode(f"{name}-{place}", zones[place % len(zones)]) for place in range(count))
    return Pool(name, nodes, **more)


SMALL = Described("4.18.1", GRAPH, (pool("master"), pool("worker")), operators=FEW)


def built(habits: Habits = KIND, pace: Pace | None = None, **other: Any) -> OpenShift:
    """An OpenShift of three masters and three workers in 4.18.1, with other fields of the description as given."""
    return OpenShift(replace(SMALL, **other), habits, pace)


def status(item: Json, condition: str) -> str:
    """The status of a condition; empty: there is none."""
    return str(condition_of(item, condition).get("status", ""))


def versions(found: OpenShift, field: str = "availableUpdates") -> list[str]:
    """The versions in a list of the ClusterVersion."""
    items = found.version()["status"].get(field) or []
    return [(each.get("release") or each)["version"] for each in items]


def history(found: OpenShift) -> list[tuple[str, str]]:
    """Versions and states of the history, the latest first."""
    return [(each["version"], each["state"]) for each in found.version()["status"]["history"]]
