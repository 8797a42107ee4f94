"""The last writer of a field of an object, from `managedFields` (Kubernetes documentation, Server-Side Apply). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def last_manager(fields: Iterable[Mapping[str, Any]], path: tuple[str, ...]) -> str:
    """The manager that has written a field last; empty if none is noted.

    `path` are the keys of `fieldsV1`. Entries without a time are as old as the object.
    """
    found = [
        (str(each.get("time") or ""), str(each.get("manager") or ""))
        for each in fields
        if _has(each.get("fieldsV1"), path)
    ]
    return max(found)[1] if found else ""


def _has(fields: object, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(fields, Mapping) or key not in fields:
            return False
        fields = fields[key]
    return True
