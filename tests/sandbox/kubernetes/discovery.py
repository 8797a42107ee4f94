"""The answers of the server about itself: its version, its groups and their resources."""

from __future__ import annotations

import re

from tests.sandbox.kubernetes.kinds import Kinds
from tests.sandbox.kubernetes.objects import Json, Kind

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64"}


def told(path: str, kinds: Kinds) -> Json | str | None:
    """The answer at a path that is no resource's; None where there is none."""
    parts = path.strip("/").split("/")
    if path in {"/healthz", "/livez", "/readyz"}:
        return "ok"
    if path == "/version":
        return dict(VERSION)
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if parts == ["apis"]:
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(kinds)}
    if parts[0] == "apis" and len(parts) == 2:
        found = [each for each in _groups(kinds) if each["name"] == parts[1]]
        return {"kind": "APIGroup", "apiVersion": "v1", **found[0]} if found else None
    if parts[0] in {"api", "apis"} and len(parts) == (2 if parts[0] == "api" else 3):
        return _resources("/".join(parts[1:]), kinds)
    return None


def _groups(kinds: Kinds) -> list[Json]:
    versions: dict[str, list[str]] = {}
    for each in kinds:
        if each.group and each.version not in versions.setdefault(each.group, []):
            versions[each.group].append(each.version)
    return [_group(name, found) for name, found in versions.items()]


def _group(name: str, versions: list[str]) -> Json:
    ordered = sorted(versions, key=_priority, reverse=True)
    said = [{"groupVersion": f"{name}/{each}", "version": each} for each in ordered]
    return {"name": name, "versions": said, "preferredVersion": said[0]}


def _priority(version: str) -> tuple[int, int, int]:
    """The place of a version among others, as the server gives it to custom kinds: v2 > v1 > v1beta2 > v1alpha1."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if found is None:
        return -1, 0, 0
    return ("alpha", "beta", None).index(found[2]), int(found[1]), int(found[3] or 0)


def _resources(api_version: str, kinds: Kinds) -> Json | None:
    found = [each for each in kinds if each.api_version == api_version]
    if not found:
        return None
    resources = [entry for each in found for entry in _entries(each)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources}


def _entries(kind: Kind) -> list[Json]:
    plain = {"name": kind.plural, "singularName": kind.kind.lower(), "namespaced": kind.namespaced, "kind": kind.kind}
    entries = [{**plain, "verbs": _VERBS}]
    if kind.status:
        entries.append({**plain, "name": f"{kind.plural}/status", "verbs": ["get", "patch", "update"]})
    return entries
