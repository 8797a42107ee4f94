"""Stand-ins for the controllers of Cluster API: each MachineDeployment has one MachineSet, unless a test has another.

The order of deletion is that of `machineset_deletion_order.go` (v1.12.0) with the order Random, the default: machines
that are being deleted, those with the annotation, those that are not healthy, then all others. Equal ones go by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.sandbox.kubernetes.controllers.work import Place, Work
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Refused, condition_of, timestamp
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.machines.kinds import DELETE_FIRST, DEPLOYMENT_NAME, FINALIZER, Version

STATUS = Writing(subresource="status", strict="Strict")
STRICT = Writing(strict="Strict")


@dataclass
class Pace:
    """Seconds that things take."""

    control: float = 0.5
    """Until a controller has looked at a change."""
    boot: float = 30.0
    """Until a machine has a Kubernetes node that is Ready."""
    leave: float = 20.0
    """Until a machine that is being deleted is drained and gone."""


class Controllers:
    """They look after every MachineDeployment and every machine."""

    def __init__(self, resources: Resources, version: Version, pace: Pace) -> None:
        self._resources, self.version, self.pace = resources, version, pace
        self._work = Work(resources, pace.control, self._deployment)
        self.never_boots = False
        """Whether the provider has no machine left."""
        self.machine_set = "set-1"
        """The UID of the MachineSet of new machines."""
        self.rolls_out = False
        """Whether the machines that there are do not count as those of the present template."""
        self.cluster_is_paused = False
        """Whether the Cluster of all MachineDeployments is paused, which only a condition of theirs says."""
        self._count = 0
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        metadata = change.item["metadata"]
        if change.kind.key == self.version.deployments.key and change.type != "DELETED":
            self._work.add((metadata["namespace"], metadata["name"]))
        elif change.kind.key == self.version.machines.key:
            self._work.add((metadata["namespace"], metadata["labels"][DEPLOYMENT_NAME]))

    def look_again(self, place: Place) -> None:
        """Have a MachineDeployment looked at, although nothing of it has changed."""
        self._work.add(place)

    def machines_of(self, place: Place) -> list[Json]:
        """The machines of a MachineDeployment."""
        found = self._resources.store.list(self.version.machines, place[0])
        return [each for each in found if each["metadata"]["labels"][DEPLOYMENT_NAME] == place[1]]

    def _deployment(self, place: Place) -> None:
        item = self._resources.get(self.version.deployments, *place)
        machines = self.machines_of(place)
        if self.cluster_is_paused:
            self._tell_paused(place)
            return
        if not item["spec"].get("paused"):
            self._scale(place, item, machines)
        self._tell(place, item)

    def _scale(self, place: Place, item: Json, machines: Sequence[Json]) -> None:
        replicas = item["spec"]["replicas"]
        for _number in range(replicas - len(machines)):
            self._make(place, item)
        if len(machines) > replicas:
            for each in sorted(machines, key=_order)[: len(machines) - replicas]:
                self._delete(place, each["metadata"]["name"])

    def _make(self, place: Place, item: Json) -> None:
        self._count += 1
        name = f"{place[1]}-{self._count}"
        owner = {"apiVersion": self.version.machines.api_version, "kind": "MachineSet", "name": place[1]}
        metadata = {
            "name": name,
            "labels": dict(item["spec"]["template"]["metadata"]["labels"]),
            "finalizers": [FINALIZER],
            "ownerReferences": [{**owner, "uid": self.machine_set, "controller": True}],
        }
        body = {"metadata": metadata, "spec": self.version.machine_spec(item["spec"]["clusterName"])}
        self._resources.create(self.version.machines, place[0], body, STRICT)
        self.tell(place[0], name, "Provisioning", ready=False, message="The provider makes the server")
        self._resources.store.clock.later(self.pace.boot, lambda: self._boot(place[0], name))

    def _boot(self, namespace: str, name: str) -> None:
        found = self._resources.store.get(self.version.machines, namespace, name)
        if found is None or "deletionTimestamp" in found["metadata"] or self.never_boots:
            return
        node = f"node-{name}"
        # No kubelet runs on it, so no pod may get a place there.
        self._resources.create(NODES, "", {"metadata": {"name": node, "labels": {}}, "spec": {"unschedulable": True}})
        self.tell(namespace, name, "Running", ready=True, node=node)

    def tell(self, namespace: str, name: str, phase: str, *, ready: bool, message: str = "", node: str = "") -> None:
        """Write the status of a machine."""
        now = timestamp(self._resources.store.clock.now())

        def change(item: Json) -> None:
            status = item.setdefault("status", {})
            status["phase"] = phase
            status["conditions"] = [self.version.condition(ready, message, now)]
            if node:
                status["nodeRef"] = {"name": node}

        self._resources.change(self.version.machines, namespace, name, change, STATUS)

    def _delete(self, place: Place, name: str) -> None:
        found = self._resources.get(self.version.machines, place[0], name)
        if "deletionTimestamp" not in found["metadata"]:
            self.delete(place[0], name)

    def delete(self, namespace: str, name: str) -> None:
        """Start to delete a machine, whoever wants that."""
        self._resources.delete(self.version.machines, namespace, name)
        self._resources.store.clock.later(self.pace.leave, lambda: self._left(namespace, name))

    def _left(self, namespace: str, name: str) -> None:
        item = self._resources.get(self.version.machines, namespace, name)
        node = item.get("status", {}).get("nodeRef", {}).get("name", "")
        if node:
            try:
                self._resources.delete(NODES, "", node)
            except Refused as error:
                if error.code != 404:
                    raise
        self._resources.change(
            self.version.machines, namespace, name, lambda present: present["metadata"].update(finalizers=[])
        )

    def _tell_paused(self, place: Place) -> None:
        message = "Cluster spec.paused is set to true"
        paused = self._saying_paused("True", "Paused", timestamp(self._resources.store.clock.now()), message)
        self._resources.change(
            self.version.deployments, *place, lambda item: item.setdefault("status", {}).update(paused), STATUS
        )

    def _saying_paused(self, status: str, reason: str, since: str, message: str = "") -> Json:
        """The part of a status with the condition. The older version of the API keeps the new conditions apart."""
        condition = {"type": "Paused", "status": status, "reason": reason, "message": message}
        found = {"conditions": [{**condition, "lastTransitionTime": since}]}
        return found if self.version.name == "v1beta2" else {"v1beta2": found}

    def _tell(self, place: Place, item: Json) -> None:
        machines = self.machines_of(place)
        ready = sum(condition_of(each, "Ready").get("status") == "True" for each in machines)
        told = {
            "observedGeneration": item["metadata"]["generation"],
            "replicas": len(machines),
            "readyReplicas": ready,
            self.version.up_to_date: 0 if self.rolls_out else len(machines),
            **self._saying_paused("False", "NotPaused", item["metadata"]["creationTimestamp"]),
        }
        if item.get("status") != told:
            self._resources.change(
                self.version.deployments, *place, lambda present: present.update(status=told), STATUS
            )


def _order(machine: Json) -> tuple[int, str]:
    metadata = machine["metadata"]
    if "deletionTimestamp" in metadata:
        rank = 0
    elif DELETE_FIRST in metadata.get("annotations", {}):
        rank = 1
    else:
        healthy = "nodeRef" in machine.get("status", {})
        rank = 3 if healthy else 2
    return rank, metadata["name"]
