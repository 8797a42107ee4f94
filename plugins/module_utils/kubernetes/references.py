"""The objects behind references, of any kind that the API serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..common.errors import Refusal
from ..common.reading import Json, flag, listed, text, within
from .answers import is_not_found, reading
from .client import KubernetesClient
from .paths import in_namespace
from .reference import ObjectReference


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
    _kind, plural, namespaced = plurals[0]
    path = f"{base}/{plural}/{quote(reference.name, safe='')}"
    if namespaced:
        path = in_namespace(base, reference.namespace, plural, reference.name)
    found = client.get(path)
    return FoundObject(path, found) if found is not None else None


def _preferred(client: KubernetesClient, group: str) -> str:
    found = _served(client, f"/apis/{group}") or {}
    with reading(f"about the group {group}"):
        return within(found, "preferredVersion", lambda preferred: text(preferred, "version", ""), {})


def _plural(resource: Json) -> tuple[str, str, bool]:
    """The kind and the name of a resource, and whether its objects are in namespaces. Subresources come after it."""
    return text(resource, "kind", ""), text(resource, "name"), flag(resource, "namespaced", default=True)


def _served(client: KubernetesClient, path: str) -> Json | None:
    try:
        return client.get(path)
    except Refusal as error:
        if is_not_found(error):
            return None
        raise
