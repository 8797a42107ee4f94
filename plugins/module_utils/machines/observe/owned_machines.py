"""Machines of a management cluster behind the Kubernetes nodes of its cluster, and the marks of runs on them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...extra_machines.observe.state import OUR_MARK
from ...kubernetes.conditions import StatusCondition
from ...kubernetes.reference import ObjectReference
from ...run.undo.undo import Change, Path, Undo

TASK_MARK = "upgrade.stateful/task"
"""The annotation with the upgrade that works on a Machine: NAMESPACE/NAME of an UpgradeTask, or the name of a run."""
SKIP_REMEDIATION = "cluster.x-k8s.io/skip-remediation"
"""The annotation of a Machine that no MachineHealthCheck replaces, whatever the value is (`common_types.go`)."""
IN_PLACE = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
"""The annotation of a Machine that Cluster API has updated in place, by a run or by another extension."""
MARK_PATH: Path = ("metadata", "annotations", TASK_MARK)
SKIP_PATH: Path = ("metadata", "annotations", SKIP_REMEDIATION)


def is_mark(made: Change) -> bool:
    """Whether a run of this collection makes such a change of a Machine."""
    if made.path == MARK_PATH:
        return isinstance(made.set_to, str) and (made.was is None or isinstance(made.was, str))
    return made.path == SKIP_PATH and made.was is None and made.set_to == OUR_MARK


def is_hold(made: Change) -> bool:
    """Whether it is the change that keeps a Machine from being replaced."""
    return made.path == SKIP_PATH


@dataclass(frozen=True)
class OwnedMachine:
    """A Machine at one time."""

    namespace: str
    name: str
    uid: str
    kubernetes_node: str
    going: bool
    """Whether it is being deleted."""
    mark: str
    """The upgrade that works on it; empty without one."""
    skip: str | None
    """The value of the annotation that keeps it from being replaced; None without it."""
    undo: Undo | None
    conditions: Mapping[str, StatusCondition]
    cluster: str = ""
    """The name of its Cluster."""
    updated_in_place: bool = False
    """Whether Cluster API has it updated in place now."""
    controller: tuple[str, str] = ("", "")
    """Kind and name of the object that controls it."""
    deployment: str = ""
    """The name of its MachineDeployment; empty without one."""
    version: str = ""
    """The version of Kubernetes in its spec."""
    references: Mapping[str, ObjectReference] = field(default_factory=dict)
    """The references to its bootstrapConfig and infraMachine, by these names."""

    @property
    def called(self) -> str:
        """Its name in sentences."""
        return f"Machine {self.namespace}/{self.name}"

    @property
    def is_kept_by_a_person(self) -> bool:
        """Whether something else than a run keeps it from being replaced."""
        return self.skip not in (None, OUR_MARK)
