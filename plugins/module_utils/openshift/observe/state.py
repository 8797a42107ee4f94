"""An OpenShift as its API server has it at one time: observations. Pure: no client."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...common.release import Release
from ...kubernetes.conditions import UNKNOWN, StatusCondition
from ...pools.disruption import matches
from .kinds import ARBITER, ARCHITECTURE, MASTER, SPARE, SYSTEM, WINDOWS, WORKER

MULTI = "Multi"
"""The architecture of a release for several ones, as the ClusterVersion names it."""
COMPLETED = "Completed"
"""The state of an update in the history that is done (`config/v1/types_cluster_version.go` of openshift/api)."""
DONE, DEGRADED = "Done", ("Degraded", "Unreconcilable")
"""States of a Kubernetes node, as its daemon says (`pkg/daemon/constants/constants.go` of machine-config-operator)."""
_SHARE = re.compile(r"(\d+)%")
_KUBELET = re.compile(r"v?1\.(\d+)\.")
RECOMMENDED = StatusCondition("True")
"""An update without risks is recommended."""


@dataclass(frozen=True)
class UpdateRisk:
    """One risk of a conditional update."""

    name: str
    message: str
    url: str


@dataclass(frozen=True)
class Update:
    """A release that the cluster is offered. One with risks is recommended only where none of them applies."""

    version: str
    image: str
    risks: tuple[UpdateRisk, ...] = ()
    recommended: StatusCondition = RECOMMENDED


@dataclass(frozen=True)
class HistoryEntry:
    """One update of the history, the newest of which comes first."""

    version: str
    state: str
    started: str
    completed: str


@dataclass(frozen=True)
class ClusterVersion:
    """The ClusterVersion."""

    cluster_id: str
    channel: str
    resource_version: str
    generation: int
    observed_generation: int
    wanted: str
    """The version of the desired update; empty if there is none."""
    desired: str
    """The version that the cluster version operator works on, or has reached."""
    history: tuple[HistoryEntry, ...]
    updates: Mapping[str, Update]
    """The releases on offer, by version."""
    conditions: Mapping[str, StatusCondition]
    upstream: str = ""
    """The URL of the update graph; empty for that of the cluster version operator itself."""
    architecture: str = ""
    """`Multi` if the release is for several architectures."""
    wanted_image: str = ""
    """The image of the desired update."""
    desired_image: str = ""
    """The image that the cluster version operator works on, or has reached."""
    wanted_more: tuple[str, ...] = ()
    """The other fields of the desired update, such as `force`, which stays after the update that it was set for. Not
    the risks that a person accepts, which may be meant for later updates (openshift/api, `Update.acceptRisks`)."""
    unmanaged: tuple[str, ...] = ()
    """The objects that the cluster version operator leaves alone (`spec.overrides`), by kind and name."""

    def condition(self, name: str) -> StatusCondition:
        """One condition; an unknown one if it is not there."""
        return self.conditions.get(name, UNKNOWN)

    @property
    def present(self) -> str:
        """The version that was completed last."""
        return next((each.version for each in self.history if each.state == COMPLETED), self.desired)

    def has_completed(self, version: str) -> bool:
        """Whether the newest update of the history is one to this version, and is completed."""
        return bool(self.history) and (self.history[0].version, self.history[0].state) == (version, COMPLETED)

    def is_commenced(self, version: str) -> bool:
        """Whether the update to this version is asked for, or under way, or completed.

        It is asked of the ClusterVersion alone: a note may be lost, or of another upgrade.
        """
        return version in {self.wanted, self.desired, *(each.version for each in self.history[:1])}

    def commenced_of(self, versions: Iterable[str]) -> str:
        """The last of these versions, in their order, whose update is commenced; empty if none is."""
        return next((each for each in reversed([*versions]) if self.is_commenced(each)), "")

    def reached_of(self, versions: Collection[str]) -> str:
        """The same; after another update that has followed one of these versions, the version of that one."""
        followed = any(each.version in versions for each in self.history)
        return self.commenced_of(versions) or (followed and (self.wanted or self.desired)) or ""

    def after(self, version: str, channel: str) -> ClusterVersion:
        """As it will be once the update to this version in this channel is completed, as far as that can be known.

        Nothing is known of the updates that it will have on offer, nor of its conditions.
        """
        history = (HistoryEntry(version, COMPLETED, "", ""), *self.history)
        reached = replace(self, channel=channel, wanted="", wanted_image="", desired=version, desired_image="")
        return replace(reached, history=history, updates={}, conditions={})


@dataclass(frozen=True)
class Operator:
    """A ClusterOperator."""

    name: str
    version: str
    available: StatusCondition
    degraded: StatusCondition

    @property
    def well(self) -> bool:
        """Whether it is available and not degraded. A condition that is not there says neither."""
        return self.available.true and self.degraded.false


@dataclass(frozen=True)
class MachineConfigPool:
    """A MachineConfigPool."""

    name: str
    paused: bool
    carries_undo: bool
    """Whether a run has left an undo on it."""
    selector: Mapping[str, object] | None
    max_unavailable: int | str
    config: str
    """The rendered configuration that its Kubernetes nodes are to have."""
    release: str
    """The version of OpenShift that this configuration belongs to; empty if it does not say."""
    degraded: StatusCondition
    limit_before: int | str | None = None
    """Its `maxUnavailable` before a run has set the present one; None if no run has."""
    is_held: bool = False
    """Whether a run has paused it. One that only carries another undo of a run was paused by a person."""
    required: bool = False
    """Whether no update of OpenShift is completed before its Kubernetes nodes are updated."""

    def at_once(self, count: int) -> int:
        """The most of its Kubernetes nodes that may be unavailable at once (machine-config-operator,
        `maxUnavailable` in `pkg/controller/node/status.go`: a percentage is rounded down, 0 counts as 1, and an arbiter
        goes alone)."""
        return 1 if self.name == ARBITER else _at_once(self.max_unavailable, count)

    def at_once_before(self, count: int) -> int:
        """The same as it was before a run has set a `maxUnavailable`."""
        return _at_once(self.max_unavailable if self.limit_before is None else self.limit_before, count)

    @property
    def is_limited(self) -> bool:
        """Whether its `maxUnavailable` can be read: as any other text the machine config operator takes none at all
        (`GetScaledValueFromIntOrPercent` in `pkg/util/intstr` of apimachinery)."""
        return isinstance(self.max_unavailable, int) or _SHARE.fullmatch(self.max_unavailable) is not None


def _at_once(given: int | str, count: int) -> int:
    if isinstance(given, int):
        return max(1, given)
    share = _SHARE.fullmatch(given)
    return max(1, math.floor(count * int(share[1]) / 100) if share else 1)


@dataclass(frozen=True)
class ConfiguredNode:
    """A Kubernetes node with what the daemon of the machine config operator says of it."""

    name: str
    labels: Mapping[str, str]
    zone: str
    created: str
    ready: bool
    unschedulable: bool
    current: str
    desired: str
    state: str
    reason: str
    wanted_drain: str
    """The drain that is asked for: `drain-…` or `uncordon-…`."""
    last_drain: str
    """The one that was done last."""
    closed_since: str = ""
    """The time of its last cordon; empty without one, or where no one has noted it."""
    pressures: tuple[str, ...] = ()
    """The things that it has too little of, each in words such as `is under memory pressure`."""
    kubelet: str = ""
    """The version of its kubelet, such as `v1.31.5`; empty if it does not say."""
    restarts_in_place: bool = False
    """Whether it restarts with its pods: nothing cordons and drains it before."""

    @property
    def kubernetes_minor(self) -> int | None:
        """The minor version of Kubernetes that its kubelet is of; None if that cannot be read."""
        found = _KUBELET.match(self.kubelet)
        return int(found[1]) if found else None

    @property
    def is_spare(self) -> bool:
        """Whether a run has added it for the time of an upgrade."""
        return SPARE in self.labels

    @property
    def is_handled(self) -> bool:
        """Whether the machine config operator is at work on it."""
        return self.current != self.desired or self.state != DONE

    def has(self, config: str) -> bool:
        """Whether it has this configuration, and is back."""
        return self.is_updated_to(config) and self.ready and not self.unschedulable

    def is_updated_to(self, config: str) -> bool:
        """Whether it has this configuration, and the machine config operator has nothing to do for it."""
        return self.current == self.desired == config and self.state == DONE


@dataclass(frozen=True)
class AdminGate:
    """An acknowledgement that OpenShift asks for before another minor version, and that is not given."""

    name: str
    text: str
    """The things to do before it is given."""


@dataclass(frozen=True)
class ApiUser:
    """One user with the program by which it asks."""

    name: str
    program: str
    """Its user agent."""
    requests: int


@dataclass(frozen=True)
class RemovedApi:
    """An API that is removed in a version of Kubernetes, with its requests in the last 24 hours."""

    name: str
    """The resource with version and group, such as `cronjobs.v1beta1.batch`."""
    removed_in: tuple[int, int]
    requests: int
    """Without those of users that ask for everything."""
    users: tuple[ApiUser, ...]
    """Those that ask most come first. The server knows about ten for each of its instances and hours."""


@dataclass(frozen=True)
class OlmOperator:
    """An operator that names the last minor version of OpenShift which it supports."""

    name: str
    """With its namespace."""
    last: tuple[int, int]


@dataclass(frozen=True)
class OpenShift:
    """OpenShift, as one look has seen it."""

    version: ClusterVersion
    operators: tuple[Operator, ...]
    pools: Mapping[str, MachineConfigPool]
    nodes: Mapping[str, ConfiguredNode]
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The Kubernetes nodes of each pool, in the order in which the machine config operator takes them."""
    releases: Mapping[str, str] = field(default_factory=dict)
    """The version of OpenShift that each rendered configuration of a Kubernetes node belongs to."""

    @cached_property
    def architecture(self) -> str:
        """The architecture of the control plane, as images name it: each kubelet labels its Kubernetes node so."""
        labels = (self.nodes[name].labels for name in self.masters if name in self.nodes)
        return next((each[ARCHITECTURE] for each in labels if each.get(ARCHITECTURE)), "amd64")

    @cached_property
    def masters(self) -> tuple[str, ...]:
        """The Kubernetes nodes of the control plane."""
        return self.members.get(MASTER, ())

    @cached_property
    def planned(self) -> Mapping[str, tuple[str, ...]]:
        """The Kubernetes nodes of each pool that batches are made of: spare ones come and go with a run."""
        return {
            pool: tuple(name for name in names if not self.nodes[name].is_spare) for pool, names in self.members.items()
        }

    @property
    def required_pools(self) -> tuple[MachineConfigPool, ...]:
        """The other pools that OpenShift updates with the control plane, before it completes an update."""
        return tuple(pool for pool in self._other_pools if pool.required)

    @cached_property
    def control_plane(self) -> tuple[str, ...]:
        """The Kubernetes nodes that OpenShift updates with the control plane, those of the control plane first."""
        return (*self.masters, *(name for pool in self.required_pools for name in self.planned[pool.name]))

    @property
    def worker_pools(self) -> tuple[MachineConfigPool, ...]:
        """All others: custom ones by name, and `worker` last, as most workloads are there."""
        return tuple(pool for pool in self._other_pools if not pool.required)

    @property
    def _other_pools(self) -> tuple[MachineConfigPool, ...]:
        others = [pool for name, pool in self.pools.items() if name != MASTER and self.members.get(name)]
        return tuple(sorted(others, key=lambda pool: (pool.name == WORKER, pool.name)))

    def is_configured(self, node: str) -> bool:
        """Whether a Kubernetes node is there and in a pool: a person may remove it, or take its label away."""
        return node in self._pools

    def pool_of(self, node: str) -> MachineConfigPool:
        """The pool of a Kubernetes node. Raises KeyError: it is in none."""
        return self._pools[node]

    @cached_property
    def _pools(self) -> Mapping[str, MachineConfigPool]:
        """By Kubernetes node."""
        return {node: self.pools[name] for name, nodes in self.members.items() for node in nodes}

    def after(self, version: str, channel: str) -> OpenShift:
        """As it will be once the update to this version is completed, see `ClusterVersion.after`."""
        return replace(self, version=self.version.after(version, channel))

    def is_done(self, node: str, target: Release) -> bool:
        """Whether a Kubernetes node is on the target: it has the configuration of its pool, which belongs to it."""
        pool = self.pool_of(node)
        return pool.release == str(target) and self.nodes[node].has(pool.config)

    def is_left(self, node: str, target: Release) -> bool:
        """Whether a Kubernetes node is still to be updated to the target. One that is not Ready or cordoned may not."""
        pool = self.pool_of(node)
        return pool.release != str(target) or not self.nodes[node].is_updated_to(pool.config)

    def has_reached(self, node: str, target: Release) -> bool:
        """Whether a Kubernetes node has a configuration of the target, and is back.

        Its pool may have got a newer one since, of a MachineConfig. The controller of a release is the only one that
        renders configurations with its version (machine-config-operator, `pkg/controller/render`).
        """
        own = self.nodes[node]
        return self.releases.get(own.current) == str(target) and own.has(own.current)


def pool_for(labels: Mapping[str, str], pools: Mapping[str, MachineConfigPool]) -> str:
    """The name of the pool of a Kubernetes node with these labels; empty if it is in none.

    One of a custom pool is none of `worker`, one of the control plane is of no other, and one of Windows is of none,
    although it is a worker (machine-config-operator, `GetPoolsForNode` and `IsWindows` in `pkg/helpers/helpers.go`).
    """
    if labels.get(SYSTEM) == WINDOWS:
        return ""
    names = [name for name, pool in pools.items() if pool.selector and matches(pool.selector, labels)]
    custom = [name for name in names if name not in (MASTER, WORKER)]
    if MASTER in names:
        return MASTER
    return next(iter(custom), "") or (WORKER if WORKER in names else "")
