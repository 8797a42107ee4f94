"""The difference of two specs, the allow-list that covers it, and the patch that carries it out. Pure: no I/O.

Cluster API applies the patches to the current objects and compares the rest. If anything is left over, the machine
cannot be updated in place, and is replaced. So the answer here is all or nothing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Segments = tuple[str, ...]

ABSENT: Any = object()
"""The value of a field that is not there."""


@dataclass(frozen=True)
class Difference:
    """One field that differs: its path from the top of the object, and the value that is wanted, or ABSENT."""

    path: Segments
    before: Any
    wanted: Any


def differences(current: Any, desired: Any, path: Segments = ()) -> Iterator[Difference]:
    """The fields that differ. Lists and fields that one side does not have are given as a whole."""
    if isinstance(current, Mapping) and isinstance(desired, Mapping):
        for key in sorted(current.keys() | desired.keys()):
            yield from differences(current.get(key, ABSENT), desired.get(key, ABSENT), (*path, key))
    elif not same(current, desired):
        yield Difference(path, current, desired)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; true and 1 are not."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def leaves(difference: Difference) -> Iterator[Segments]:
    """The paths that a difference touches: those below it if it adds or removes a whole object."""
    value = difference.before if difference.wanted is ABSENT else difference.wanted
    if ABSENT in (difference.before, difference.wanted):
        yield from _paths_below(value, difference.path)
    else:
        yield difference.path


def _paths_below(value: Any, path: Segments) -> Iterator[Segments]:
    if isinstance(value, Mapping) and value:
        for key in sorted(value):
            yield from _paths_below(value[key], (*path, key))
    else:
        yield path


def covers(allowed: Segments, path: Segments) -> bool:
    """Whether a path of the allow-list covers a field: it is the field or above it; * is any one name."""
    return len(allowed) <= len(path) and all(name in ("*", part) for name, part in zip(allowed, path, strict=False))


def not_covered(changes: Sequence[Difference], allow_list: Sequence[Segments]) -> list[Segments]:
    """The fields that differ and that no path of the allow-list covers, in the order of their names."""
    touched = {path for change in changes for path in leaves(change)}
    return sorted(path for path in touched if not any(covers(allowed, path) for allowed in allow_list))


def json_patch(changes: Sequence[Difference]) -> list[Json]:
    """The changes as a JSON patch (RFC 6902), which, unlike a merge patch, can also set a field to null."""
    return [_operation(change) for change in changes]


def _operation(change: Difference) -> Json:
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in change.path)
    if change.wanted is ABSENT:
        return {"op": "remove", "path": pointer}
    return {"op": "add" if change.before is ABSENT else "replace", "path": pointer, "value": change.wanted}


def encoded(operations: Sequence[Json]) -> Json:
    """A patch as a response of Cluster API carries it: its type, and its bytes in base64."""
    content = json.dumps(operations, separators=(",", ":"), sort_keys=True).encode()
    return {"patchType": "JSONPatch", "patch": base64.b64encode(content).decode()}


def segments(written: str) -> Segments:
    """A path of an allow-list: names with dots between them, or a JSON pointer where a name has dots.

    Raises:
        ValueError: it is empty, or does not start with spec.
    """
    if written.startswith("/"):
        parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in written[1:].split("/"))
    else:
        parts = tuple(written.split("."))
    if parts[0] != "spec" or len(parts) < 2 or not all(parts):
        raise ValueError(f"{written!r} is no path of a field: write it as spec.version or /spec/version")
    return parts


def shown(path: Segments) -> str:
    """A path for people, as an allow-list takes it."""
    if any("." in part or "/" in part or not part for part in path):
        return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
    return ".".join(path)
