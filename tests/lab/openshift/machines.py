"""Kubernetes nodes of the pools: those of the lab, with a kubelet, and objects with a lease that is renewed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from tests.lab.lab import FaultSwitches
from tests.lab.openshift.server import Server
from tests.sandbox.kubernetes.kinds import LEASES, NODES
from tests.sandbox.kubernetes.objects import Json, Refused, copied, timestamp
from tests.sandbox.openshift.building import join
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.kinds import MACHINE_CONFIG, ROLE, ZONE, annotations_of, rendered

NAMESPACE = "kube-node-lease"
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True)
class Joining:
    """A machine that becomes a Kubernetes node of a pool."""

    name: str
    zone: str
    pool: str
    configuration: str
    provider: str = ""
    """The id by which its cloud knows it."""


class Machines:
    """The Kubernetes nodes of all pools of a description. `off` says which of them have no power now.

    One of the lab with the name of a description is taken as it is: its kubelet loses its power in a reboot, and it
    stays, without its pool, when the block has ended.
    """

    def __init__(self, server: Server, described: Described, off: Callable[[str], bool], power: FaultSwitches) -> None:
        self._server, self._described, self._off, self._power = server, described, off, power
        self._dark: set[str] = set()
        self._made: set[str] = set()
        self._of_lab: set[str] = set()

    def register(self) -> None:
        """Make all of them, each in the configuration of its pool. Raises Refused."""
        for pool in self._described.pools:
            for node in pool.nodes:
                self.join(Joining(node.name, node.zone, pool.name, rendered(pool.name, self._described.version)))

    def join(self, machine: Joining) -> None:
        """Have one more. Raises Refused."""
        there = self._server.get(NODES, machine.name)
        if there is not None:
            changed = copied(there)
            join(changed, machine.pool, machine.configuration)
            known = {key: changed["metadata"][key] for key in ("labels", "annotations")}
            self._server.merge(NODES, machine.name, {"metadata": known})
            self._of_lab.add(machine.name)
            return
        labels = {"kubernetes.io/hostname": machine.name, "kubernetes.io/os": "linux", ZONE: machine.zone}
        spec = {"providerID": machine.provider} if machine.provider else {}
        item: Json = {"metadata": {"name": machine.name, "labels": labels}, "spec": spec}
        join(item, machine.pool, machine.configuration)
        self._server.create(NODES, {**item, "status": _status(ready=True)})
        lease = {"metadata": {"name": machine.name}, "spec": _lease(machine.name)}
        self._server.create(LEASES, lease, NAMESPACE)
        self._made.add(machine.name)

    def leave(self, name: str) -> None:
        """Forget one that its cloud has no more: its object is removed by others. Raises Refused."""
        self._made.discard(name)
        self._dark.discard(name)
        with contextlib.suppress(Refused):
            self._server.ask("DELETE", LEASES.path(NAMESPACE, name))

    def step(self) -> None:
        """Renew the leases, and report those that have lost their power or are back."""
        for name in sorted(self._made | self._of_lab):
            off = self._off(name)
            if off == (name not in self._dark):
                self._tell(name, off=off)
                (self._dark.add if off else self._dark.discard)(name)
            if not off and name in self._made:
                self._server.merge(LEASES, name, {"spec": _lease(name)}, NAMESPACE)

    def _tell(self, name: str, *, off: bool) -> None:
        if name not in self._of_lab:
            self._server.merge(NODES, name, {"status": _status(ready=not off)}, status=True)
        elif off:
            self._power.node_dead(name)
            conditions = _status(ready=False)["conditions"]
            self._server.merge(NODES, name, {"status": {"conditions": conditions}}, status=True)
        else:
            self._power.mend_node(name)

    def are_cleared(self) -> bool:
        """Remove all that were made, and give those of the lab back; whether none is left. Raises Refused."""
        for name in self._made:
            for kind, namespace in ((NODES, ""), (LEASES, NAMESPACE)):
                with contextlib.suppress(Refused):
                    self._server.ask("DELETE", kind.path(namespace, name))
        for name in self._of_lab:
            self._give_back(name)
        self._of_lab.clear()
        return not {each["metadata"]["name"] for each in self._server.all(NODES)} & self._made

    def _give_back(self, name: str) -> None:
        """Without its pool, open, and with power."""
        self._power.mend_node(name)
        there = self._server.get(NODES, name) or {"metadata": {}}
        notes = {key: None for key in annotations_of(there) if key.startswith(f"{MACHINE_CONFIG}/")}
        roles = {key: None for key in there["metadata"].get("labels", {}) if key.startswith(f"{ROLE}/")}
        changed = {"metadata": {"annotations": notes, "labels": roles}, "spec": {"unschedulable": None}}
        self._server.merge(NODES, name, changed)


def _lease(name: str) -> Json:
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}


def _status(*, ready: bool) -> Json:
    now = timestamp(time.time())
    said = [("Ready", "True" if ready else "False", "KubeletReady" if ready else "KubeletNotReady")]
    said += [(each, "False", "KubeletIsWell") for each in _PRESSURES]
    conditions = [
        {"type": type_, "status": status, "reason": reason, "lastHeartbeatTime": now, "lastTransitionTime": now}
        for type_, status, reason in said
    ]
    room = {"cpu": "8", "memory": "32Gi", "pods": "250"}
    return {"capacity": room, "allocatable": room, "conditions": conditions}
