"""An OpenShift in a few words: its version, the update graph, pools of Kubernetes nodes, operators, machine sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.sandbox.openshift.registry import image_of

OPERATORS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "authentication",
    "image-registry",
    "ingress",
    "monitoring",
    "network",
    "dns",
    "machine-config",
)
"""Some of the thirty that there are, in the order of their manifests: `machine-config` is among the last."""
MACHINE_CONFIG_OPERATOR = "machine-config"


@dataclass(frozen=True)
class Risk:
    """One risk of a conditional edge."""

    name: str
    message: str = "Pods may not start."
    applies: bool | None = True
    """Whether it applies to this cluster; None: that cannot be evaluated."""

    @property
    def url(self) -> str:
        """Its page."""
        return f"https://issues.test/{self.name}"


@dataclass(frozen=True)
class Release:
    """One node of the update graph."""

    version: str
    channels: tuple[str, ...] = ("stable-4.18",)

    @property
    def image(self) -> str:
        """Its image, by digest."""
        return image_of(self.version)


@dataclass(frozen=True)
class ConditionalEdge:
    """An edge that is only for clusters to which no risk of it applies."""

    origin: str
    target: str
    risks: tuple[Risk, ...]


@dataclass(frozen=True)
class Graph:
    """The update graph: releases, edges by version, conditional edges."""

    releases: tuple[Release, ...]
    edges: tuple[tuple[str, str], ...] = ()
    conditional: tuple[ConditionalEdge, ...] = ()

    def release(self, version: str) -> Release | None:
        """The release of a version."""
        return next((each for each in self.releases if each.version == version), None)


@dataclass(frozen=True)
class KubernetesNode:
    """One Kubernetes node. They are as old as their order in the description says, the first one the oldest."""

    name: str
    zone: str = "a"
    """Empty: it has no label with a zone."""


@dataclass(frozen=True)
class Pool:
    """One MachineConfigPool; each but `master` and `worker` is a custom one, whose Kubernetes nodes are workers too."""

    name: str
    nodes: tuple[KubernetesNode, ...] = ()
    max_unavailable: int | str | None = None
    paused: bool = False


@dataclass(frozen=True)
class MachineSet:
    """One MachineSet of workers in a zone. Its machines are Ready from the start."""

    name: str
    zone: str = "a"
    replicas: int = 1
    machine_pool: str = "worker"
    """Its label `hive.openshift.io/machine-pool`, which managed clusters have; empty: it has none."""


@dataclass(frozen=True)
class Described:
    """A whole OpenShift."""

    version: str
    graph: Graph
    pools: tuple[Pool, ...]
    channel: str = "stable-4.18"
    operators: tuple[str, ...] = OPERATORS
    machine_sets: tuple[MachineSet, ...] = ()
    gates: Mapping[str, str] = field(default_factory=dict)
    """The acknowledgements that are asked for, such as `ack-4.18-kube-1.32-api-removals`, each with its text.

    A release brings those of its minor version and of earlier ones (`gates_of`).
    """
    removed_apis: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """By resource, such as `flowschemas.v1beta3.flowcontrol.apiserver.k8s.io`: the release without it, and requests."""
    operator_on: str = ""
    """The master on which the pod of the machine-config operator runs; empty: the first one."""

    @property
    def is_single(self) -> bool:
        """Whether its control plane has one Kubernetes node, which takes workloads if there is no other one."""
        return sum(len(each.nodes) for each in self.pools if each.name == "master") == 1

    def gates_of(self, version: str) -> dict[str, str]:
        """The acknowledgements of which a release knows: it brings them in a ConfigMap among its manifests."""
        return {name: said for name, said in self.gates.items() if _minor(name.split("-")[1]) <= _minor(version)}


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split(".")[:2])
