"""The objects of Cluster API that an UpgradeTask names, as they are in the management cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...extra_machines.observe.state import GROUP
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
    kind: str
    namespace: str
    name: str
    exists: bool
    version: str = ""
    """The version of Kubernetes that it gives its Machines; empty if it gives none."""

    @property
    def called(self) -> str:
        """It in sentences."""
        return f"{self.kind} {self.namespace}/{self.name}"


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
            return machine.deployment == self.owner.name
        return machine.controller == (self.owner.kind, self.owner.name)
