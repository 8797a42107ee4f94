"""The resizer of volumes and the kubelet's part in it: claims that ask for more get it, slowly.

As the worst of real drivers: the file system grows only when a pod that uses it starts. A StorageClass with the
parameter `online` grows it in a running pod, and one with `infeasible` never grows a volume (KEP-1790).
"""

from __future__ import annotations

from typing import Any

from tests.sandbox.kubernetes.controllers.work import Durations, Place, Work, with_condition
from tests.sandbox.kubernetes.kinds import CLAIMS, PODS, STORAGE_CLASSES
from tests.sandbox.kubernetes.objects import Json, condition_of, seconds_of, timestamp
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Change

RESIZING, PENDING = "Resizing", "FileSystemResizePending"
ONLINE, INFEASIBLE = "online", "infeasible"
"""Parameters of a StorageClass."""
_STATUS = Writing(manager="csi-resizer", subresource="status")


def asked(claim: Json) -> str:
    """The size that a claim asks for."""
    return str(claim["spec"]["resources"]["requests"]["storage"])


def held(claim: Json) -> str:
    """The size of its file system."""
    return str(claim.get("status", {}).get("capacity", {}).get("storage", ""))


class Resizer:
    """Brings every claim to the size that it asks for."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources = resources
        self._begin = Work(resources, durations.control, self._begun)
        self._grow = Work(resources, durations.resized, self._grown)
        self._mount = Work(resources, durations.mounted, self._mounted)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.type == "DELETED":
            return
        place = (change.item["metadata"].get("namespace", ""), change.item["metadata"]["name"])
        if change.kind == CLAIMS and held(change.item) and held(change.item) != asked(change.item):
            self._begin.add(place)
        elif change.kind == PODS and change.item["status"].get("phase") == "Running":
            for volume in change.item["spec"].get("volumes", []):
                claim = volume.get("persistentVolumeClaim", {}).get("claimName")
                if claim and self._pending(place[0], claim) is not None:
                    self._mount.add((place[0], claim))

    def _pending(self, namespace: str, name: str) -> Json | None:
        claim = self._resources.store.kept(CLAIMS, namespace, name)
        found = condition_of(claim, PENDING) if claim is not None else None
        return found if found and found["status"] == "True" else None

    def _parameters(self, claim: Json) -> Json:
        found = self._resources.store.get(STORAGE_CLASSES, "", claim["spec"].get("storageClassName", "")) or {}
        return dict(found.get("parameters") or {})

    def _status(self, place: Place, change: Any) -> None:
        self._resources.change(CLAIMS, *place, change, _STATUS)

    def _begun(self, place: Place) -> None:
        claim = self._resources.get(CLAIMS, *place)
        if condition_of(claim, RESIZING) or condition_of(claim, PENDING) or held(claim) == asked(claim):
            return
        failed = INFEASIBLE in self._parameters(claim)
        state, now = f"ControllerResize{'Infeasible' if failed else 'InProgress'}", self._now()

        def change(item: Json) -> None:
            item["status"]["allocatedResourceStatuses"] = {"storage": state}
            item["status"]["allocatedResources"] = {"storage": asked(item)}
            if failed:
                with_condition(item, "ControllerResizeError", "True", now, message="the disk cannot be as large")
            else:
                with_condition(item, RESIZING, "True", now)

        if (claim["status"].get("allocatedResourceStatuses") or {}).get("storage") != state:
            self._status(place, change)
        if not failed:
            self._grow.add(place)

    def _grown(self, place: Place) -> None:
        now = self._now()

        def change(item: Json) -> None:
            item["status"]["allocatedResourceStatuses"] = {"storage": "NodeResizePending"}
            _without(item, RESIZING)
            with_condition(item, PENDING, "True", now, message="Waiting for user to (re-)start a pod")

        self._status(place, change)
        if ONLINE in self._parameters(self._resources.get(CLAIMS, *place)):
            self._mount.add(place)

    def _mounted(self, place: Place) -> None:
        """The file system grows, if a pod has started since, or the driver needs no start."""
        claim, pending = self._resources.get(CLAIMS, *place), self._pending(*place)
        if pending is None or not (ONLINE in self._parameters(claim) or self._started(place, pending)):
            return

        def change(item: Json) -> None:
            item["status"]["capacity"] = {"storage": asked(item)}
            for field in ("allocatedResourceStatuses", "allocatedResources"):
                item["status"].pop(field, None)
            _without(item, PENDING)

        self._status(place, change)

    def _started(self, place: Place, pending: Json) -> bool:
        since = seconds_of(pending["lastTransitionTime"])
        return any(
            seconds_of(pod["status"]["startTime"]) >= since
            for pod in self._resources.store.each(PODS, place[0])
            if pod["status"].get("phase") == "Running"
            and any(
                each.get("persistentVolumeClaim", {}).get("claimName") == place[1]
                for each in pod["spec"].get("volumes", [])
            )
        )

    def _now(self) -> str:
        return timestamp(self._resources.store.clock.now())


def _without(item: Json, type_: str) -> None:
    item["status"]["conditions"] = [each for each in item["status"].get("conditions", []) if each["type"] != type_]
