"""Workers that are deleted in a story: their Kubernetes nodes by a person, or the machines by Cluster API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.runs.machines import Machines
from tests.runs.owned_machines import OwnedMachines
from tests.sandbox.kubeadm.description import numbers_of

GOING = 20.0
"""Seconds from the deletion of a Machine of Cluster API to its end."""


@dataclass
class Deletions:
    """What is deleted, and what comes back."""

    found: Machines
    owned: OwnedMachines | None
    replaced: Callable[[str], None]
    """Called with the name that another machine has taken."""
    named: set[str] = field(default_factory=set)
    """The machines of which something was ever deleted."""
    gone: set[str] = field(default_factory=set)
    """The machines that are being deleted, or are deleted, and have not come back."""
    for_good: set[str] = field(default_factory=set)
    """Those of them that never come back."""

    def delete_node(self, name: str) -> None:
        """Delete the Kubernetes node of a machine, which goes on without it."""
        self.named.add(name)
        self.found.cluster.delete_node(name)

    def register(self, name: str) -> None:
        """Have its kubelet make its Kubernetes node again, as a person does who restarts it."""
        machine = self.found.machines[name]
        if machine.has_power and not machine.kubelet.is_registered:
            machine.kubelet.restart(machine.written.kubelet_configuration)

    def delete(self, name: str) -> None:
        """Delete a machine: first its Machine, if it has one, and a little later all of it."""
        self.named.add(name)
        self.gone.add(name)
        if self.owned is not None:
            self.owned.start_deletion(name)

    def remove(self, name: str) -> None:
        """End its deletion, unless it has ended."""
        machine, cluster = self.found.machines[name], self.found.cluster
        if machine.is_lost or name not in self.gone:
            return
        machine.lose()
        if cluster.is_registered(name):
            cluster.delete_node(name)
        if self.owned is not None:
            self.owned.remove(name)

    def come_back(self, name: str) -> None:
        """Another machine of that name joins the cluster, with the oldest version that is in it."""
        self.remove(name)
        there = [each for each in self.found.machines if self.found.cluster.is_registered(each)]
        versions = [self.found.machines[each].kubelet.version for each in there]
        oldest = min(versions, key=numbers_of)
        self.found.machines[name].make_again(oldest)
        if self.owned is not None:
            self.owned.add(name, oldest)
        self.gone.discard(name)
        self.replaced(name)

    def take_out(self) -> None:
        """Take the machines out of the inventory that are gone for good, as a person does who has read of it."""
        described = self.found.cluster.described
        left = tuple(each for each in described.workers if each not in self.for_good)
        self.found.cluster.described = replace(described, workers=left)


NAMES: Mapping[str, int] = {"machine_deleted": 5, "node_deleted": 5}
"""The events that it makes, each with its likelihood."""
