"""The machines of a kubeadm cluster as a run sees them: Kubernetes nodes and what kubeadm runs on them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...common.release import Release, release_in

IDENTITY = "machines"
"""The name of the cluster for its lock and its record: a Kubernetes API has one set of machines."""
ETCD, API_SERVER = "etcd", "kube-apiserver"
ID_DIGITS = 32
FOLLOWING = ("kube-controller-manager", "kube-scheduler")
"""The components that may not be newer than any API server that they ask."""


@dataclass(frozen=True)
class KubeadmMachine:
    """A Kubernetes node, which is one machine."""

    name: str
    kubelet: str
    """The version of its kubelet, such as 1.35.1."""
    ready: bool
    closed: bool
    """Whether it is cordoned."""
    carries_undo: bool
    """Whether a run has cordoned it, and not yet put that back."""
    control_plane: bool
    zone: str
    created: str
    leaving: bool
    """Whether it is being deleted."""
    canary: bool
    """Whether a person wants it to go first of its kind."""
    owner: str
    """The kind of its owner at Cluster API; empty without one."""
    pressures: tuple[str, ...] = ()
    """The things that it has too little of, in words."""
    cluster: str = ""
    """Namespace and name of its Cluster at Cluster API, with a slash; empty without one."""
    addresses: tuple[str, ...] = ()
    """Its addresses and host names."""
    operation: str = ""
    """The operation of its agent whose end no run has read yet; empty without one."""
    system: str = ""
    """The id of the machine itself (`systemUUID`), which another one of its name does not have; empty if not known."""
    machine_id: str = ""
    """The content of `/etc/machine-id` when its kubelet has started; empty if it is not one of systemd."""
    pods_before: str = ""
    """The note of the controllers that had Ready pods on it before it went; empty without one (`ready_before.NOTE`)."""

    @property
    def is_kept(self) -> bool:
        """Whether it is cordoned, and by no run."""
        return self.closed and not self.carries_undo

    def is_on(self, target: str) -> bool:
        """Whether its kubelet is on the target."""
        return is_build_of(self.kubelet, target)


@dataclass(frozen=True)
class Component:
    """A static pod of the control plane on one machine."""

    name: str
    machine: str
    version: str
    """From the tag of its image; that of etcd is etcd's own."""
    ready: bool


@dataclass(frozen=True)
class OwnedWorkers:
    """The machines of one MachineDeployment, or of a KubeadmControlPlane."""

    called: str
    """Its name in sentences."""
    total: int
    """The machines that it is to have."""
    kubernetes_nodes: tuple[str, ...]
    """Those of its Machines, without the ones that are being deleted."""
    most: str
    """Its `maxUnavailable`: a number, or a percentage of them; empty if it gives none."""
    rolls_out: bool = False
    """Whether Cluster API replaces its machines now."""


@dataclass(frozen=True)
class KubeadmCluster:
    """The cluster, as one look has seen it."""

    configured: str
    """The version in the ClusterConfiguration of kubeadm."""
    machines: Mapping[str, KubeadmMachine]
    components: tuple[Component, ...] = ()
    proxy: str = ""
    """The version of kube-proxy; empty without one."""
    dns: str = ""
    """The version of CoreDNS; empty without one."""
    endpoint: str = ""
    """The address of the API in the ClusterConfiguration (controlPlaneEndpoint), with its port; empty without one."""
    server: str = ""
    """The URL at which the run reaches the API."""
    at_work: frozenset[str] = frozenset()
    """The machines on which work of a NodeUpdate has not ended."""
    owners: tuple[OwnedWorkers, ...] = ()
    """The owners at Cluster API of the machines that are about to go, if they are known."""
    by_name: Mapping[str, tuple[Component, ...]] = field(init=False)
    """The components of each machine."""

    def __post_init__(self) -> None:
        """Sort the components by machine."""
        found: dict[str, list[Component]] = {}
        for each in self.components:
            found.setdefault(each.machine, []).append(each)
        object.__setattr__(self, "by_name", {name: tuple(there) for name, there in found.items()})

    @property
    def control_plane(self) -> tuple[str, ...]:
        """The machines of the control plane."""
        return tuple(name for name, each in self.machines.items() if each.control_plane)

    @property
    def voters(self) -> tuple[Component, ...]:
        """The members of etcd that run as static pods."""
        return tuple(each for each in self.components if each.name == ETCD)

    def versions_of(self, *names: str) -> dict[str, str]:
        """The version of each component of these names, by `name on machine`."""
        return {f"{each.name} on {each.machine}": each.version for each in self.components if each.name in names}

    def is_done(self, name: str, target: str) -> bool:
        """Whether a machine is on the target: its kubelet, and its part of the control plane."""
        return self.machines[name].is_on(target) and self.is_controlled_by(name, target)

    def is_past(self, name: str, version: Release) -> bool:
        """Whether all parts of a machine have a version, or a later one. One that cannot be read has not.

        Another build of the version is neither, since builds have no order.
        """
        machine, wanted = self.machines[name], str(version)
        there = _is_later(machine.kubelet, version) or machine.is_on(wanted)
        return there and all(_is_later(each, version) or _has(each, wanted) for each in self._versions_on(name))

    def is_controlled_by(self, name: str, target: str) -> bool:
        """Whether all of the control plane on a machine is on the target, if there is any."""
        return all(_has(each, target) for each in self._versions_on(name))

    def _versions_on(self, name: str) -> list[str]:
        """The versions of the components of the control plane on a machine, but for etcd."""
        return [each.version for each in self.by_name.get(name, ()) if each.name in (API_SERVER, *FOLLOWING)]

    def is_begun(self, name: str, target: str) -> bool:
        """Whether a run has begun to upgrade a machine: it has cordoned it, work of a NodeUpdate has not ended, a part
        is on the target already, or its agent may be at work."""
        # A killed `kubeadm upgrade apply` may not have written the version of the whole cluster yet.
        kubelet, versions = self.machines[name].kubelet, self._versions_on(name)
        parts = target in versions or any(_has(each, target) and not _has(each, kubelet) for each in versions)
        begun = self.machines[name].carries_undo or name in self.at_work or parts
        return (begun and not self.is_done(name, target)) or bool(self.machines[name].operation)

    def is_well(self, name: str) -> bool:
        """Whether all components of a machine are Ready."""
        return all(each.ready for each in self.by_name.get(name, ()))


def is_build_of(version: str, target: str) -> bool:
    """Whether a version is the target, or a build of it. A target with a build, such as 1.33.4+vmware.2, is that alone:
    builds have no order."""
    found, wanted = release_in(version), release_in(target)
    return version == target or (found is not None and found == wanted and not wanted.build)


def _is_later(version: str, than: Release) -> bool:
    found = release_in(version)
    return found is not None and than < found


def _has(version: str, target: str) -> bool:
    """Whether a component has the target. The tag of its image may leave out the build that its kubelet reports."""
    return is_build_of(version, target) or is_build_of(version=target, target=version)


def machine_id_in(said: str) -> str:
    """An id as systemd makes it, of 32 hexadecimal digits; empty for anything else (machine-id(5))."""
    found = said.strip().lower()
    return found if len(found) == ID_DIGITS and set(found) <= set("0123456789abcdef") else ""


def plain(version: str) -> str:
    """A version without its leading v."""
    return version.removeprefix("v")
