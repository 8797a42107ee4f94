"""Machines of Cluster API behind the Kubernetes nodes of a cluster, which is its own management cluster or has one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.runs.machines import NAMESPACE
from tests.runs.shipped import bound
from tests.runs.upgrade_tasks import FROM, TO, Tasks, requesting
from tests.sandbox.kubeadm.building import CONFIGURATION, SYSTEM
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.machines.definitions import PROVIDED, provided, served_as
from tests.sandbox.machines.kinds import DEPLOYMENT_NAME, FINALIZER, Version

CLUSTERS, CLUSTER = "clusters", "main"
MARK, SKIP = "upgrade.stateful/task", "cluster.x-k8s.io/skip-remediation"
UNDO = "upgrade.stateful/undo"
KIND = Version("v1beta2").machines
FOREIGN = {"type": "NodeHealthy", "status": "True", "reason": "NodeHealthy", "message": ""}
"""A condition of a controller of Cluster API."""
SOON = 1.0
"""Seconds until Cluster API has annotated a Kubernetes node that has joined again."""


CONTROL_PLANE = {"kind": "KubeadmControlPlane", "namespace": CLUSTERS, "name": "main"}


class OwnedMachines:
    """The Machines of all Kubernetes nodes of a cluster, each named `m-NODE`.

    All are of one owner, so that one UpgradeTask may name them all.
    """

    def __init__(self, tasks: Tasks) -> None:
        found = tasks.found
        self.found, self.here = found, found.here
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLUSTERS}}
        definitions = [
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **each}
            for each in served_as("v1beta2")
        ]
        definitions += provided("v1beta2")
        rights = bound("machines/files/management_role.yml", CLUSTERS)
        tasks.apply([namespace, *definitions, *rights])
        self.resources = tasks.resources
        self.workload = self.here.sandbox.kubernetes.server.resources
        """The objects of the cluster that is upgraded; the others are those of its management cluster."""
        self.make("Cluster", CLUSTER, {"controlPlaneRef": {"kind": "KubeadmControlPlane", "name": "main"}})
        self.make("KubeadmControlPlane", "main", {"version": f"v{FROM}"})
        for name in found.machines:
            self.add(name, FROM)
        self.workload.store.listeners.append(self._joined)
        # The control plane of Cluster API writes the version before it has the first machine updated.
        configuration = found.cluster.configuration()["data"]["ClusterConfiguration"]
        data = {"ClusterConfiguration": configuration.replace(f"v{FROM}", f"v{TO}")}
        self.workload.change(CONFIG_MAPS, SYSTEM, CONFIGURATION, lambda item: item.update(data=data))

    def kind(self, kind: str) -> Kind:
        """A kind of Cluster API or one of its providers."""
        group, _plural = PROVIDED.get(kind, (KIND.group, ""))
        found = self.resources.kinds.named(f"{group}/v1beta2", kind)
        assert found is not None
        return found

    def make(self, kind: str, name: str, spec: Json) -> None:
        """Make an object of Cluster API."""
        self.resources.create(self.kind(kind), CLUSTERS, {"metadata": {"name": name}, "spec": spec}, Writing("capi"))

    def deployment(self, name: str) -> Json:
        """The spec of a MachineDeployment."""
        spec: Json = Version("v1beta2").deployment(CLUSTER, name, 1)["spec"]
        spec["template"]["spec"]["version"] = f"v{FROM}"
        return spec

    def own(self, node: str, kind: str, name: str, deployment: str = "") -> None:
        """Give the Machine of a Kubernetes node an owner."""
        owner = {"apiVersion": "any/v1", "kind": kind, "name": name, "uid": name, "controller": True}
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER, **({DEPLOYMENT_NAME: deployment} if deployment else {})}
        self.change(node, lambda item: item["metadata"].update(ownerReferences=[owner], labels=labels))

    def add(self, node: str, version: str) -> None:
        """Make the Machine of a Kubernetes node."""
        self._make(node, version)
        self._annotate_node(node)
        self.own(node, "KubeadmControlPlane", "main")

    def start_deletion(self, node: str) -> None:
        """Delete the Machine of a Kubernetes node. It stays until `remove`, as its finalizer says."""
        self.change(node, lambda item: item["metadata"].update(finalizers=[FINALIZER]))
        self.resources.delete(KIND, CLUSTERS, f"m-{node}")

    def remove(self, node: str) -> None:
        """Remove a Machine that is being deleted, with its objects."""
        self.change(node, lambda item: item["metadata"].update(finalizers=[]))
        for kind in ("KubeadmConfig", "SandboxMachine"):
            self.resources.delete(self.kind(kind), CLUSTERS, f"m-{node}")

    def has(self, node: str) -> bool:
        """Whether the Machine of a Kubernetes node is there, and not being deleted."""
        found = self._kept(node)
        return found is not None and "deletionTimestamp" not in found["metadata"]

    def _kept(self, node: str) -> Json | None:
        return self.resources.store.kept(KIND, CLUSTERS, f"m-{node}")

    def _joined(self, change: Change) -> None:
        name = change.item["metadata"]["name"]
        if change.kind == NODES and change.type == "ADDED" and self.has(name):
            self.workload.store.clock.later(SOON, lambda: self._annotate_node(name))

    def _make(self, node: str, version: str) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
        spec = {**Version("v1beta2").machine_spec(CLUSTER), "version": f"v{version}"}
        for kind, field, own in (
            ("KubeadmConfig", "bootstrap", {"files": []}),
            ("SandboxMachine", "infrastructureRef", {"size": "m", "providerID": f"sandbox://{node}"}),
        ):
            self.make(kind, f"m-{node}", own)
            reference = {"apiGroup": PROVIDED[kind][0], "kind": kind, "name": f"m-{node}"}
            spec[field] = {"configRef": reference, "dataSecretName": "any"} if field == "bootstrap" else reference
        body = {"metadata": {"name": f"m-{node}", "labels": labels}, "spec": spec}
        self.resources.create(KIND, CLUSTERS, body, Writing("capi", strict="Strict"))
        status = {"nodeRef": {"name": node}, "conditions": [{**FOREIGN, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        self.change(node, lambda item: item.update(status=status), "status")

    def _annotate_node(self, node: str) -> None:
        notes = {
            "cluster.x-k8s.io/cluster-namespace": CLUSTERS,
            "cluster.x-k8s.io/cluster-name": CLUSTER,
            "cluster.x-k8s.io/machine": f"m-{node}",
            "cluster.x-k8s.io/owner-kind": "KubeadmControlPlane",
        }
        if self.found.cluster.is_registered(node):
            self.workload.change(
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
        """That of each that is there."""
        return {name: self.condition(name) for name in self.found.machines if self._kept(name) is not None}

    def marked(self) -> dict[str, dict[str, str]]:
        """The annotations of runs at each Machine that has any."""
        found = {name: self.notes(name) for name in self.found.machines if self._kept(name) is not None}
        own = {
            name: {each: notes[each] for each in (MARK, SKIP, UNDO) if each in notes} for name, notes in found.items()
        }
        return {name: notes for name, notes in own.items() if notes}


@contextmanager
def owned(*, separate: bool = False, workers: int = 2) -> Iterator[tuple[Tasks, OwnedMachines]]:
    """Three machines of the control plane and some workers, which Cluster API owns. If `separate`, the management
    cluster is another one, and the tasks are next to the Machines."""
    with requesting(separate=separate, workers=workers) as tasks:
        tasks.owner, tasks.prefix = CONTROL_PLANE, "m-"
        tasks.namespace = CLUSTERS if separate else NAMESPACE
        yield tasks, OwnedMachines(tasks)


def management(tasks: Tasks) -> dict[str, Any]:
    """The connection to the management cluster."""
    return {"upgrade_management": tasks.management}
