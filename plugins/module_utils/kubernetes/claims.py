"""Reading volume claims (PersistentVolumeClaims), and whether their StorageClass lets them grow.

A claim that is made larger goes through these states (Kubernetes documentation, Persistent Volumes, Expanding
Persistent Volumes Claims, and KEP-1790, Recover from volume expansion failure): the volume grows (`Resizing`), the file
system is still to grow (`FileSystemResizePending`), which some drivers do only when the pod starts, and then
`status.capacity` has the new size. `status.allocatedResourceStatuses` has the failures after which nothing is tried
again automatically.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from ..common.errors import Denied
from ..common.reading import Json as Part
from ..common.reading import Unreadable, flag, part, text, text_map, within
from .answers import reading_object
from .client import KubernetesClient
from .conditions import UNKNOWN, StatusCondition, conditions
from .paths import CORE, in_namespace
from .pod_usage import quantity

PENDING = "FileSystemResizePending"
"""The condition of a claim whose volume has grown, and whose file system has not."""
FAILURES = ("ControllerResizeError", "NodeResizeError")
"""The conditions with the last error of the resizer and of the kubelet. Both try again."""
IN_WORK = ("Resizing", PENDING)
INFEASIBLE = ("ControllerResizeInfeasible", "NodeResizeInfeasible")
"""The states in which nothing is tried again until someone asks for another size."""


@dataclass(frozen=True)
class VolumeClaim:
    """One claim now. Sizes are in bytes."""

    name: str
    uid: str
    resource_version: str
    requested: Decimal
    capacity: Decimal
    """The size of its file system; 0 if it has no volume yet."""
    written: str
    """The requested size as it is written."""
    storage_class: str
    phase: str
    conditions: Mapping[str, StatusCondition] = field(default_factory=dict)
    resizing: str = ""
    """The state of the resize, of `status.allocatedResourceStatuses`; empty if there is none."""

    @property
    def pending_since(self) -> str:
        """The time since which only its file system is still to grow; empty if that is not so."""
        pending = self.conditions.get(PENDING, UNKNOWN)
        return pending.since if pending.true else ""

    @property
    def infeasible(self) -> bool:
        """Whether the last resize has failed for good."""
        return self.resizing in INFEASIBLE

    @property
    def fault(self) -> str:
        """The last error of the resize in the words of the driver; empty if there is none."""
        said = [each.message for name in FAILURES if (each := self.conditions.get(name, UNKNOWN)).true]
        return " ".join(" ".join(said).split()).rstrip(".")

    @property
    def settled(self) -> bool:
        """Whether it has all that it asks for."""
        at_work = any(self.conditions.get(name, UNKNOWN).true for name in IN_WORK)
        return self.capacity >= self.requested and not at_work and not self.resizing


def claim_path(namespace: str, name: str) -> str:
    """The path of a claim."""
    return in_namespace(CORE, namespace, "persistentvolumeclaims", name)


def volume_claim(item: Mapping[str, Any]) -> VolumeClaim:
    """The observation of an API object.

    Raises:
        NotUnderstood: it is not as expected.
    """
    with reading_object("PersistentVolumeClaim", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
        written = storage_of(spec)
        has = text_map(status, "capacity").get("storage", "0")
        return VolumeClaim(
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            requested=bytes_in(written),
            capacity=bytes_in(has),
            written=written,
            storage_class=text(spec, "storageClassName", ""),
            phase=text(status, "phase", ""),
            conditions=conditions(status),
            resizing=text_map(status, "allocatedResourceStatuses").get("storage", ""),
        )


def storage_of(spec: Part) -> str:
    """The size that the spec of a claim asks for, as it is written."""
    return within(spec, "resources.requests", lambda requests: text(requests, "storage"))


def bytes_in(written: str) -> Decimal:
    """The bytes of a size.

    Raises:
        Unreadable: it is no quantity of Kubernetes.
    """
    found = quantity(written)
    if found is None:
        raise Unreadable(f"is {written!r}, and has to be a quantity", "storage")
    return found


def list_claims(client: KubernetesClient, namespace: str, names: Collection[str]) -> dict[str, VolumeClaim]:
    """Those of these claims that exist, by name. Each is asked for by itself, since a Role may allow no list."""
    found = {name: client.get(claim_path(namespace, name)) for name in names}
    return {name: volume_claim(item) for name, item in found.items() if item is not None}


def expands(client: KubernetesClient, storage_class: str) -> bool | None:
    """Whether claims of a StorageClass may grow; None if it is not known: without a name, or the right to look at it.

    Raises:
        Refusal: the API gives no usable answer.
    """
    if not storage_class:
        return None
    try:
        found = client.get(f"/apis/storage.k8s.io/v1/storageclasses/{quote(storage_class, safe='')}")
    except Denied:
        return None
    if found is None:
        return False
    with reading_object("StorageClass", found):
        return flag(found, "allowVolumeExpansion", default=False)
