"""One observation of a Longhorn as it is, frozen. Kubernetes nodes and volumes are known by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OURS = "upgrade.stateful/"
"""The beginning of the annotations and labels of runs."""
UNDO = f"{OURS}undo"
MARK = f"{OURS}engine-switch"
"""The annotation on a Longhorn node on which a run has started work."""
RUN = f"{OURS}run"
"""The label on everything that a run makes."""

Place = tuple[str, str, str]
"""Plural and name of an object, and the field: the address of a value that a run may change for a while."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "nodes": ("spec.allowScheduling",),
    "volumes": ("spec.engineNodeID", "spec.numberOfReplicas"),
    "settings": ("value",),
    "cronjobs": ("spec.suspend",),
}
"""The fields that a run may change for a while, by the plural of the kind."""


@dataclass(frozen=True)
class Volume:
    """A v2 volume."""

    attached: bool = False
    """A workload has it: it is attached, and wanted where it is."""
    serves: bool = True
    """Its frontend is there, and an engine behind it runs. One without a frontend needs the engine alone."""
    shown: bool = True
    """It has a frontend, of which a standby volume has none."""
    workload: str = ""
    """The Kubernetes node to which it is attached."""
    engines: frozenset[str] = frozenset()
    """The Kubernetes nodes of its engines."""
    copies: frozenset[str] = frozenset()
    """The Kubernetes nodes with a replica that can be read and written now."""
    places: frozenset[str] = frozenset()
    """Those with a replica, whatever its state."""
    wanted: int = 0
    """The replicas that it should have."""

    @property
    def whole(self) -> bool:
        """Whether it has all that it should have, if a workload has it."""
        return not self.attached or (self.serves and len(self.copies) >= self.wanted)

    def near(self, node: str) -> bool:
        """Whether an engine, a replica or the workload is on the Kubernetes node."""
        return node in self.engines | self.places | {self.workload}


@dataclass(frozen=True)
class Manager:
    """A v2 instance manager."""

    node: str
    image: str
    uid: str
    runs: bool = False


@dataclass(frozen=True)
class Sight:
    """All of it."""

    volumes: Mapping[str, Volume] = field(default_factory=dict)
    managers: Mapping[str, Manager] = field(default_factory=dict)
    """By their own names."""
    image: str = ""
    """The image that all instance managers should have."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """The Kubernetes nodes on which runs have started work, with their marks."""
    upgrades: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The upgrades of Longhorn's own that have not ended, with their Kubernetes nodes."""
    works: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The recurring jobs that are at work, with their volumes."""
    values: Mapping[Place, Any] = field(default_factory=dict)
    undos: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By plural and name of the object that carries it."""
    notes: frozenset[tuple[str, str, str]] = frozenset()
    """The annotations of runs on these objects: plural, name, annotation."""
    snapshots: frozenset[str] = frozenset()
    """Those that runs have made."""
    holder: str = ""
    """The run that holds the lock."""

    @property
    def at_work(self) -> frozenset[str]:
        """The volumes on which a recurring job is at work."""
        return frozenset(volume for found in self.works.values() for volume in found)

    @property
    def suspended(self) -> frozenset[str]:
        """The recurring jobs whose CronJob is suspended."""
        return frozenset(
            name for (plural, name, _field), value in self.values.items() if plural == "cronjobs" and value
        )

    def on(self, node: str) -> list[Manager]:
        """The instance managers of a Kubernetes node."""
        return [each for each in self.managers.values() if each.node == node]

    def runs(self, node: str) -> bool:
        """Whether an instance manager runs there."""
        return any(each.runs for each in self.on(node))

    def is_done(self, node: str) -> bool:
        """Whether the wanted instance manager runs there, and no other one is left."""
        return all(each.runs and each.image == self.image for each in self.on(node)) and bool(self.on(node))
