"""The meaning of a path and a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_OF_NAMESPACES = frozenset({"status", "finalize"})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True)
class Target:
    """A collection or an object, by the path of a request."""

    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str

    def verb(self, method: str, query: Mapping[str, str]) -> str:
        """The verb that a role has to give."""
        if method == "GET":
            return "watch" if is_watch(query) else "get" if self.name else "list"
        if method == "DELETE":
            return "delete" if self.name else "deletecollection"
        return _VERBS.get(method, method.lower())


def is_watch(query: Mapping[str, str]) -> bool:
    """Whether changes are asked for."""
    return query.get("watch", "").lower() in {"1", "true"}


def target_of(path: str) -> Target | None:
    """The target of a path; None where it is no resource's."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
    name = rest[1] if len(rest) > 1 else ""
    return Target(group, version, rest[0], namespace, name, "/".join(rest[2:]))
