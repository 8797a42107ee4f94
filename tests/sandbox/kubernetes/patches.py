"""Patches: a merge (RFC 7386), operations (RFC 6902), and a merge that knows which lists are keyed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.sandbox.kubernetes.objects import Json, Refused, copied

_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "imagePullSecrets": ("name",),
    "ports": ("containerPort", "port"),
    "ownerReferences": ("uid",),
    "conditions": ("type",),
    "topologySpreadConstraints": ("topologyKey",),
    "hostAliases": ("ip",),
    "taints": ("key",),
    "addresses": ("type",),
    "readinessGates": ("conditionType",),
    "secrets": ("name",),
}
SETS = frozenset({"finalizers"})
"""Lists of plain values of which each is there once."""


def keys_of(field: str, items: Sequence[Any]) -> str | None:
    """The key by which the items of a list are merged; None where the list is replaced as a whole."""
    for key in _KEYS.get(field, ()):
        if items and all(isinstance(each, dict) and key in each for each in items):
            return key
    return None


def merged(present: Any, patch: Any) -> Any:
    """RFC 7386: null removes, objects are merged, anything else replaces."""
    if not isinstance(patch, dict):
        return copied(patch)
    found = dict(present) if isinstance(present, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def strategic(present: Any, patch: Any, field: str = "") -> Any:
    """The strategic merge of the built-in kinds, with the directives `$patch` and `$deleteFromPrimitiveList`."""
    if isinstance(patch, list):
        return _strategic_list(present if isinstance(present, list) else [], patch, field)
    if not isinstance(patch, dict):
        return copied(patch)
    if patch.get("$patch") == "replace":
        return {key: copied(value) for key, value in patch.items() if key != "$patch"}
    found = dict(present) if isinstance(present, dict) else {}
    for key, value in patch.items():
        if key == "$retainKeys":
            found = {each: found[each] for each in found if each in value}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            found[name] = [each for each in found.get(name, []) if each not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            found.pop(key, None)
        else:
            found[key] = strategic(found.get(key), value, key)
    return found


def _strategic_list(present: list[Any], patch: list[Any], field: str) -> list[Any]:
    plain = [each for each in patch if not (isinstance(each, dict) and each.keys() == {"$patch"})]
    if len(plain) < len(patch):
        return copied(plain)
    if field in SETS:
        return [*present, *(each for each in patch if each not in present)]
    key = keys_of(field, patch)
    if key is None or keys_of(field, present) not in {key, None}:
        return copied(patch)
    found = {each[key]: each for each in present}
    for each in patch:
        if each.get("$patch") == "delete":
            found.pop(each[key], None)
        else:
            found[each[key]] = strategic(found.get(each[key]), each)
    named = [each[key] for each in patch if each[key] in found]
    left = [name for name in found if name not in named]
    return [found[name] for name in _in_order(left, named, [each[key] for each in present])]


def _in_order(left: Sequence[Any], right: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Items that a patch leaves alone and those it names, in the real server's order (patch.go, mergeSortedSlice)."""
    rest, others = list(right), list(left)
    result = []
    while rest and others:
        both = rest[0] in known and others[0] in known
        result.append((others if both and known.index(others[0]) < known.index(rest[0]) else rest).pop(0))
    return [*result, *rest, *others]


def operated(present: Json, operations: Sequence[Json]) -> Any:
    """RFC 6902. Raises Refused (422) where an operation cannot be done."""
    document: Any = {"": copied(present)}
    for each in operations:
        try:
            _operate(document, each)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            message = f"the server rejected our request due to an error in our request: {error}"
            raise Refused(422, "Invalid", message) from error
    return document[""]


def _operate(document: Any, operation: Json) -> None:
    kind, path = operation["op"], operation["path"]
    if kind in {"move", "copy"}:
        value = copied(_look(document, operation["from"]))
        if kind == "move":
            _remove(document, operation["from"])
        _add(document, path, value)
    elif kind == "test":
        if _look(document, path) != operation.get("value"):
            raise ValueError(f"testing path {path} failed")
    elif kind == "add":
        _add(document, path, copied(operation["value"]))
    elif kind == "remove":
        _remove(document, path)
    elif kind == "replace":
        _look(document, path)
        _remove(document, path)
        _add(document, path, copied(operation["value"]))
    else:
        raise ValueError(f"unexpected kind: {kind}")


def _parts(path: str) -> list[str]:
    return [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")]


def _look(document: Any, path: str) -> Any:
    return _walked(document, _parts(path))


def _walked(document: Any, parts: Sequence[str]) -> Any:
    found = document
    for part in parts:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def _parent(document: Any, path: str) -> tuple[Any, str]:
    *above, last = _parts(path)
    return _walked(document, above), last


def _add(document: Any, path: str, value: Any) -> None:
    parent, last = _parent(document, path)
    if not isinstance(parent, list):
        parent[last] = value
        return
    place = len(parent) if last == "-" else int(last)
    if place > len(parent):
        raise IndexError(f"index {place} out of bounds")
    parent.insert(place, value)


def _remove(document: Any, path: str) -> None:
    parent, last = _parent(document, path)
    if isinstance(parent, list):
        del parent[int(last)]
    else:
        del parent[last]
