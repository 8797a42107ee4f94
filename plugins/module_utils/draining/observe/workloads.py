"""The pods of all namespaces with their rules of placement, the Kubernetes nodes, and budgets: observations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...kubernetes.state import Budget
from ...pools.disruption import matches

ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class LabelRule:
    """One requirement of a node selector term (core/v1, `NodeSelectorRequirement`)."""

    key: str
    operator: str
    values: tuple[str, ...]


Term = tuple[LabelRule, ...]
"""All its rules have to hold. A field is a rule, too, and the only one that there is (`metadata.name`) is no label."""


@dataclass(frozen=True)
class Toleration:
    """A toleration of a pod. An empty key with `Exists` tolerates everything, an empty effect all effects."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True)
class Taint:
    """A taint of a Kubernetes node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class PlacementRules:
    """The rules for where a pod may run, as far as they are about the Kubernetes node alone."""

    labels: tuple[tuple[str, str], ...] = ()
    """Its nodeSelector."""
    terms: tuple[Term, ...] | None = None
    """Its required node affinity, of which one term has to hold; None if it has none."""
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True)
class PlacedPod:
    """A pod as the scheduler and a drain see it."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    kubernetes_node: str
    """Empty while it is not scheduled."""
    phase: str
    ready: bool
    terminating: bool
    owner: str
    """The kind of its controller; empty if it has none."""
    is_static: bool
    """Whether the kubelet runs it from a file, so that the API server has a mirror of it alone."""
    owner_name: str = ""
    uid: str = ""
    requests: Mapping[str, int] = field(default_factory=dict)
    """By resource, in thousandths."""
    rules: PlacementRules = PlacementRules()
    claims: tuple[str, ...] = ()
    """The names of its PersistentVolumeClaims."""
    by_other_pods: bool = False
    """Whether a required affinity or anti-affinity to other pods is on it."""
    is_spread: bool = False
    """Whether a topology spread constraint may keep it from being scheduled."""
    has_scratch: bool = False
    """Whether it has a volume of the kind emptyDir, whose data goes with the pod."""
    finalizers: tuple[str, ...] = ()
    ends: str = ""
    """The end of its grace period, once its deletion was asked for (`deletionTimestamp`)."""

    @property
    def full_name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        """Whether its containers have ended for good."""
        return self.phase in ENDED

    @property
    def is_evicted(self) -> bool:
        """Whether a drain removes it: none of a DaemonSet, and no static one (`pkg/drain/filters.go` of kubectl)."""
        return self.owner != "DaemonSet" and not self.is_static

    @property
    def needs_budget(self) -> bool:
        """Whether its eviction asks for the budgets that cover it (`canIgnorePDB` in
        `pkg/registry/core/pod/storage/eviction.go` of Kubernetes)."""
        return self.is_evicted and not self.terminating and self.phase not in (*ENDED, "Pending")


@dataclass(frozen=True)
class KeptPod:
    """A pod, and a budget that keeps it now."""

    namespace: str
    name: str
    kubernetes_node: str
    budget: Budget
    covered_twice: bool = False
    """Whether further budgets cover the pod, so that Kubernetes never evicts it."""
    uid: str = ""
    since: str = ""
    """The time since which its Kubernetes node is drained; empty if that is not known."""

    @property
    def full_name(self) -> str:
        """The namespace and the name of the pod."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class RoomyNode:
    """A Kubernetes node as the scheduler sees it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    closed: bool
    """Whether it is cordoned."""
    allocatable: Mapping[str, int]
    """By resource, in thousandths."""


@dataclass(frozen=True)
class VolumeReplica:
    """A replica of a volume of Longhorn."""

    volume: str
    kubernetes_node: str
    healthy: bool = True
    """Whether its data is whole."""
    used: bool = True
    """Whether it was ever healthy or failed. One that never was has no data."""
    stopped: bool = False
    """Whether it is stopped, and is to be."""


@dataclass(frozen=True)
class Workloads:
    """All pods of the cluster, and what limits where they go."""

    pods: tuple[PlacedPod, ...]
    budgets: tuple[Budget, ...]
    nodes: Mapping[str, RoomyNode] = field(default_factory=dict)
    volumes: Mapping[tuple[str, str], tuple[Term, ...]] = field(default_factory=dict)
    """The terms of the volume of each claim, by namespace and name, if it cannot be used everywhere."""
    longhorn: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The claims that have a volume of Longhorn, by namespace and name, with the name of that volume."""
    replicas: tuple[VolumeReplica, ...] = ()
    """The replicas of all volumes of Longhorn, whether these are in use or not."""
    drain_policy: str = ""
    """The value of `node-drain-policy` of Longhorn; empty if there is none, or if it is not known."""


def is_of_manager(budget: Budget) -> bool:
    """Whether a budget is that of an instance manager of Longhorn (`GetInstanceManagerLabels` in `types/types.go` of
    longhorn-manager)."""
    labels = (budget.selector or {}).get("matchLabels") or {}
    return bool(labels.get("longhorn.io/component") == "instance-manager")


def covering(budgets: Iterable[Budget], pod: PlacedPod) -> tuple[Budget, ...]:
    """The budgets that keep a pod now: the one that covers it and lets no pod go, or all if there are several.

    The API server evicts no pod that more than one budget covers (`pkg/registry/core/pod/storage/eviction.go`).
    """
    found = tuple(each for each in budgets if each.namespace == pod.namespace and matches(each.selector, pod.labels))
    return found if len(found) > 1 or any(_keeps(each, pod) for each in found) else ()


def _keeps(budget: Budget, pod: PlacedPod) -> bool:
    """Whether a budget keeps a pod. One that is not Ready may go while the budget is met, or always."""
    if budget.allowed > 0:
        return False
    return pod.ready or not (budget.unready_go or budget.healthy >= budget.desired > 0)
