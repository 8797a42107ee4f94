"""The bodies of requests and answers of runtime hooks, read strictly. Pure: no I/O.

Source: hooks.runtime.cluster.x-k8s.io/v1alpha1 of Cluster API 1.12 to 1.14.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .fields import Json

GROUP = "hooks.runtime.cluster.x-k8s.io"
API_VERSION = f"{GROUP}/v1alpha1"


class BadBody(ValueError):
    """A request that cannot be read: one sentence, fit for the log of the caller."""


def body_of(content: bytes, hook: str) -> Json:
    """The request of a hook.

    Raises:
        BadBody: it is no JSON object, or the request of another hook or version.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadBody(f"The request of {hook} is not JSON.") from error
    if not isinstance(body, dict):
        raise BadBody(f"The request of {hook} is no JSON object.")
    for name, wanted in (("apiVersion", API_VERSION), ("kind", f"{hook}Request")):
        if body.get(name) != wanted:
            raise BadBody(f"The request of {hook} has another {name} than {wanted}.")
    settings = body.get("settings") or {}
    if not isinstance(settings, dict) or not all(isinstance(value, str) for value in settings.values()):
        raise BadBody(f"The settings in the request of {hook} are no mapping of texts.")
    return body


def part(body: Mapping[str, Any], *path: str) -> Json:
    """The object at a path.

    Raises:
        BadBody: there is none.
    """
    found: Any = body
    for index, name in enumerate(path):
        found = found.get(name) if isinstance(found, Mapping) else None
        if not isinstance(found, dict):
            raise BadBody(f"The request has no object {'.'.join(path[: index + 1])}.")
    return dict(found)


def optional_part(body: Mapping[str, Any], *path: str) -> Json:
    """The object at a path; empty if there is none."""
    found: Any = body
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            return {}
    if not isinstance(found, dict):
        raise BadBody(f"The request has no object {'.'.join(path)}.")
    return dict(found)


def text(body: Mapping[str, Any], *path: str) -> str:
    """The text at a path; it is not empty.

    Raises:
        BadBody: there is none.
    """
    value = part(body, *path[:-1]).get(path[-1])
    if not isinstance(value, str) or not value:
        raise BadBody(f"The request has no text {'.'.join(path)}.")
    return value


def optional_text(body: Mapping[str, Any], *path: str) -> str:
    """The text at a path; empty if there is none."""
    value = optional_part(body, *path[:-1]).get(path[-1])
    if value is not None and not isinstance(value, str):
        raise BadBody(f"The request has no text {'.'.join(path)}.")
    return value or ""


def answer(hook: str, status: str, message: str, **more: Any) -> Json:
    """An answer of a hook."""
    return {"apiVersion": API_VERSION, "kind": f"{hook}Response", "status": status, "message": message, **more}


def success(hook: str, message: str = "", **more: Any) -> Json:
    """An answer that the hook has done its work, or is busy with it."""
    return answer(hook, "Success", message, **more)


def failure(hook: str, message: str, **more: Any) -> Json:
    """An answer that the hook has failed; Cluster API asks again later, and replaces nothing."""
    return answer(hook, "Failure", message, **more)
