"""The lock as a Lease in the namespace of the pods; written only if it is still the version that was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...common.errors import refusal
from ...common.reading import part, text, text_map, whole, within
from ...kubernetes.answers import reading_object
from ...kubernetes.client import Json, KubernetesClient, connect
from ...kubernetes.paths import in_namespace
from .lock import Lock

MANAGED_BY = {"app.kubernetes.io/managed-by": "stateful.upgrade"}
"""The label of everything that a run keeps in a namespace."""

_NOTE = "upgrade.stateful/"
_PROCESSES = "processes"
_TEXTS = ("who", "place", "doing", "stop")


class Lease:
    """One lock. A write raises `Conflict` if the lock has changed since it was read."""

    def __init__(self, client: KubernetesClient, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    def read(self) -> Lock | None:
        """The lock as the store holds it now, or None if there is none."""
        item = self._client.get(lease_path(self._namespace, self._name))
        return lock_of(item) if item is not None else None

    def write(self, lock: Lock, over: Lock | None) -> Lock:
        """Create the lock if `over` is None, else replace `over`, which was read before."""
        body = _object(self._name, lock)
        notes = body["metadata"]["annotations"]
        if over is None:
            body["metadata"]["annotations"] = {name: text for name, text in notes.items() if text}
            return lock_of(self._client.post(lease_path(self._namespace), body))
        body["metadata"]["resourceVersion"] = _parts(over)[1]
        return lock_of(self._client.patch(lease_path(self._namespace, self._name), body, "merge"))

    def remove(self, lock: Lock) -> None:
        """Remove exactly this lock."""
        uid, version = _parts(lock)
        self._client.delete(lease_path(self._namespace, self._name), uid, resource_version=version)


def lease_of(params: Mapping[str, Any]) -> Lease:
    """The lock of the arguments of a task. No request is made yet.

    Raises:
        Refusal: the connection options cannot be used.
    """
    return Lease(connect(params["kubernetes"]), params["lock"]["namespace"], params["lock"]["name"])


def lease_at(client: KubernetesClient, place: Mapping[str, str]) -> Lease:
    """The lock at the place that an undo names.

    Raises:
        Refusal: it is kept elsewhere.
    """
    if place["kept_in"] != "kubernetes":
        raise refusal(
            "undo_lock_not_readable",
            f"The lock {place['name']} is kept in {place['kept_in']}, where this module cannot read it.",
            "Settle under that lock; or name its run with take_over, if that run is certainly dead.",
        )
    return Lease(client, place["namespace"], place["name"])


def lease_path(namespace: str, name: str = "") -> str:
    """The path of a Lease, or of all Leases in the namespace."""
    return in_namespace("/apis/coordination.k8s.io/v1", namespace, "leases", name)


def list_locks(client: KubernetesClient, namespace: str) -> dict[str, Lock]:
    """All locks of a namespace by name."""
    locks = {}
    for item in list_managed(client, lease_path(namespace)):
        lock = lock_of(item)
        with reading_object("Lease", item):
            locks[within(item, "metadata", lambda metadata: text(metadata, "name"))] = lock
    return locks


def list_managed(client: KubernetesClient, path: str) -> list[Json]:
    """The objects at a path that belong to runs, known by their label."""
    return client.list(path, ",".join(f"{name}={value}" for name, value in MANAGED_BY.items()))


def lock_of(item: Json) -> Lock:
    """The lock that a Lease holds."""
    with reading_object("Lease", item):
        metadata, spec = part(item, "metadata"), part(item, "spec", {})
        notes = text_map(metadata, "annotations")
        return Lock(
            run=text(spec, "holderIdentity", ""),
            since=text(spec, "acquireTime", ""),
            renewed=text(spec, "renewTime", ""),
            seconds=whole(spec, "leaseDurationSeconds", 0),
            processes=tuple(notes.get(_NOTE + _PROCESSES, "").split()),
            version=f"{text(metadata, 'uid')}/{text(metadata, 'resourceVersion')}",
            **{name: notes.get(_NOTE + name, "") for name in _TEXTS},
        )


def _object(name: str, lock: Lock) -> Json:
    notes = {_NOTE + text: getattr(lock, text) or None for text in _TEXTS}
    notes[_NOTE + _PROCESSES] = " ".join(lock.processes) or None
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "labels": dict(MANAGED_BY), "annotations": notes},
        "spec": {
            "holderIdentity": lock.run,
            "acquireTime": lock.since,
            "renewTime": lock.renewed,
            "leaseDurationSeconds": lock.seconds,
        },
    }


def _parts(lock: Lock) -> tuple[str, str]:
    uid, _slash, version = lock.version.partition("/")
    return uid, version
