"""Machines of Cluster API behind the Kubernetes nodes of a cluster, which is its own management cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.runs.machines import Machines
from tests.runs.shipped import bound
from tests.runs.upgrade_tasks import FROM, TO, Tasks, requesting
from tests.sandbox.kubeadm.building import CONFIGURATION, SYSTEM
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.machines.definitions import served_as
from tests.sandbox.machines.kinds import Version
from tests.scenarios.cluster import USER

CLUSTERS, CLUSTER = "clusters", "main"
MARK, SKIP = "upgrade.stateful/task", "cluster.x-k8s.io/skip-remediation"
UNDO = "upgrade.stateful/undo"
KIND = Version("v1beta2").machines
FOREIGN = {"type": "NodeHealthy", "status": "True", "reason": "NodeHealthy", "message": ""}
"""A condition of a controller of Cluster API."""


class OwnedMachines:
    """The Machines of all Kubernetes nodes of a cluster, each named `m-NODE`."""

    def __init__(self, found: Machines) -> None:
        self.found, self.here = found, found.here
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLUSTERS}}
        definitions = [
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **each}
            for each in served_as("v1beta2")
        ]
        rights = bound("machines/files/management_role.yml", CLUSTERS)
        self.here.sandbox.apply([namespace, *definitions, *rights])
        self.resources = self.here.sandbox.kubernetes.server.resources
        for name in found.machines:
            self._make(name)
        # The control plane of Cluster API writes the version before it has the first machine updated.
        configuration = found.cluster.configuration()["data"]["ClusterConfiguration"]
        data = {"ClusterConfiguration": configuration.replace(f"v{FROM}", f"v{TO}")}
        self.resources.change(CONFIG_MAPS, SYSTEM, CONFIGURATION, lambda item: item.update(data=data))

    def _make(self, node: str) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
        body = {"metadata": {"name": f"m-{node}", "labels": labels}, "spec": Version("v1beta2").machine_spec(CLUSTER)}
        self.resources.create(KIND, CLUSTERS, body, Writing("capi", strict="Strict"))
        status = {"nodeRef": {"name": node}, "conditions": [{**FOREIGN, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        self.change(node, lambda item: item.update(status=status), "status")
        notes = {
            "cluster.x-k8s.io/cluster-namespace": CLUSTERS,
            "cluster.x-k8s.io/cluster-name": CLUSTER,
            "cluster.x-k8s.io/machine": f"m-{node}",
            "cluster.x-k8s.io/owner-kind": "KubeadmControlPlane",
        }
        self.resources.change(
            NODES, "", node, lambda item: item["metadata"].setdefault("annotations", {}).update(notes)
        )

    def change(self, node: str, make: Any, subresource: str = "") -> None:
        """Change the Machine of a Kubernetes node, as something else than a run does."""
        writing = Writing("capi", strict="Strict", subresource=subresource)
        self.resources.change(KIND, CLUSTERS, f"m-{node}", make, writing)

    def annotate(self, node: str, name: str, value: str | None) -> None:
        """Set or remove an annotation of a Machine."""

        def change(item: Json) -> None:
            notes = item["metadata"].setdefault("annotations", {})
            notes.pop(name, None)
            notes.update({name: value} if value is not None else {})

        self.change(node, change)

    def machine(self, node: str) -> Json:
        """The Machine of a Kubernetes node, as it is now."""
        return self.resources.get(KIND, CLUSTERS, f"m-{node}")

    def notes(self, node: str) -> dict[str, str]:
        """Its annotations."""
        return dict(self.machine(node)["metadata"].get("annotations", {}))

    def condition(self, node: str) -> tuple[str, str] | None:
        """The status and the reason of its condition MachineUpToDate. The conditions of others stay all along."""
        conditions = {each["type"]: each for each in self.machine(node)["status"]["conditions"]}
        assert FOREIGN.items() <= conditions["NodeHealthy"].items()
        found = conditions.get("MachineUpToDate")
        return (found["status"], found["reason"]) if found else None

    def conditions(self) -> dict[str, tuple[str, str] | None]:
        """That of each."""
        return {name: self.condition(name) for name in self.found.machines}

    def marked(self) -> dict[str, dict[str, str]]:
        """The annotations of runs at each Machine that has any."""
        found = {name: self.notes(name) for name in self.found.machines}
        own = {
            name: {each: notes[each] for each in (MARK, SKIP, UNDO) if each in notes} for name, notes in found.items()
        }
        return {name: notes for name, notes in own.items() if notes}


@contextmanager
def owned() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """Three machines of the control plane and two workers, which Cluster API owns."""
    with requesting() as tasks:
        yield tasks, OwnedMachines(tasks.found)


def management(tasks: Tasks) -> dict[str, Any]:
    """The connection to the management cluster."""
    return {"upgrade_management": {"kubeconfig": str(tasks.here.sandbox.kubeconfig(USER))}}
