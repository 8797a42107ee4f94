"""A Kubernetes of kubeadm in a few words: its version, its machines, the images of each version, and its pace."""

from __future__ import annotations

from dataclasses import dataclass

ETCD, API_SERVER = "etcd", "kube-apiserver"
COMPONENTS = (ETCD, API_SERVER, "kube-controller-manager", "kube-scheduler")
"""The static pods of a machine of the control plane, in the order in which kubeadm upgrades them.

`StaticPodControlPlane` in `cmd/kubeadm/app/phases/upgrade/staticpods.go`.
"""
PROXY, DNS = "kube-proxy", "coredns"
PACKAGES = ("kubeadm", "kubelet", "kubectl")
REGISTRY = "registry.test"
_ETCD = {33: "3.5.21-0", 34: "3.6.4-0", 35: "3.6.5-0", 36: "3.6.6-0"}
_DNS = {33: "v1.12.0", 34: "v1.12.1", 35: "v1.13.1", 36: "v1.14.1"}
"""By minor version of Kubernetes. A patch version changes neither."""


@dataclass(frozen=True)
class Pace:
    """Seconds that things take."""

    package: float = 5.0
    """Until a package is installed."""
    fetch: float = 3.0
    """Until a package, or an image, is fetched."""
    look: float = 0.2
    """Until a command that only asks has answered."""
    preflight: float = 5.0
    """The checks of kubeadm before it changes something."""
    static_pod: float = 12.0
    """The time that a static pod is away while it is replaced."""
    upload: float = 1.0
    """Until kubeadm has written its ConfigMaps."""
    kubelet: float = 10.0
    """The time for which a Kubernetes node is not Ready after a restart of its kubelet."""
    daemons: float = 25.0
    """The time for which pods of DaemonSets are not Ready after that: the real ones may be Ready all along."""
    snapshot: float = 2.0
    """Until a snapshot of etcd is written."""
    patience: float = 300.0
    """The time that kubeadm waits for a component (`timeouts.upgradeManifests`)."""


@dataclass(frozen=True)
class Described:
    """A whole Kubernetes of kubeadm."""

    version: str
    control_plane: tuple[str, ...] = ("cp-1", "cp-2", "cp-3")
    workers: tuple[str, ...] = ("worker-1", "worker-2", "worker-3")
    balanced: bool = False
    """Whether its address is that of a balancer. Otherwise it is that of the first machine, which is the worst case."""
    external_etcd: bool = False
    """Whether etcd runs elsewhere, and never ends."""
    etcd_size: int = 64 * 2**20

    @property
    def endpoint(self) -> str:
        """The address of the API, as kubeadm has written it."""
        return f"{'balancer.test' if self.balanced else self.control_plane[0]}:6443"

    @property
    def machines(self) -> tuple[str, ...]:
        """The names of all machines, which are those of their Kubernetes nodes."""
        return (*self.control_plane, *self.workers)


def image_of(component: str, version: str) -> str:
    """The image of a component in a version such as 1.36.1."""
    minor = int(version.split(".")[1])
    tag = _ETCD[minor] if component == ETCD else _DNS[minor] if component == DNS else f"v{version}"
    name = f"{DNS}/{DNS}" if component == DNS else component
    return f"{REGISTRY}/{name}:{tag}"


def images_of(version: str) -> list[str]:
    """The images that `kubeadm config images list` shows."""
    of_version = (*COMPONENTS[1:], PROXY, DNS, ETCD)
    return [*(image_of(each, version) for each in of_version), f"{REGISTRY}/pause:3.10.1"]


def needed_images(version: str, *, controls: bool) -> list[str]:
    """Those of them that may run on a machine: all of them on one of the control plane."""
    own = [image_of(each, version) for each in COMPONENTS]
    return [each for each in images_of(version) if controls or each not in own]


def numbers_of(version: str) -> tuple[int, ...]:
    """The numbers of a version, such as 1.36.1 or v1.36.1."""
    return tuple(int(each) for each in version.removeprefix("v").split("."))
