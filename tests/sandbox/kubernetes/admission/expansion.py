"""The plugin PersistentVolumeClaimResize: a claim only grows where its StorageClass lets it.

Server source, plugin/pkg/admission/storage/persistentvolume/resize/admission.go.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import STORAGE_CLASSES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Store

_FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def fixed(store: Store, item: Json, before: Json) -> str:
    """The reason why a claim may not ask for another size; empty if it may."""
    if item["spec"]["resources"] == before["spec"]["resources"]:
        return ""
    if (before.get("status") or {}).get("phase") != "Bound":
        return "Only bound persistent volume claims can be expanded"
    found = store.kept(STORAGE_CLASSES, "", before["spec"].get("storageClassName", "")) or {}
    return "" if found.get("allowVolumeExpansion") else _FIXED
