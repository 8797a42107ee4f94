"""The controllers of MachineSets and machines: a machine becomes a Kubernetes node, is drained, and goes.

`pkg/controller/machineset` and `pkg/controller/machine` of machine-api-operator; the configuration of a new Kubernetes
node is that of `pkg/server/cluster_server.go` of machine-config-operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.sandbox.kubernetes.controllers.work import Place, Work, with_condition
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Refused, condition_of, controller_of, owner_of, seconds_of, timestamp
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift import building
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.controllers.drains import Evictions
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import (
    DELETE_FIRST,
    FINALIZER,
    MACHINE_API,
    MACHINE_SETS,
    MACHINES,
    OF_CLUSTER,
    OF_MACHINE,
    POOLS,
    annotations_of,
)

ROUND, FIRST_PAUSE, LONGEST_PAUSE = 20.0, 5.0, 1000.0
"""A round of evictions, and the growing pauses between two of them (`drain_controller.go`)."""
_UNDRAINED = "machine.openshift.io/exclude-node-draining"
_COMPONENT = "machine-api-controllers"


class Machines:
    """It looks after all MachineSets and machines."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._hand, self._evictions = shared.hand(_COMPONENT), Evictions(shared, _COMPONENT)
        self._sets = Work(shared.resources, shared.pace.control, self._set)
        self.boot = 0.0
        """Seconds until a new machine has a Kubernetes node; none as long as a description comes to life."""
        self.never_boots: set[str] = set()
        """MachineSets whose cloud has no machine left."""
        self._going: set[str] = set()
        shared.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        metadata = change.item["metadata"]
        if change.kind == MACHINE_SETS and change.type != "DELETED":
            self._sets.add((MACHINE_API, metadata["name"]))
        elif change.kind == MACHINES:
            self._look_at_owner(change.item)
            if change.type != "DELETED" and "deletionTimestamp" in metadata and metadata["name"] not in self._going:
                self._going.add(metadata["name"])
                self._shared.clock.later(self._shared.pace.control, lambda: self._delete(metadata["name"]))
        elif change.kind == NODES:
            machine = self._shared.kept(
                MACHINES, annotations_of(change.item).get(OF_MACHINE, "/").split("/")[1], MACHINE_API
            )
            if machine is not None:
                self._look_at_owner(machine)

    def _look_at_owner(self, machine: Json) -> None:
        owner = controller_of(machine)
        if owner is not None:
            self._sets.add((MACHINE_API, owner["name"]))

    def of_set(self, name: str) -> list[Json]:
        """The machines of a MachineSet."""
        found = self._shared.kept(MACHINE_SETS, name, MACHINE_API)
        uid = found["metadata"]["uid"] if found is not None else ""
        owned = [(each, controller_of(each)) for each in self._shared.each(MACHINES, MACHINE_API)]
        return [each for each, owner in owned if owner is not None and owner["uid"] == uid]

    def _set(self, place: Place) -> None:
        item = self._shared.kept(MACHINE_SETS, place[1], MACHINE_API)
        if item is None or "deletionTimestamp" in item["metadata"]:
            return
        machines, wanted = self.of_set(place[1]), item["spec"].get("replicas", 1)
        for _number in range(wanted - len(machines)):
            self._make(item)
        for each in _first_to_go(item, machines)[: max(0, len(machines) - wanted)]:
            if "deletionTimestamp" not in each["metadata"]:
                self._hand.delete(MACHINES, MACHINE_API, each["metadata"]["name"])
        self._tell(item)

    def _make(self, of: Json) -> None:
        template = of["spec"]["template"]
        name = f"{of['metadata']['name']}-{self._shared.resources.store.new_suffix()}"
        labels = dict(template["metadata"]["labels"])
        metadata = {"name": name, "labels": labels, "finalizers": [FINALIZER]}
        metadata["ownerReferences"] = [owner_of(MACHINE_SETS, of)]
        # One that names no cluster is refused by the controller of machines for ever (`validateMachine`).
        status = {"phase": "Provisioning"} if labels.get(OF_CLUSTER) else {}
        self._hand.create(MACHINES, MACHINE_API, {"metadata": metadata, "spec": template["spec"], "status": status})
        if status:
            self._shared.clock.later(self.boot / 2, lambda: self._provisioned(name, of["metadata"]["name"]))

    def _provisioned(self, name: str, of: str) -> None:
        if self._is_going(name):
            return
        if of in self.never_boots:
            # An error of the cloud that is none of the configuration is tried again for ever, in the same phase.
            self._shared.clock.later(ROUND, lambda: self._provisioned(name, of))
            return
        self._hand.change(
            MACHINES, MACHINE_API, name, lambda item: item["spec"].update(providerID=f"sandbox:///{name}")
        )
        self._phase(name, "Provisioned")
        self._shared.clock.later(self.boot / 2, lambda: self._joined(name))

    def _is_going(self, name: str) -> bool:
        found = self._shared.kept(MACHINES, name, MACHINE_API)
        return found is None or "deletionTimestamp" in found["metadata"]

    def _phase(self, name: str, phase: str, node: str = "") -> None:
        def change(item: Json) -> None:
            item.setdefault("status", {})["phase"] = phase
            if node:
                item["status"]["nodeRef"] = {"kind": "Node", "name": node}

        self._hand.tell(MACHINES, MACHINE_API, name, change)

    def _joined(self, name: str) -> None:
        """A Kubernetes node joins in the configuration that its pool has come to: in an upgrade, the old one."""
        if self._is_going(name):
            return
        spec = self._shared.kept(MACHINES, name, MACHINE_API)["spec"]  # type: ignore[index]
        zone = spec["providerSpec"]["value"]["placement"]["availabilityZone"]
        with self._hand.acting.named(_COMPONENT):
            self._shared.kubernetes.nodes.register(name, zone)

        def change(item: Json) -> None:
            item["metadata"]["labels"].update(spec.get("metadata", {}).get("labels") or {})
            pool = states.pool_of(item, self._shared.each(POOLS)) or "worker"
            told = self._shared.kept(POOLS, pool) or {"spec": {}}
            found = told.get("status", {}).get("configuration") or told["spec"].get("configuration") or {}
            building.join(item, pool, found.get("name", ""), f"{MACHINE_API}/{name}")
            item["spec"]["taints"] = [*item["spec"].get("taints", []), *(spec.get("taints") or [])]

        self._hand.change(NODES, "", name, change)
        self._phase(name, "Running", node=name)

    def _tell(self, item: Json) -> None:
        """The counts of a MachineSet (`calculateStatus`); those that are zero are left out, as by `omitempty`."""
        machines = self.of_set(item["metadata"]["name"])
        ready = [node for node in map(self._node_of, machines) if node is not None and _is_ready(node)]
        least, now = item["spec"].get("minReadySeconds", 0), self._shared.clock.now()
        available = [each for each in ready if now - _ready_since(each) >= least]
        counts = {
            "fullyLabeledReplicas": len(machines),
            "readyReplicas": len(ready),
            "availableReplicas": len(available),
        }
        told = {"replicas": len(machines), "observedGeneration": item["metadata"]["generation"]}
        told |= {key: value for key, value in counts.items() if value}
        name = item["metadata"]["name"]
        if len(available) < len(ready):
            self._shared.clock.later(least, lambda: self._sets.add((MACHINE_API, name)))
        self._hand.tell(MACHINE_SETS, MACHINE_API, name, lambda present: present.update(status=told))

    def _node_of(self, machine: Json) -> Json | None:
        name = machine.get("status", {}).get("nodeRef", {}).get("name", "")
        return self._shared.kept(NODES, name) if name else None

    def _delete(self, name: str) -> None:
        self._phase(name, "Deleting")
        machine = self._shared.kept(MACHINES, name, MACHINE_API)
        if machine is None:
            return
        node = self._node_of(machine)
        if node is None or _UNDRAINED in annotations_of(machine):
            self._drained(name)
        else:
            self._drain(name, FIRST_PAUSE)

    def _drain(self, name: str, pause: float) -> None:
        machine = self._shared.kept(MACHINES, name, MACHINE_API)
        node = self._node_of(machine) if machine is not None else None
        if machine is None or node is None:
            self._drained(name)
            return
        if machine["spec"].get("lifecycleHooks", {}).get("preDrain"):
            self._shared.clock.later(ROUND, lambda: self._drain(name, pause))
            return
        self._evictions.cordon(node["metadata"]["name"], cordoned=True)

        def over(empty: bool) -> None:
            # The pods of a Kubernetes node that is lost are not waited for (`nodeIsUnreachable`).
            if empty or node["metadata"]["name"] in self._shared.kubernetes.nodes.dead:
                self._drained(name)
                return
            self._tell_drained(name, "False", "could not drain machine")
            self._shared.clock.later(pause, lambda: self._drain(name, min(2 * pause, LONGEST_PAUSE)))

        self._evictions.round(node["metadata"]["name"], ROUND, over)

    def _tell_drained(self, name: str, status: str, message: str) -> None:
        now = timestamp(self._shared.clock.now())

        def change(item: Json) -> None:
            reason = "" if status == "True" else "DrainError"
            with_condition(item, "Drained", status, now, reason=reason, message=message)

        self._hand.tell(MACHINES, MACHINE_API, name, change)

    def _drained(self, name: str) -> None:
        if self._shared.kept(MACHINES, name, MACHINE_API) is None:
            return
        self._tell_drained(name, "True", "Drain finished successfully")
        self._shared.clock.later(self._shared.pace.leave, lambda: self._gone(name))

    def _gone(self, name: str) -> None:
        machine = self._shared.kept(MACHINES, name, MACHINE_API)
        if machine is None:
            return
        node = self._node_of(machine)
        if node is not None:
            try:
                self._hand.delete(NODES, "", node["metadata"]["name"])
            except Refused as error:
                if error.code != 404:
                    raise
        self._going.discard(name)
        self._hand.change(MACHINES, MACHINE_API, name, lambda item: item["metadata"].update(finalizers=[]))


def _is_ready(node: Json) -> bool:
    return bool(condition_of(node, "Ready").get("status") == "True")


def _ready_since(node: Json) -> float:
    return seconds_of(condition_of(node, "Ready")["lastTransitionTime"])


def _first_to_go(of: Json, machines: Sequence[Json]) -> list[Json]:
    """The order of deletion (`delete_policy.go`): on their way, marked, without a Kubernetes node, then the policy."""
    policy = of["spec"].get("deletePolicy") or "Random"

    def rank(machine: Json) -> int:
        if "deletionTimestamp" in machine["metadata"]:
            return 0
        if annotations_of(machine).get(DELETE_FIRST) or machine.get("status", {}).get("errorReason"):
            return 1
        return 3 if policy != "Random" or "nodeRef" in machine.get("status", {}) else 2

    by_name = sorted(machines, key=lambda each: each["metadata"]["name"])
    if policy != "Random":
        by_name.sort(key=lambda each: each["metadata"]["creationTimestamp"], reverse=policy == "Newest")
    return sorted(by_name, key=rank)
