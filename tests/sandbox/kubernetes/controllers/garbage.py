"""The garbage collector: what has no owner any more is deleted, and what is orphaned loses its owner."""

from __future__ import annotations

from tests.sandbox.kubernetes.controllers.work import Durations, Place, Work
from tests.sandbox.kubernetes.deletion import FOREGROUND, ORPHAN
from tests.sandbox.kubernetes.kinds import CLAIMS, PODS, VOLUMES
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, copied
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.store import Change

_PROTECTION = "kubernetes.io/pvc-protection"


class Garbage:
    """Looks after every object that has owners, or that waits for what it owns."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources = resources
        self._work = Work(resources, durations.control, self._collect)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        metadata = change.item["metadata"]
        if change.kind == CLAIMS and change.type == "DELETED":
            self._reclaim(change.item)
        dying = {FOREGROUND, ORPHAN} & set(metadata.get("finalizers", []))
        owned = change.type == "ADDED" and metadata.get("ownerReferences")
        freed = change.type == "DELETED" and (metadata.get("ownerReferences") or change.kind == PODS)
        going = change.kind == CLAIMS and metadata.get("deletionTimestamp")
        if change.type == "DELETED" or dying or owned or freed or going:
            self._work.add((metadata.get("namespace", ""), ""))

    def _collect(self, place: Place) -> None:
        for kind in list(self._resources.kinds):
            for item in list(self._resources.store.each(kind, place[0])):
                self._look_at(kind, item)

    def _look_at(self, kind: Kind, item: Json) -> None:
        metadata = item["metadata"]
        finalizers = metadata.get("finalizers", [])
        if "deletionTimestamp" in metadata:
            if ORPHAN in finalizers:
                self._orphan(item)
                self._release(kind, item, ORPHAN)
            elif FOREGROUND in finalizers and not self._delete_owned(item):
                self._release(kind, item, FOREGROUND)
            elif _PROTECTION in finalizers and not self._is_used(item):
                self._release(kind, item, _PROTECTION)
        elif metadata.get("ownerReferences") and not any(
            self._is_there(metadata.get("namespace", ""), owner) for owner in metadata["ownerReferences"]
        ):
            self._delete(kind, item)

    def _is_there(self, namespace: str, owner: Json) -> bool:
        kind = self._resources.kinds.named(owner["apiVersion"], owner["kind"])
        if kind is None:
            return True
        found = self._resources.store.kept(kind, namespace if kind.namespaced else "", owner["name"])
        return found is not None and found["metadata"]["uid"] == owner["uid"]

    def _owned(self, item: Json) -> list[tuple[Kind, Json]]:
        uid, namespace = item["metadata"]["uid"], item["metadata"].get("namespace", "")
        return [
            (kind, each)
            for kind in list(self._resources.kinds)
            for each in list(self._resources.store.each(kind, namespace))
            if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", []))
        ]

    def _delete_owned(self, item: Json) -> bool:
        """Delete what an object owns; whether there is any."""
        owned = self._owned(item)
        for kind, each in owned:
            if "deletionTimestamp" not in each["metadata"]:
                self._delete(kind, each)
        return bool(owned)

    def _orphan(self, item: Json) -> None:
        uid = item["metadata"]["uid"]
        for kind, kept in self._owned(item):
            each = copied(kept)
            metadata = each["metadata"]
            metadata["ownerReferences"] = [one for one in metadata["ownerReferences"] if one["uid"] != uid]
            self._resources.replace(kind, metadata.get("namespace", ""), metadata["name"], each)

    def _is_used(self, claim: Json) -> bool:
        name = claim["metadata"]["name"]
        return any(
            volume.get("persistentVolumeClaim", {}).get("claimName") == name
            for pod in self._resources.store.each(PODS, claim["metadata"]["namespace"])
            for volume in pod["spec"].get("volumes", [])
        )

    def _reclaim(self, claim: Json) -> None:
        """Delete the volume of a claim that is gone, if that is its policy."""
        volume = self._resources.store.kept(VOLUMES, "", claim["spec"].get("volumeName", ""))
        if volume is not None and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._delete(VOLUMES, volume)

    def _delete(self, kind: Kind, item: Json) -> None:
        metadata = item["metadata"]
        options = {"preconditions": {"uid": metadata["uid"]}, "propagationPolicy": "Background"}
        try:
            self._resources.delete(kind, metadata.get("namespace", ""), metadata["name"], options)
        except Refused as error:
            if error.code not in {404, 409}:
                raise

    def _release(self, kind: Kind, item: Json, finalizer: str) -> None:
        def change(present: Json) -> None:
            present["metadata"]["finalizers"] = [
                each for each in present["metadata"].get("finalizers", []) if each != finalizer
            ]

        metadata = item["metadata"]
        self._resources.change(kind, metadata.get("namespace", ""), metadata["name"], change)
