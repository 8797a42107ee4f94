"""Longhorn as its API server has it at one time: observations. Pure: no client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from ...kubernetes.conditions import StatusCondition
from .kinds import EMPTIED
from .upgrades import Upgrades

V2 = "v2"
ATTACHED = "attached"
HEALTHY = "healthy"
FAULTED = "faulted"
RUNNING = "running"
READ_WRITE = "RW"
REBUILDING = "WO"
"""The mode of a replica that is being rebuilt: it is written, and not read."""
UNDER_WAY = frozenset({"", "New", "Pending", "InProgress"})
"""The states of a backup that has not ended."""


Thing = TypeVar("Thing")


def grouped(things: Iterable[Thing], names: Iterable[str]) -> dict[str, tuple[Thing, ...]]:
    """The things under their names, each name with all of its things in their order."""
    found: dict[str, list[Thing]] = {}
    for thing, name in zip(things, names, strict=True):
        found.setdefault(name, []).append(thing)
    return {name: tuple(each) for name, each in found.items()}


@dataclass(frozen=True)
class LonghornDisk:
    """A disk of a Longhorn node, as its status has it."""

    name: str
    type: str
    ready: StatusCondition | None
    schedulable: StatusCondition | None
    closed: bool = False
    """Whether a person has closed it for replicas, or has it emptied. Its conditions say nothing of that."""


@dataclass(frozen=True)
class Node:
    """A Longhorn node, which has the name of its Kubernetes node."""

    name: str
    allow_scheduling: bool
    mark: str
    """The run that switches its engine, and the time at which it began; empty if none does."""
    conditions: Mapping[str, StatusCondition]
    disks: tuple[LonghornDisk, ...]
    carries_undo: bool = False
    opened: bool = False
    """Whether a run has opened it for replicas again, as its undo says."""

    @property
    def ready(self) -> bool:
        """Whether Longhorn says that it is ready."""
        found = self.conditions.get("Ready")
        return found is not None and found.status == "True"

    @property
    def emptied(self) -> bool:
        """Whether it was emptied outside of a run, such as for its maintenance: that ends it, and no run does."""
        return self.mark.endswith(EMPTIED)

    @property
    def begun(self) -> bool:
        """Whether a run has begun it, so that the next one continues it or puts it back."""
        return bool(self.mark) and not self.emptied


@dataclass(frozen=True)
class Volume:
    """A volume; `node` and `engine_node` are what is wanted, `at_node` and `engine_at` what is."""

    name: str
    data_engine: str
    node: str
    engine_node: str
    """The node wanted for its engine; empty stands for that of the volume."""
    number_of_replicas: int
    frontend: str
    """Empty also while it is disabled."""
    data_locality: str
    standby: bool
    migration_node: str
    home_mark: str
    """The node from which a run has moved its engine; empty if none has."""
    state: str
    robustness: str
    at_node: str
    engine_at: str
    at_migration_node: str
    switchover: str
    expanding: bool
    restoring: bool
    cloning: bool
    workloads: tuple[str, ...] = ()
    """The pods that use it, as Longhorn knows them."""
    carries_undo: bool = False
    remounted: str = ""
    """The time at which Longhorn last asked for a new mount, which it does after each interruption."""
    engine_set: str = ""
    """The node on which a run has set its engine, as its undo says; empty if none has."""
    engine_was: str = ""
    """The node that was wanted for its engine before that."""
    engine_writer: str = ""
    """The field manager that has written `engine_node` last; only known of a volume with an undo."""
    jobs: frozenset[str] = frozenset()
    """The recurring jobs that its labels name."""
    job_groups: frozenset[str] = frozenset()
    """The groups of recurring jobs that its labels name."""
    backing_image: str = ""
    """The backing image that it was made of; empty if it was made of none."""

    @property
    def home(self) -> str:
        """The node on which its engine is wanted."""
        return self.engine_node or self.node

    @property
    def returns_to(self) -> str:
        """The node to which its engine goes once the change of a run is put back: not the one that it was moved from if
        its workload is elsewhere by now."""
        return (self.engine_was or self.node) if self.engine_set else self.home_mark

    @property
    def attached(self) -> bool:
        """Whether it is attached."""
        return self.state == ATTACHED


@dataclass(frozen=True)
class Attached:
    """The node that a volume is attached to, and the times that show an interruption since."""

    node: str
    remounted: str
    """The time at which Longhorn last asked for a new mount."""
    since: frozenset[str]
    """The times since which the tickets of this node are satisfied."""

    def text(self) -> str:
        """This as the text of an annotation."""
        return f"{self.node} {self.remounted or '-'} {','.join(sorted(self.since))}"

    @classmethod
    def of(cls, text: str) -> Attached | None:
        """The attachment in the text of an annotation; None if the text is none."""
        node, _space, rest = text.partition(" ")
        remounted, space, since = rest.partition(" ")
        if not (node and space):
            return None
        times = frozenset(filter(None, since.split(",")))
        return cls(node, "" if remounted == "-" else remounted, times)


@dataclass(frozen=True)
class Attachment:
    """The tickets of a volume."""

    volume: str
    since: Mapping[str, frozenset[str]]
    """The times since which those of workloads are satisfied, by the node that they want the volume on."""
    types: frozenset[str] = frozenset()
    """The types of all its tickets, satisfied or not."""


@dataclass(frozen=True)
class Engine:
    """An engine object. Its name changes with every switch, so only the volume says which one counts."""

    name: str
    volume: str
    node: str
    active: bool
    state: str
    modes: Mapping[str, str]
    """The mode of each replica by its name."""
    rebuilds: Mapping[str, int]
    """The percentage of each rebuild under way."""
    rebuild_errors: tuple[str, ...]
    expanding: bool
    busy: tuple[str, ...]
    """The other work under way in it: backups, restores, purges, clones."""


@dataclass(frozen=True)
class Frontend:
    """The initiator of a volume, on the node of the workload."""

    name: str
    volume: str
    node: str
    engine: str
    state: str
    wanted_target: tuple[str, int]
    target: tuple[str, int]


@dataclass(frozen=True)
class Replica:
    """A replica object."""

    name: str
    volume: str
    node: str
    state: str
    failed_at: str
    healthy_at: str

    @property
    def sound(self) -> bool:
        """Whether its data is whole, as far as its own object says."""
        return not self.failed_at and bool(self.healthy_at)


@dataclass(frozen=True)
class InstanceManager:
    """An instance manager: the process in which engines, frontends and replicas of a node run."""

    name: str
    uid: str
    image: str
    node: str
    data_engine: str
    state: str
    deleting: bool
    api_version: int
    instances: tuple[str, ...]
    """The names of its instances that run or start."""
    version: str = ""
    """Its resourceVersion: each instance that comes or goes changes it."""

    @property
    def running(self) -> bool:
        """Whether it runs and is to stay."""
        return self.state == RUNNING and not self.deleting


@dataclass(frozen=True)
class VolumeSnapshot:
    """A snapshot that a run of this collection has made."""

    name: str
    uid: str
    volume: str
    run: str
    target: str
    ready: bool
    error: str
    attached: Attached | None = None
    """The attachment of its volume when the run made it; None if that is not noted."""
    deleting: bool = False
    taken: bool = False
    """Whether it was taken. Until the monitor of a new engine has listed it, Longhorn says that it has lost track of it
    (`reconcile` in `controller/snapshot_controller.go`), and it is not ready for that time."""


@dataclass(frozen=True)
class Backup:
    """A backup of a volume."""

    name: str
    volume: str
    state: str


@dataclass(frozen=True)
class RecurringWork:
    """A recurring job, with what its CronJob says; see `recurring_jobs`."""

    name: str
    task: str = ""
    groups: frozenset[str] = frozenset()
    cron_job: bool = False
    """Whether the CronJob is there that starts it."""
    suspended: bool = False
    running: tuple[str, ...] = ()
    """The Jobs that were started and have not ended."""
    carries_undo: bool = False

    @property
    def held(self) -> bool:
        """Whether a run holds it off."""
        return self.suspended and self.carries_undo


@dataclass(frozen=True)
class KubernetesNode:
    """A Kubernetes node."""

    name: str
    unschedulable: bool
    images: frozenset[str]
    """Names of images that it has. The kubelet names 50 at the most, so absence proves nothing."""
    huge_pages: int | None = None
    """The MiB of its huge pages of 2 MiB; None if it does not say."""


@dataclass(frozen=True)
class Longhorn:
    """All that was read, at one time."""

    namespace: str
    nodes: Mapping[str, Node]
    volumes: Mapping[str, Volume]
    engines: tuple[Engine, ...]
    frontends: tuple[Frontend, ...]
    replicas: tuple[Replica, ...]
    managers: tuple[InstanceManager, ...]
    settings: Mapping[str, str]
    snapshots: tuple[VolumeSnapshot, ...] = ()
    backups: tuple[Backup, ...] = ()
    kubernetes_nodes: Mapping[str, KubernetesNode] = field(default_factory=dict)
    settings_with_undo: frozenset[str] = frozenset()
    attachments: tuple[Attachment, ...] = ()
    upgrades: Upgrades = field(default_factory=Upgrades)
    """The upgrades that Longhorn makes by itself."""
    jobs: tuple[RecurringWork, ...] = ()
    """The recurring jobs, where they were looked at."""

    @cached_property
    def emptied(self) -> frozenset[str]:
        """The nodes that were emptied outside of a run."""
        return frozenset(name for name, each in self.nodes.items() if each.emptied)

    @cached_property
    def engine_of(self) -> Mapping[str, Engine]:
        """The engine that counts of each volume, by the volume's name."""
        return {each.volume: each for each in self.engines if each.active}

    @cached_property
    def attachment_of(self) -> Mapping[str, Attachment]:
        """The attachment of each volume, by the volume's name."""
        return {each.volume: each for each in self.attachments}

    @cached_property
    def replicas_of(self) -> Mapping[str, tuple[Replica, ...]]:
        """The replicas of each volume, by the volume's name."""
        return grouped(self.replicas, [each.volume for each in self.replicas])

    @cached_property
    def frontend_of(self) -> Mapping[str, Frontend]:
        """The frontend of each volume, by the volume's name."""
        return {each.volume: each for each in self.frontends}

    @cached_property
    def managers_of(self) -> Mapping[str, tuple[InstanceManager, ...]]:
        """The v2 instance managers of each node, by the node's name."""
        found = [each for each in self.managers if each.data_engine == V2]
        return grouped(found, [each.node for each in found])

    @cached_property
    def running_managers(self) -> Mapping[str, InstanceManager]:
        """The running v2 instance manager of each node that has one."""
        return {each.node: each for each in self.managers if each.data_engine == V2 and each.running}

    @cached_property
    def engines_on(self) -> Mapping[str, tuple[Engine, ...]]:
        """The engines of each node, spare ones of a switch included, by the node's name."""
        return grouped(self.engines, [each.node for each in self.engines])

    @cached_property
    def v2_volumes(self) -> tuple[Volume, ...]:
        """The volumes of the v2 data engine, in the order of their names."""
        return tuple(each for _name, each in sorted(self.volumes.items()) if each.data_engine == V2)

    @cached_property
    def moved_from(self) -> Mapping[str, tuple[Volume, ...]]:
        """The v2 volumes whose engine a run has moved away, by the name of the node that it was moved from."""
        found = [each for each in self.v2_volumes if each.home_mark]
        return grouped(found, [each.home_mark for each in found])

    @cached_property
    def engines_of(self) -> Mapping[str, tuple[Engine, ...]]:
        """All engines of each volume, those that do not count yet or any more included, by the volume's name."""
        return grouped(self.engines, [each.volume for each in self.engines])

    @cached_property
    def volumes_on(self) -> Mapping[str, tuple[Volume, ...]]:
        """The v2 volumes with an engine or a replica on a node, by the node's name. An engine counts there from its
        start, while the volume is being moved to it."""
        places: dict[str, dict[str, Volume]] = {}
        for volume in self.v2_volumes:
            engines = {each.node for each in self.engines_of.get(volume.name, ())}
            replicas = {each.node for each in self.replicas_of.get(volume.name, ())}
            for node in engines | replicas:
                places.setdefault(node, {})[volume.name] = volume
        return {node: tuple(found.values()) for node, found in places.items() if node}
