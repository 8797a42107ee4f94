"""A Longhorn in a few words: Kubernetes nodes, volumes, settings. `building` makes the objects of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OLD_IMAGE = "longhornio/longhorn-instance-manager:v1.11.2"
NEW_IMAGE = "longhornio/longhorn-instance-manager:v1.12.0"
ENGINE_IMAGE = "longhornio/longhorn-engine:v1.12.0"
GIB = 1 << 30
SETTINGS = {
    "default-instance-manager-image": NEW_IMAGE,
    "default-engine-image": ENGINE_IMAGE,
    "current-longhorn-version": "v1.12.0",
    "v2-data-engine": "true",
    "replica-replenishment-wait-interval": "600",
    "concurrent-replica-rebuild-per-node-limit": "5",
    "concurrent-automatic-engine-upgrade-per-node-limit": "0",
    "allow-volume-creation-with-degraded-availability": "true",
    "auto-salvage": "true",
    "node-drain-policy": "block-if-contains-last-replica",
    "node-down-pod-deletion-policy": "do-nothing",
    "detach-manually-attached-volumes-when-cordoned": "false",
    "disable-scheduling-on-cordoned-node": "true",
    "fast-replica-rebuild-enabled": '{"v1":"true","v2":"true"}',
    "data-engine-hugepage-enabled": '{"v2":"true"}',
    "data-engine-memory-size": '{"v2":"2048"}',
    "replica-soft-anti-affinity": "false",
    "kubernetes-cluster-autoscaler-enabled": "false",
}
"""Those that are read, with the defaults of `types/setting.go`."""


@dataclass(frozen=True)
class Machine:
    """One Kubernetes node with Longhorn on it."""

    name: str
    zone: str = "a"
    image: str = OLD_IMAGE
    """The image that its v2 instance manager runs."""
    images: tuple[str, ...] = (OLD_IMAGE, NEW_IMAGE)
    """The images that are in the status of the Kubernetes node."""
    huge_pages: str = "4Gi"
    schedulable: bool = True
    """`spec.allowScheduling`."""
    copying: str = ""
    """A backing image of which its instance manager made a copy when Longhorn itself was upgraded to 1.12."""


@dataclass(frozen=True)
class Volume:
    """One volume. `attached` is the Kubernetes node of its workload; empty: it is detached."""

    name: str
    replicas: tuple[str, ...]
    """The Kubernetes nodes of its replicas."""
    attached: str = ""
    engine: str = ""
    """`spec.engineNodeID`."""
    copies: int | None = None
    """`spec.numberOfReplicas`; None: as many as there are replicas."""
    failed: tuple[str, ...] = ()
    """The Kubernetes nodes among `replicas` whose replica has failed."""
    size: int = GIB
    frontend: str = "blockdev"
    access: str = "rwo"
    locality: str = "disabled"
    standby: bool = False
    hidden: bool = False
    """Whether it is attached without a frontend, as for maintenance."""
    data_engine: str = "v2"
    claim: str = ""
    """The claim that uses it, as `namespace/name`."""
    jobs: tuple[str, ...] = ()
    """The recurring jobs that its labels name."""
    groups: tuple[str, ...] = ()
    """The groups of recurring jobs that its labels name."""
    backing: str = ""
    """The backing image that it was made of, with an earlier Longhorn."""

    @property
    def wanted(self) -> int:
        """The number of replicas that it should have."""
        return len(self.replicas) if self.copies is None else self.copies


@dataclass(frozen=True)
class Recurring:
    """One recurring job, which makes backups."""

    name: str
    groups: tuple[str, ...] = ()
    minutes: int = 1
    """Minutes from one run to the next."""


@dataclass(frozen=True)
class Described:
    """A whole Longhorn."""

    machines: tuple[Machine, ...]
    volumes: tuple[Volume, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """Values that are not the defaults."""
    offers: str = ""
    """The unverified kinds that it has: `design`, `v1.13`, or none."""
    frontends_outlive: bool = False
    """Whether a frontend outlives the pod of its instance manager. No one has shown this; see the README."""
    jobs: tuple[Recurring, ...] = ()


@dataclass(frozen=True)
class Durations:
    """Seconds that things take."""

    control: float = 0.05
    """Until a controller has looked at a change."""
    instance: float = 0.2
    """Until an engine, a frontend or a replica runs, or has ended."""
    phase: float = 0.2
    """One phase of a switch of a frontend."""
    rebuild: float = 8.0
    """To rebuild a replica; it is shown in four steps."""
    snapshot: float = 0.5
    monitor: float = 5.0
    """Until the monitor of a new engine has listed its snapshots."""
    disk: float = 2.0
    """Until the disks of a Kubernetes node are found by a new instance manager. In truth it is 30 s."""
    backup: float = 20.0


QUICK = Durations(rebuild=2.0, monitor=1.0, disk=0.5, backup=5.0)
"""For whole upgrades, in which nothing is shown by their length."""
