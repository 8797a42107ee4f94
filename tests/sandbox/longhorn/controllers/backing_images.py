"""Backing images of the v2 data engine, as Longhorn 1.12 leaves those of an earlier version.

Their copies are known from the status of an instance manager alone. No function of v1.12.0 writes them there, and
`syncInstanceStatus` of `controller/instance_manager_controller.go` removes them when it is stopped or starting.
So a copy that was being made is shown as such until then, and afterwards none is known any more: its state is unknown
(`syncV2StatusWithInstanceManager` in `controller/backing_image_controller.go`), and no replica starts with it
(`GetBackingImagePathForReplicaStarting` in `controller/replica_controller.go`). There is no BackingImageManager: it has
the files of the v1 data engine.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import BACKING_IMAGES, MANAGERS
from tests.sandbox.longhorn.objects import Objects

COPIES = "backingImages"
"""The field in the status of an instance manager."""


def copies_of(disk: str, copies: Mapping[str, str]) -> Json:
    """The copies of backing images on a disk, with their states, as the status of an instance manager has them."""
    return {
        f"bi-{name}-disk-{disk}": {
            "name": name,
            "uuid": name,
            "diskUUID": disk,
            "progress": 100 if state == "ready" else 50,
            "state": state,
        }
        for name, state in copies.items()
    }


def has_copy(objects: Objects, replica: Json) -> bool:
    """Whether the disk of a replica has the backing image that it needs, as far as Longhorn knows."""
    name = replica.get("backingImage")
    if not name:
        return True
    found = (objects.get(BACKING_IMAGES, name) or {}).get("status", {}).get("diskFileStatusMap") or {}
    return bool(found.get(replica.get("diskID"), {}).get("state") == "ready")


class BackingImages:
    """Notes for each backing image what the instance managers that run say of its copies."""

    def __init__(self, shared: Shared) -> None:
        self._objects = shared.objects
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == BACKING_IMAGES and not gone:
            self.queue.add(item["metadata"]["name"])
        elif kind == MANAGERS:
            for each in self._objects.all(BACKING_IMAGES):
                self.queue.add(each["metadata"]["name"])

    def _look(self, name: str) -> None:
        image = self._objects.get(BACKING_IMAGES, name)
        if image is None:
            return
        known = image.get("status", {}).get("diskFileStatusMap") or {}
        states = dict.fromkeys(known, "unknown")
        for manager in self._objects.all(MANAGERS):
            status = manager.get("status", {})
            if status.get("currentState") == "running" and "deletionTimestamp" not in manager["metadata"]:
                copies = (status.get(COPIES) or {}).values()
                states |= {each["diskUUID"]: each["state"] for each in copies if each["name"] == name}
        told = {disk: {"dataEngine": "v2", "state": state} for disk, state in states.items()}
        self._objects.status(BACKING_IMAGES, name, lambda status: status.update(uuid=name, diskFileStatusMap=told))
