"""One Kubernetes node: its registration, its lease, its death and its return."""

from __future__ import annotations

import asyncio
import os
import platform
from typing import Any

from tests.lab.api import Api, ApiError, Json
from tests.lab.eventlog import EventLog, wall_time
from tests.lab.kubelet.place import NodePlace
from tests.lab.kubelet.status import timestamp

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40
RENEW_SECONDS = 2.0
"""Shorter than a real kubelet's 10 s, as the lab's grace period (6 s) is shorter than the real 40 s."""
KUBELET_PORT = 10250
FEATURES = ["ExtendWebSocketsToKubelet"]
"""A kubelet that reads v5.channel.k8s.io itself. For others the API server translates it to SPDY."""
CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "200Gi"}


class KubernetesNode:
    """Registers and stays alive until `die`; `revive` brings it back."""

    def __init__(self, api: Api, place: NodePlace, log: EventLog, version: str) -> None:
        self.place = place
        self.alive = True
        self._deaths = 0
        self._api = api
        self._log = log
        self._version = version
        self._path = f"/api/v1/nodes/{place.name}"
        self._known_since: dict[str, str] = {}
        self._shown: set[str] = set()

    async def register(self) -> None:
        """Create the Kubernetes node and its lease, and say that it is ready."""
        labels = {
            "kubernetes.io/hostname": self.place.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "unknown"),
            "topology.kubernetes.io/region": "lab",
            "topology.kubernetes.io/zone": self.place.zone,
        }
        metadata = {"name": self.place.name, "labels": labels}
        made = await self._api.create("/api/v1/nodes", {"metadata": metadata, "spec": {}})
        owner = {"apiVersion": "v1", "kind": "Node", "name": self.place.name, "uid": made["metadata"]["uid"]}
        lease = {"metadata": {"name": self.place.name, "ownerReferences": [owner]}, "spec": self._lease()}
        await self._api.create(LEASES, lease)
        await self.write_status()
        self._log.write("node-registered", node=self.place.name, zone=self.place.zone)

    def _lease(self) -> Json:
        return {
            "holderIdentity": self.place.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": wall_time(),
        }

    async def write_status(self) -> None:
        """Write the whole status. After a missed grace period only this, not the lease, heals the node."""
        conditions = [
            self._condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            self._condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            self._condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            self._condition("Ready", "True", "KubeletReady"),
        ]
        status: dict[str, Any] = {
            "capacity": CAPACITY,
            "allocatable": CAPACITY,
            "addresses": [
                {"type": "InternalIP", "address": self.place.address},
                {"type": "Hostname", "address": self.place.name},
            ],
            "conditions": conditions,
            "nodeInfo": self._info(),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "declaredFeatures": FEATURES,
            "images": [{"names": [name], "sizeBytes": 0} for name in sorted(self.place.images)],
        }
        await self._api.patch(f"{self._path}/status", {"status": status})
        self._shown = set(self.place.images)

    def _condition(self, kind: str, status: str, reason: str) -> Json:
        since = self._known_since.setdefault(kind, timestamp())
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": f"the lab's kubelet reports {reason}",
            "lastHeartbeatTime": timestamp(),
            "lastTransitionTime": since,
        }

    def _info(self) -> Json:
        return {
            "kubeletVersion": self._version,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "lab://1",
            "operatingSystem": "linux",
            "architecture": platform.machine(),
            "osImage": "process kubelet",
            "kernelVersion": os.uname().release,
            "machineID": self.place.name,
            "systemUUID": self.place.name,
            "bootID": f"{self.place.name}-{self._known_since.get('Ready', '')}",
        }

    async def run(self) -> None:
        """Renew the lease for ever while alive; show newly pulled images, and write the status after an outage."""
        missed = False
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if not self.alive:
                continue
            try:
                await self._api.patch(f"{LEASES}/{self.place.name}", {"spec": self._lease()})
                if missed or self._shown != self.place.images:
                    await self.write_status()
                missed = False
            except ApiError as error:
                missed = True
                self._log.write("lease-not-renewed", node=self.place.name, error=str(error))

    def die(self) -> None:
        """Fall silent: no lease, no status."""
        self.alive = False
        self._deaths += 1
        self._log.write("node-dead", node=self.place.name)

    async def revive(self) -> None:
        """Come back as after a reboot."""
        self._known_since.clear()
        death = self._deaths
        await self._api.patch(f"{LEASES}/{self.place.name}", {"spec": self._lease()})
        await self.write_status()
        self.alive = self._deaths == death
        self._log.write("node-revived", node=self.place.name)
