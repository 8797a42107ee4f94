"""Volumes of a pool: whether the data that a container keeps under a path outlives its pod. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from posixpath import normpath
from typing import Any

from .state import StatefulSet

FLEETING = frozenset(
    {"emptyDir", "configMap", "secret", "projected", "downwardAPI", "ephemeral", "image", "csi", "gitRepo"}
)
"""Volumes that end with their pod (core/v1 Volume). `csi` is the inline kind, `ephemeral` a claim that the pod owns."""


def is_mounted(pool: StatefulSet, path: str) -> bool:
    """Whether a container of the pool has a volume mounted at the path or above it."""
    return bool(_volumes_at(pool, path))


def outlives_pods(pool: StatefulSet, paths: Collection[str]) -> bool:
    """Whether the data at all these paths comes back with the pod: each path is only on volumes that outlive it.

    The volume of the deepest mount counts, whatever part of it (`subPath`) is mounted.
    """
    lasting = _lasting(pool)
    return bool(paths) and all(found and found <= lasting for found in (_volumes_at(pool, path) for path in paths))


def variable(pool: StatefulSet, name: str) -> str:
    """The value of an environment variable in the pool's template, of the first container that has it; else empty."""
    given = (each for container in pool.template.get("containers") or [] for each in container.get("env") or [])
    return next((str(each.get("value") or "") for each in given if each.get("name") == name), "")


def _volumes_at(pool: StatefulSet, path: str) -> set[str]:
    """The names of the volumes at a path: of each container the one with the deepest mount."""
    found = set()
    for container in pool.template.get("containers") or []:
        mounts = {normpath(each["mountPath"]): str(each["name"]) for each in container.get("volumeMounts") or []}
        above = [mount for mount in mounts if f"{normpath(path)}/".startswith(f"{mount.rstrip('/')}/")]
        if above:
            found.add(mounts[max(above, key=len)])
    return found


def _lasting(pool: StatefulSet) -> set[str]:
    """The names of the volumes that outlive a pod. A claim template replaces a volume of the same name."""
    volumes: Iterable[Mapping[str, Any]] = pool.template.get("volumes") or []
    kept = {str(each["name"]) for each in volumes if (kinds := each.keys() - {"name"}) and not kinds & FLEETING}
    return kept | set(pool.claims)
