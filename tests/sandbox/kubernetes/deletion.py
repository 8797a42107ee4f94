"""The way in which an object goes: preconditions, grace periods, finalizers and what becomes of what it owns."""

from __future__ import annotations

from dataclasses import replace

from tests.sandbox.kubernetes.kinds import NAMESPACES, PODS
from tests.sandbox.kubernetes.objects import Json, Kind, conflict, copied, timestamp

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""Finalizers that the garbage collector takes away."""
_IDENTITY = (
    ("UID", "uid", "deleted and then recreated"),
    ("ResourceVersion", "resourceVersion", "modified"),
)
_BY_POLICY = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


def check_preconditions(kind: Kind, item: Json, options: Json) -> None:
    """Raises Refused (409) where the object is not the one that was meant."""
    metadata, wanted = item["metadata"], options.get("preconditions") or {}
    for field, key, became in _IDENTITY:
        if wanted.get(key) and wanted[key] != metadata[key]:
            why = (
                f"the {field} in the precondition ({wanted[key]}) does not match the {field} in record "
                f"({metadata[key]}). The object might have been {became}"
            )
            # The real server names the kind here, and not the resource.
            raise conflict(replace(kind, plural=kind.kind), metadata["name"], why)


def begun(kind: Kind, item: Json, options: Json, moment: float) -> tuple[Json, bool]:
    """The object once its deletion has been asked for, and whether it goes at once."""
    dying: Json = copied(item)
    metadata = dying["metadata"]
    policy = options.get("propagationPolicy") or ("Orphan" if options.get("orphanDependents") else "Background")
    finalizers = [each for each in metadata.get("finalizers", []) if each not in {FOREGROUND, ORPHAN}]
    finalizers += [_BY_POLICY[policy]] if policy in _BY_POLICY else []
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = _grace(kind, item, options)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = timestamp(moment + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if kind.generations:
            metadata["generation"] = metadata.get("generation", 0) + 1
    elif grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionTimestamp"] = timestamp(moment + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    if kind == NAMESPACES:
        dying.setdefault("status", {})["phase"] = "Terminating"
    return dying, is_over(kind, dying)


def _grace(kind: Kind, item: Json, options: Json) -> int:
    """Seconds that a pod has to stop; nothing else has any."""
    if kind != PODS:
        return 0
    wanted = options.get("gracePeriodSeconds")
    seconds = int(item["spec"].get("terminationGracePeriodSeconds", 30) if wanted is None else wanted)
    ended = item.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    return 0 if ended or not item["spec"].get("nodeName") else max(0, seconds)


def is_over(kind: Kind, item: Json) -> bool:
    """Whether an object that is being deleted is held by nothing any more."""
    metadata = item["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if kind == NAMESPACES and item.get("spec", {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")
