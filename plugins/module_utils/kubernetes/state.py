"""A pool and its members as Kubernetes sees them: observations. Pure: no client."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.errors import NotUnderstood


@dataclass(frozen=True)
class Owner:
    """An ownerReference."""

    kind: str
    name: str
    api_version: str
    controller: bool


@dataclass(frozen=True)
class StatefulSet:
    """One StatefulSet at one time. Counters are 0 and revisions None if the JSON has none (a set just created)."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    observed_generation: int | None
    replicas: int
    first_ordinal: int
    update_strategy: Mapping[str, Any]
    pod_management_policy: str
    selector: str
    update_revision: str | None
    images: Mapping[str, str]
    init_images: Mapping[str, str]
    owner: Owner | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    managers: tuple[str, ...]
    """The field managers that have set any of its fields (status left out)."""
    claims: tuple[str, ...]
    """The names of its claim templates: volumes that each pod finds again."""
    has_readiness_probe: bool
    template: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The spec of the pod template as it is."""
    template_marks: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False, compare=False)
    """The labels and annotations of the pod template."""
    fields: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, compare=False)
    """The entries of `managedFields`, without those of subresources."""
    service_name: str = ""
    """The name of its headless Service."""
    min_ready_seconds: int = 0
    """The time for which a pod has to be Ready until it counts as available."""
    available: int = 0
    """The number of its pods that are available."""

    @property
    def in_order(self) -> bool:
        """Whether its controller makes no pod before those of lower ordinal are Ready."""
        return self.pod_management_policy == "OrderedReady"

    @property
    def strategy(self) -> str:
        """`OnDelete` or `RollingUpdate`."""
        return str(self.update_strategy.get("type") or "RollingUpdate")

    @property
    def partition(self) -> int:
        """The place below which RollingUpdate keeps pods on their revision; 0 if none is set."""
        return int((self.update_strategy.get("rollingUpdate") or {}).get("partition") or 0)

    def ordinal(self, pod: str) -> int | None:
        """The ordinal of one of this set's pods, or None if the set makes no pod of that name."""
        ordinal = self.ordinal_in(pod)
        if ordinal is None or not self.first_ordinal <= ordinal < self.first_ordinal + self.replicas:
            return None
        return ordinal

    def ordinal_in(self, pod: str) -> int | None:
        """The ordinal in the name of a pod of this set, whether the set keeps that pod or not; None in another name."""
        prefix, _dash, number = pod.rpartition("-")
        return int(number) if prefix == self.name and number.isdecimal() and str(int(number)) == number else None

    def place(self, pod: str) -> int:
        """The place among this set's pods, from 0, as a partition counts; 0 for a pod that is none of them."""
        ordinal = self.ordinal(pod)
        return 0 if ordinal is None else ordinal - self.first_ordinal

    def member_names(self) -> tuple[str, ...]:
        """The names of all the pods this set keeps, in order."""
        return tuple(f"{self.name}-{self.first_ordinal + index}" for index in range(self.replicas))


@dataclass(frozen=True)
class Container:
    """The state of one container; `reason` and `message` belong to a state of waiting or terminated."""

    name: str
    image: str
    state: str
    """It is `waiting`, `running`, `terminated`, or empty while nothing is known of it."""
    reason: str
    message: str
    exit_code: int | None
    restart_count: int
    last_reason: str
    last_exit_code: int | None
    ready: bool
    init: bool
    identity: str = ""
    """The name of this very start of the container, which no other start has; empty before its first one."""


@dataclass(frozen=True)
class Pod:
    """One pod at one time. A name is reused by its successor: only the UID says which pod it is."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str]
    revision: str
    phase: str
    reason: str
    message: str
    ready: bool
    terminating: bool
    grace_seconds: int
    """The seconds that a terminating pod is given to stop; 0 once the kubelet has stopped it and let go of it."""
    finalizers: tuple[str, ...]
    """Marks of others who have work to do before the object goes; each removes its own when it is done."""
    kubernetes_node: str
    """The name of its Kubernetes node; empty while it is not scheduled."""
    scheduling_message: str
    address: str
    images: Mapping[str, str]
    containers: tuple[Container, ...]
    owner_uid: str
    """The UID of its controller; empty if it has none."""
    created: str
    owner: str = ""
    """The kind and the name of its controller."""
    owner_version: str = ""
    """The apiVersion of its controller."""
    ready_since: str = ""
    """The last time at which it became Ready, or ceased to be."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Its spec as it is."""


@dataclass(frozen=True)
class Unread:
    """A pod that cannot be read, with what is known of which one it is."""

    name: str
    address: str
    """Its address; empty if that cannot be read either."""
    error: NotUnderstood


@dataclass(frozen=True)
class Namespace:
    """The StatefulSets and pods of a namespace at one time."""

    name: str
    sets: tuple[StatefulSet, ...]
    pods: tuple[Pod, ...]
    """All its pods that can be read, whoever owns them."""
    unread: tuple[Unread, ...] = ()

    def pods_of(self, pool: StatefulSet) -> dict[str, Pod]:
        """The pods that belong to a StatefulSet, by name."""
        return {each.name: each for each in self.pods if each.owner_uid == pool.uid}

    def need(self, names: Collection[str], addresses: Collection[str] = ()) -> None:
        """Check that every existing pod with one of these names or addresses can be read.

        Raises:
            NotUnderstood: one of them cannot be read.
        """
        for each in self.unread:
            if each.name in names or each.address in addresses:
                raise each.error


@dataclass(frozen=True)
class KubernetesEvent:
    """One event about an object."""

    type: str
    reason: str
    message: str
    count: int
    last_seen: str

    def sentence(self) -> str:
        """One line for people."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.last_seen} {self.reason}{times}: {' '.join(self.message.split())}"


Selector = Mapping[str, Any]


@dataclass(frozen=True)
class Budget:
    """One budget as its controller sees it."""

    name: str
    selector: Selector | None
    allowed: int
    """The number of further pods that may be away now."""
    healthy: int
    desired: int
    expected: int
    namespace: str = ""
    unready_go: bool = False
    """Whether pods that are not Ready may always go (`unhealthyPodEvictionPolicy`)."""
    closed_since: str = ""
    """The time since which it lets no pod go, as its controller has noted it; empty if it lets one go."""

    @property
    def most(self) -> int:
        """The number of its pods that may be away at once when all are healthy."""
        return max(0, self.expected - self.desired)
