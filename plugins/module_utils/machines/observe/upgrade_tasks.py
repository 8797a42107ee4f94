"""An UpgradeTask, as it is seen: a request for an upgrade of machines, and how far it has come.

Its definition is `roles/machines/files/upgrade_task.yml`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...common.reading import Json
from .state import plain

GROUP, VERSION = "upgrade.stateful", "v1alpha1"
API = f"/apis/{GROUP}/{VERSION}"
UPGRADE_TASK, UPGRADE_TASKS = "UpgradeTask", "upgradetasks"
SPECIFIED_VERSION, BOOTSTRAP, INFRASTRUCTURE = "version", "bootstrapConfig", "infraMachine"
OBJECTS = (BOOTSTRAP, INFRASTRUCTURE)
"""The objects of Cluster API in the specification of a machine."""
COMPARED = ("apiVersion", "kind", "spec")
"""The parts of an object that say how a machine is made. Metadata and status are of the object itself."""


class TaskPhase(str, Enum):
    """The phase of an upgrade task."""

    ONGOING = "Ongoing"
    ABORT = "Abort"
    COMPLETE = "Complete"


ENDED = (TaskPhase.ABORT.value, TaskPhase.COMPLETE.value)


@dataclass(frozen=True)
class RequestedMachine:
    """A machine that a task names."""

    name: str
    """The name of the Machine of Cluster API."""
    kubernetes_node: str
    spec: Mapping[str, Any] | None
    """Its specification as it is now; None if the task does not give it."""
    namespace: str = ""
    """That of the Machine; empty for the one of its Cluster."""


@dataclass(frozen=True)
class UpgradeTaskState:
    """An upgrade task, as it is seen."""

    name: str
    uid: str
    owner: str
    """The kind, namespace and name of the control plane or MachineDeployment; empty if it names none."""
    machines: tuple[RequestedMachine, ...]
    wanted: Mapping[str, Any]
    """The specification that the machines are to have."""
    covers: tuple[str, ...]
    """Patterns of fields that its upgrader changes in place."""
    upgrader: Mapping[str, Any]
    """The reference to its upgrader; empty without one."""
    ends: bool
    """Whether it is to be aborted, or is being deleted."""
    phase: str
    """The phase in its status; empty before it has begun."""
    run: str
    """The run that has written its status last; empty before one has."""
    raw: Json

    @property
    def version(self) -> str:
        """The version of Kubernetes that the machines are to have, such as 1.36.1; empty if the task gives none."""
        return plain(str(self.wanted.get(SPECIFIED_VERSION) or ""))

    @property
    def kubernetes_nodes(self) -> tuple[str, ...]:
        """The Kubernetes nodes of its machines."""
        return tuple(each.kubernetes_node for each in self.machines)
