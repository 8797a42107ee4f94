"""The owners of fields: `metadata.managedFields`, and server-side apply, which goes by it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.sandbox.kubernetes.objects import Json, Kind, Refused, copied
from tests.sandbox.kubernetes.patches import SETS, keys_of, strategic

Path = tuple[str, ...]

_NOBODYS = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generateName",
    }
)


@dataclass(frozen=True)
class Manager:
    """The writer of fields, and the way in which it writes them."""

    name: str
    operation: str = "Update"
    subresource: str = ""


def leaves(item: Json) -> dict[Path, Any]:
    """The fields of an object that a manager can own, with their values."""
    own = {key: value for key, value in item.items() if key not in {"apiVersion", "kind", "metadata"}}
    own["metadata"] = {key: value for key, value in item.get("metadata", {}).items() if key not in _NOBODYS}
    if not own["metadata"]:
        del own["metadata"]
    return dict(_leaves(own, (), ""))


def _leaves(value: Any, path: Path, field: str) -> Iterable[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, (*path, f"f:{key}"), key)
    elif isinstance(value, list) and field in SETS:
        for each in value:
            yield (*path, f"v:{json.dumps(each)}"), each
    elif isinstance(value, list) and (key := keys_of(field, value)):
        for each in value:
            yield from _leaves(each, (*path, _keyed(key, each[key])), "")
    else:
        yield path, value


def _keyed(key: str, value: Any) -> str:
    return "k:" + json.dumps({key: value}, separators=(",", ":"))


def updated(before: Json, after: Json, manager: Manager, moment: str) -> list[Json]:
    """The managedFields after a write: what it has changed is the writer's alone."""
    old, new = leaves(before), leaves(after)
    nothing = object()
    changed = {path for path, value in new.items() if old.get(path, nothing) != value}
    return _with(before, after, manager, moment, _Gain(changed, set(new), changed))


def applied(present: Json, body: Json, manager: Manager, moment: str, kind: Kind, *, force: bool) -> Json:
    """The object after an apply, with its managedFields. Raises Refused (409) for what is another's."""
    wanted, there = leaves(body), leaves(present)
    owned = _owned(present)
    nothing = object()
    others = {who: paths for who, paths in owned.items() if who != manager}
    taken = {
        path: who.name
        for who, paths in others.items()
        for path in paths
        if path in wanted and there.get(path, nothing) != wanted[path]
    }
    if taken and not force:
        raise _conflicts(taken, kind)
    left = owned.get(manager, frozenset()) - wanted.keys() - frozenset().union(*others.values())
    result = copied(present)
    for path in left:
        _remove(result, path)
    result = strategic(result, {key: value for key, value in body.items() if key != "metadata"})
    metadata = {key: value for key, value in body.get("metadata", {}).items() if key != "managedFields"}
    result["metadata"] = strategic(result["metadata"], metadata)
    kept = set(leaves(result))
    result["metadata"]["managedFields"] = _with(
        present, body, manager, moment, _Gain(set(wanted), kept, set(taken), whole=True)
    )
    final: Json = result
    return final


def _conflicts(taken: Mapping[Path, str], kind: Kind) -> Refused:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{who}" using {kind.api_version}',
            "field": _dotted(path),
        }
        for path, who in sorted(taken.items())
    ]
    fields: dict[str, list[str]] = {}
    for each in causes:
        fields.setdefault(each["message"], []).append(each["field"])
    said = [f"{message}: {names[0]}" for message, names in fields.items()]
    if len(causes) > 1:
        said = [
            "\n".join([f"{message.replace('conflict with', 'conflicts with', 1)}:", *(f"- {name}" for name in names)])
            for message, names in fields.items()
        ]
    count = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    return Refused(409, "Conflict", f"Apply failed with {count}: " + "\n".join(said), {"causes": causes})


def _dotted(path: Path) -> str:
    parts = [f".{each[2:]}" if each.startswith("f:") else f"[{_bracketed(each)}]" for each in path]
    return "".join(parts)


def _bracketed(part: str) -> str:
    if not part.startswith("k:"):
        return part[2:].replace("v:", "=")
    return ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(part[2:]).items())


def _owned(item: Json) -> dict[Manager, frozenset[Path]]:
    found = {}
    for entry in item.get("metadata", {}).get("managedFields", []):
        who = Manager(entry["manager"], entry["operation"], entry.get("subresource", ""))
        found[who] = frozenset(_paths(entry["fieldsV1"]))
    return found


def _paths(tree: Json, above: Path = ()) -> Iterable[Path]:
    for part, below in tree.items():
        if part == ".":
            continue
        if below:
            yield from _paths(below, (*above, part))
        else:
            yield (*above, part)


def _tree(paths: Iterable[Path]) -> Json:
    tree: Json = {}
    for path in sorted(paths):
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
            if part.startswith("k:"):
                branch["."] = {}
    return tree


@dataclass(frozen=True)
class _Gain:
    """The fields that a manager gains by a write."""

    gained: set[Path]
    kept: set[Path]
    """All fields that are there afterwards."""
    taken: set[Path]
    """The fields that others lose."""
    whole: bool = False
    """Whether it owns nothing else afterwards."""


def _with(before: Json, after: Json, manager: Manager, moment: str, gain: _Gain) -> list[Json]:
    """The entries after a write."""
    known = {
        Manager(each["manager"], each["operation"], each.get("subresource", "")): each
        for each in before.get("metadata", {}).get("managedFields", [])
    }
    owned = {
        who: (paths - gain.taken if who != manager else paths) & gain.kept for who, paths in _owned(before).items()
    }
    mine = frozenset(gain.gained) if gain.whole else owned.get(manager, frozenset()) | gain.gained
    entries = []
    for who, paths in {**owned, manager: mine & gain.kept}.items():
        if not paths:
            continue
        old = known.get(who, {})
        fields = _tree(paths)
        entry = {
            "manager": who.name,
            "operation": who.operation,
            "apiVersion": after.get("apiVersion", ""),
            "time": old["time"] if old.get("fieldsV1") == fields else moment,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        entries.append({**entry, "subresource": who.subresource} if who.subresource else entry)
    return entries


def _remove(item: Any, path: Path) -> None:
    """Take a field out; what is empty then goes, too, as does an item of a list that has lost its key."""
    part, *below = path
    if isinstance(item, dict) and part[2:] in item:
        key = part[2:]
        if below:
            _remove(item[key], tuple(below))
        if not below or item[key] in ({}, []):
            del item[key]
    elif isinstance(item, list):
        _remove_item(item, part, tuple(below))


def _remove_item(items: list[Any], part: str, below: Path) -> None:
    value = json.loads(part[2:])
    if part.startswith("v:"):
        items[:] = [each for each in items if each != value]
        return
    for each in [each for each in items if value.items() <= each.items()]:
        if below:
            _remove(each, below)
        if not value.items() <= each.items():
            items.remove(each)
