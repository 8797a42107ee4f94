"""Kubernetes nodes without a kubelet: objects with a lease that is renewed as long as they have power."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone

from tests.lab.openshift.server import Server
from tests.sandbox.kubernetes.kinds import LEASES, NODES
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.openshift.building import join
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.kinds import ZONE, rendered

NAMESPACE = "kube-node-lease"
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


class Machines:
    """The Kubernetes nodes of all pools of a description. `off` says which of them have no power now."""

    def __init__(self, server: Server, described: Described, off: Callable[[str], bool]) -> None:
        self._server, self._described, self._off = server, described, off
        self._dark: set[str] = set()
        self.names = [node.name for pool in described.pools for node in pool.nodes]

    def register(self) -> None:
        """Make all of them, each in the configuration of its pool. Raises Refused."""
        for pool in self._described.pools:
            for node in pool.nodes:
                labels = {"kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux", ZONE: node.zone}
                item: Json = {"metadata": {"name": node.name, "labels": labels}, "spec": {}}
                join(item, pool.name, rendered(pool.name, self._described.version))
                self._server.create(NODES, {**item, "status": _status(ready=True)})
                self._server.create(LEASES, {"metadata": {"name": node.name}, "spec": _lease(node.name)}, NAMESPACE)

    def step(self) -> None:
        """Renew the leases, and tell of those that have lost their power or are back."""
        for name in self.names:
            off = self._off(name)
            if off == (name not in self._dark):
                self._server.merge(NODES, name, {"status": _status(ready=not off)}, status=True)
                (self._dark.add if off else self._dark.discard)(name)
            if not off:
                self._server.merge(LEASES, name, {"spec": _lease(name)}, NAMESPACE)


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
