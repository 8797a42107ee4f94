"""MachineSets and machines, and which of them runs have added for the time of an upgrade. Pure: no client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from ...common.reading import Json, part
from ...run.undo.undo import Undo
from .kinds import OTHER_SPARE, SPARE

MARK = "upgrade.stateful/spare-worker-of"
"""The annotation of a spare MachineSet: the run that made it, the set that it is a copy of, and the template then."""


@dataclass(frozen=True)
class MachineSet:
    """One MachineSet."""

    name: str
    uid: str
    labels: Mapping[str, str]
    role: str
    """The role of its machines, such as `worker`, `infra` or `master`."""
    makes: Mapping[str, str]
    """The labels of the Kubernetes nodes that its machines become."""
    replicas: int
    ready: int
    going: bool
    """Whether it is being deleted."""
    spec: Json
    mark: Undo | None
    """The mark of the run that made it; None if no run did, or if it is not as runs write it."""

    @property
    def is_ours(self) -> bool:
        """Whether a run has made it: a copy that a person has made of such a set has another name."""
        return self.mark is not None and self.labels.get(SPARE) == self.name

    @property
    def is_spare(self) -> bool:
        """Whether it is for the time of an upgrade, whoever has made it."""
        return SPARE in self.labels or OTHER_SPARE in self.labels

    @property
    def template(self) -> str:
        """A short name of the template of its machines, which is another one after each change."""
        kept = json.dumps(part(self.spec, "template", {}).get("spec"), sort_keys=True, default=str)
        return sha256(kept.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class SpareMachine:
    """One machine of a spare MachineSet."""

    name: str
    machine_set: str
    """The name of the set that its label names."""
    owner: str
    """The UID of the set that it belongs to."""
    kubernetes_node: str
    phase: str
    message: str
    """The cause that holds up its start or its removal; empty if there is none."""


@dataclass(frozen=True)
class Machines:
    """All MachineSets, and the machines of the spare ones."""

    sets: tuple[MachineSet, ...]
    machines: tuple[SpareMachine, ...]

    @property
    def ours(self) -> tuple[MachineSet, ...]:
        """The sets that runs have made."""
        return tuple(each for each in self.sets if each.is_ours)

    @property
    def foreign(self) -> tuple[MachineSet, ...]:
        """The sets with the label of ours that no run has made."""
        return tuple(each for each in self.sets if SPARE in each.labels and not each.is_ours)

    def named(self, name: str) -> MachineSet | None:
        """The set of this name."""
        return next((each for each in self.sets if each.name == name), None)

    @property
    def of_runs(self) -> tuple[SpareMachine, ...]:
        """The machines of sets that runs have made, also of those that are deleted by now."""
        others = {each.uid for each in self.foreign}
        return tuple(each for each in self.machines if each.owner not in others)


@dataclass(frozen=True)
class HealthCheck:
    """A MachineHealthCheck."""

    name: str
    is_paused: bool
    after: str
    """The time after which it replaces the machine of a Kubernetes node that is not Ready; empty if it does not."""
    carries_undo: bool = False
    """Whether a run has left an undo on it."""

    @property
    def acts(self) -> bool:
        """Whether it would replace a machine whose Kubernetes node is not Ready, if no run had paused it."""
        return bool(self.after) and (self.carries_undo or not self.is_paused)
