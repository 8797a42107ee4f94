"""The objects of Cluster API that an UpgradeTask names, as they are in the management cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...extra_machines.observe.state import GROUP
from ...kubernetes.reference import ObjectReference
from .owned_machines import OwnedMachine

CONTROL_PLANE, DEPLOYMENT = "controlPlaneRef", "machineDeploymentRef"
VERSIONS = {CONTROL_PLANE: ("spec", "version"), DEPLOYMENT: ("spec", "template", "spec", "version")}
"""The paths in an owner to the version of its Machines."""
OWNERS = {
    CONTROL_PLANE: (f"controlplane.{GROUP}", "KubeadmControlPlane"),
    DEPLOYMENT: (GROUP, "MachineDeployment"),
}
"""The fields of a task that name its owner, each with the group and kind that it has if the task gives none."""


@dataclass(frozen=True)
class NamedObject:
    """An object that a task names."""

    field: str
    """The field of the task."""
    reference: ObjectReference
    exists: bool
    version: str = ""
    """The version of Kubernetes that it gives its Machines; empty if it gives none."""


@dataclass(frozen=True)
class NamedUpgrader:
    """The template object that a task names in `spec.template.upgraderRef`."""

    reference: ObjectReference
    exists: bool
    unread: str = ""
    """Why it was not looked for, as a clause; empty if it was."""


@dataclass(frozen=True)
class RequestedObjects:
    """What a task names, as it is."""

    cluster: NamedObject
    """The Cluster that the task names, or else that of the Kubernetes nodes."""
    owner: NamedObject
    machines: Mapping[str, OwnedMachine]
    """All Machines in the namespace of the owner, by name."""
    home: str
    """Namespace and name of the Cluster that the Kubernetes nodes name, with a slash; empty if they name none."""

    def belongs(self, machine: OwnedMachine) -> bool:
        """Whether the owner has this Machine."""
        if self.owner.field == DEPLOYMENT:
            return machine.deployment == self.owner.reference.name
        return machine.controller == (self.owner.reference.kind, self.owner.reference.name)
