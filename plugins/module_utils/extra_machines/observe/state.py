"""MachineDeployments of Cluster API with their machines, and the members on these, as frozen data. Pure: no client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...run.undo.undo import Change, Path, Undo

GROUP = "cluster.x-k8s.io"
DEPLOYMENTS, MACHINES, CLUSTERS = "machinedeployments", "machines", "clusters"
CLUSTER_LABEL = f"{GROUP}/cluster-name"
"""The label of each object of a Cluster with its name."""
DEPLOYMENT_NAME = f"{GROUP}/deployment-name"
"""The label of a machine with the name of its MachineDeployment."""
DELETE_FIRST = f"{GROUP}/delete-machine"
"""The annotation of a machine that goes first when its MachineSet gets smaller, whatever the value is."""
OUR_MARK = "upgrade.stateful"
"""The value of that annotation if a run has written it."""
PAUSED = f"{GROUP}/paused"
MOST = f"{GROUP}/cluster-api-autoscaler-node-group-max-size"
"""The annotation with the most machines that the cluster autoscaler gives a MachineDeployment."""
REPLICAS: Path = ("spec", "replicas")


def is_known(made: Change) -> bool:
    """Whether a run of this collection makes such a change of a MachineDeployment."""
    numbers = all(isinstance(each, int) and not isinstance(each, bool) for each in (made.was, made.set_to))
    return made.path == REPLICAS and numbers and 0 <= made.was < made.set_to


@dataclass(frozen=True)
class MachineDeployment:
    """One MachineDeployment at one time."""

    namespace: str
    name: str
    uid: str
    replicas: int
    """The machines that it is to have."""
    ready: int
    up_to_date: int
    """The machines that are as its template says."""
    observed: bool
    """Whether its status is about its present spec."""
    paused: bool
    """Whether Cluster API does nothing for it, also since its Cluster is paused."""
    going: bool
    """Whether it is being deleted."""
    most: int | None
    """The most machines that the cluster autoscaler would give it; None if that does not look after it."""
    by_topology: bool
    """Whether the topology of its Cluster sets the number of its machines."""
    undo: Undo | None
    raw: Mapping[str, object] = field(compare=False, repr=False)
    """The object as it was read, for the patches that are guarded by it."""

    @property
    def key(self) -> str:
        """Its namespace and name, as results show it."""
        return f"{self.namespace}/{self.name}"

    @property
    def called(self) -> str:
        """Its name in sentences."""
        return f"MachineDeployment {self.key}"

    @property
    def change(self) -> Change | None:
        """The change that is to be put back."""
        return self.undo.changes[0] if self.undo is not None else None


@dataclass(frozen=True)
class Machine:
    """One machine at one time."""

    name: str
    uid: str
    resource_version: str
    machine_set: str
    """The UID of the MachineSet that has it; empty if none has it."""
    kubernetes_node: str
    """The name of its Kubernetes node; empty as long as it has none."""
    phase: str
    ready: bool
    message: str
    """The reason for which it is not Ready, in the words of Cluster API."""
    created: str
    going: bool
    """Whether it is being deleted."""
    mark: str | None
    """The value of the annotation with which it goes first; None without it."""

    @property
    def ours(self) -> bool:
        """Whether a run has marked it."""
        return self.mark == OUR_MARK


@dataclass(frozen=True)
class Members:
    """The members of the upgraded cluster, by where they are."""

    on: Mapping[str, tuple[str, ...]]
    """The names of the pods of members, by Kubernetes node."""
    nowhere: tuple[str, ...] = ()
    """The names of those that no Kubernetes node has."""
