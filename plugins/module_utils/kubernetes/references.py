"""References of one object to another, of any kind that the API serves, and the objects behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..common.errors import Refusal
from ..common.reading import Json, listed, text, within
from .answers import reading
from .client import KubernetesClient
from .paths import in_namespace


@dataclass(frozen=True)
class ObjectReference:
    """A reference to an object in a namespace."""

    group: str
    kind: str
    namespace: str
    name: str
    version: str = ""
    """The version of the API in which it is wanted; empty for the one that the API prefers."""

    @property
    def called(self) -> str:
        """The object in sentences."""
        return f"{self.kind} {self.namespace}/{self.name}"


def reference_in(item: Json, namespace: str, group: str = "", kind: str = "") -> ObjectReference:
    """The reference that an object holds, in any of the forms of Kubernetes; what it leaves out is as given.

    Raises:
        Unreadable: it cannot be read.
    """
    api_version = text(item, "apiVersion", "")
    own, _slash, version = api_version.rpartition("/")
    return ObjectReference(
        group=text(item, "apiGroup", "") or own or group,
        kind=text(item, "kind", "") or kind,
        namespace=text(item, "namespace", "") or namespace,
        name=text(item, "name"),
        version=version if own else "",
    )


@dataclass(frozen=True)
class FoundObject:
    """An object behind a reference, and its path."""

    path: str
    item: dict[str, Any]


def object_of(client: KubernetesClient, reference: ObjectReference) -> FoundObject | None:
    """The object; None if there is none of that name, or the API does not serve its kind.

    Raises:
        Refusal: it cannot be had or understood.
    """
    version = reference.version or _preferred(client, reference.group)
    base = f"/apis/{reference.group}/{version}"
    served = _served(client, base) if version else None
    if served is None:
        return None
    with reading(f"about the resources of {reference.group}/{version}"):
        plurals = [each for each in listed(served, "resources", _plural) if each[0] == reference.kind]
    if not plurals:
        return None
    path = in_namespace(base, reference.namespace, plurals[0][1], reference.name)
    found = client.get(path)
    return FoundObject(path, found) if found is not None else None


def _preferred(client: KubernetesClient, group: str) -> str:
    found = _served(client, f"/apis/{group}") or {}
    with reading(f"about the group {group}"):
        return within(found, "preferredVersion", lambda preferred: text(preferred, "version", ""), {})


def _plural(resource: Json) -> tuple[str, str]:
    """The kind and the name of a resource. Subresources come after it."""
    return text(resource, "kind", ""), text(resource, "name")


def _served(client: KubernetesClient, path: str) -> Json | None:
    try:
        return client.get(path)
    except Refusal as error:
        # A server says in plain words that it does not know a group.
        if error.verdict.reasons[0].code == "kubernetes_not_found":
            return None
        raise
