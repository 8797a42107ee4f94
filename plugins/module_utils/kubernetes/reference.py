"""A reference of one object to another, as observation. Pure: no client."""

from __future__ import annotations

from dataclasses import dataclass

from ..common.reading import Json, text


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
