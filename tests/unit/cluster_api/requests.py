"""Requests of Cluster API 1.14, recorded when it upgraded machines in memory, and objects made of them."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded")
HOOKS = sorted(path.stem for path in RECORDED.glob("*.json"))

Json = dict[str, Any]


def recorded(hook: str) -> Json:
    """The body of the recorded request of a hook, written in lower case."""
    body: Json = _of(hook)["request"]
    return body


def path_of(hook: str) -> str:
    """The path of the recorded request, with its query."""
    path: str = _of(hook)["path"]
    return path


def _of(hook: str) -> Json:
    content: Json = json.loads((RECORDED / f"{hook}.json").read_text(encoding="utf-8"))
    return content


def with_value(body: Json, path: str, value: Any) -> Json:
    """The body with another value at a path with dots; None takes the field away."""
    made = copy.deepcopy(body)
    *above, last = path.split(".")
    item = made
    for name in above:
        item = item.setdefault(name, {})
    if value is None:
        item.pop(last, None)
    else:
        item[last] = value
    return made


def patched(item: Any, patch: Mapping[str, Any]) -> Any:
    """The object after a JSON patch of a response, by the words of RFC 6902."""
    assert patch["patchType"] == "JSONPatch"
    made = copy.deepcopy(item)
    for operation in json.loads(base64.b64decode(patch["patch"])):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        parent = made
        for part in parts[:-1]:
            parent = parent[part]
        if operation["op"] in ("remove", "replace"):
            assert parts[-1] in parent
        if operation["op"] == "remove":
            del parent[parts[-1]]
        else:
            parent[parts[-1]] = operation["value"]
    return made
