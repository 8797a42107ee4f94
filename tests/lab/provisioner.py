"""Dynamic volumes: directories of the lab that outlive pods, as `local` volumes of the StorageClasses.

`lab` (default): reachable from every Kubernetes node of the zone, like a cloud disk. `lab-local`: tied to one
Kubernetes node, like a local disk. Both wait for the first consumer, so the scheduler chooses the place.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from tests.lab.api import UNREACHABLE, Api, ApiError, Json, Store
from tests.lab.kubelet.place import Host, NodePlace

PROVISIONER = "stateful.upgrade/lab"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
TOPOLOGY = {"lab": "topology.kubernetes.io/zone", "lab-local": "kubernetes.io/hostname"}
RETRIES = 5


async def create_storage_classes(api: Api) -> None:
    """Make both classes; `lab` is the default."""
    for name in TOPOLOGY:
        default = {"storageclass.kubernetes.io/is-default-class": "true" if name == "lab" else "false"}
        body = {
            "metadata": {"name": name, "annotations": default},
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        await api.create("/apis/storage.k8s.io/v1/storageclasses", body)


class Provisioner:
    """Makes a volume for each claim whose place is chosen, and removes released ones."""

    def __init__(self, host: Host, nodes: dict[str, NodePlace], claims: Store, volumes: Store) -> None:
        self._host = host
        self._nodes = nodes
        self._queue: asyncio.Queue[tuple[str, Json]] = asyncio.Queue()
        claims.listen(self._claim_changed)
        volumes.listen(self._volume_changed)

    def _claim_changed(self, kind: str, claim: Json) -> None:
        chosen = claim["metadata"].get("annotations", {}).get(SELECTED_NODE) in self._nodes
        ours = claim["spec"].get("storageClassName") in TOPOLOGY and not claim["spec"].get("volumeName")
        if kind != "DELETED" and ours and chosen:
            self._queue.put_nowait(("make", claim))

    def _volume_changed(self, kind: str, volume: Json) -> None:
        ours = volume["metadata"].get("annotations", {}).get(PROVISIONED_BY) == PROVISIONER
        released = volume.get("status", {}).get("phase") in ("Released", "Failed")
        deletes = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        if kind != "DELETED" and ours and released and deletes and not volume["metadata"].get("deletionTimestamp"):
            self._queue.put_nowait(("remove", volume))

    async def run(self) -> None:
        """Work for ever, one claim or volume at a time."""
        while True:
            task, item = await self._queue.get()
            refusals = 0
            while refusals < RETRIES:
                try:
                    await (self._make(item) if task == "make" else self._remove(item))
                    break
                except ApiError as error:
                    self._host.log.write("volume-error", task=task, refusals=refusals, error=str(error))
                    refusals += error.code != UNREACHABLE
                    await asyncio.sleep(0.5)

    async def _make(self, claim: Json) -> None:
        about = claim["metadata"]
        name = f"pvc-{about['uid']}"
        node = self._nodes[about["annotations"][SELECTED_NODE]]
        storage_class = claim["spec"]["storageClassName"]
        topology = TOPOLOGY[storage_class]
        value = node.zone if storage_class == "lab" else node.name
        requirement = {"key": topology, "operator": "In", "values": [value]}
        path = self._host.directory / "volumes" / name
        body = {
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
            "spec": {
                "accessModes": claim["spec"]["accessModes"],
                "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": about["namespace"],
                    "name": about["name"],
                    "uid": about["uid"],
                },
                "local": {"path": str(self._host.give(path))},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": storage_class,
            },
        }
        try:
            await self._host.api.create("/api/v1/persistentvolumes", body)
        except ApiError as error:
            if error.code != 409:
                raise
            return
        self._host.log.write("volume-made", volume=name, claim=f"{about['namespace']}/{about['name']}")

    async def _remove(self, volume: Json) -> None:
        name = volume["metadata"]["name"]
        await asyncio.to_thread(shutil.rmtree, Path(volume["spec"]["local"]["path"]), ignore_errors=True)
        try:
            await self._host.api.delete(f"/api/v1/persistentvolumes/{name}", {})
        except ApiError as error:
            if error.code != 404:
                raise
        self._host.log.write("volume-removed", volume=name)
