# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes of a pod as directories of the host.

There is no mount namespace: a container learns from its image's context which host path stands for a mount path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.lab.api import ApiError, Json
from tests.lab.kubelet.environment import ConfigError, data_of, field_value
from tests.lab.kubelet.place import PodPlace

TOKEN_VOLUME = "kube-api-access-"


async def prepare(place: PodPlace) -> dict[str, Path]:
    """Make the pod's volumes ready and give their directories by name. Raises ConfigError."""
    found = {}
    for volume in place.manifest["spec"].get("volumes", []):
        if volume["name"].startswith(TOKEN_VOLUME):
            continue  # service account tokens are not handed out: the lab's pods do not talk to Kubernetes
        found[volume["name"]] = await _directory(place, volume)
    return found


async def _directory(place: PodPlace, volume: Json) -> Path:
    if "persistentVolumeClaim" in volume:
        return await _claimed(place, volume["persistentVolumeClaim"]["claimName"])
    path = place.host.give(place.directory / "volumes" / volume["name"])
    if "emptyDir" in volume:
        return path
    for name, content in (await _files(place, volume)).items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o644)
    return path


async def _claimed(place: PodPlace, claim: str) -> Path:
    """The directory of a bound claim's local volume; it outlives the pod."""
    api, namespace = place.host.api, place.name[0]
    try:
        found = await api.get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
        volume = await api.get(f"/api/v1/persistentvolumes/{found['spec'].get('volumeName')}")
    except ApiError as error:
        raise ConfigError(f'persistentvolumeclaim "{claim}" has no volume: {error}') from error
    if "local" not in volume["spec"]:
        raise ConfigError(f'persistentvolumeclaim "{claim}": the lab mounts volumes of the type local only')
    path = Path(volume["spec"]["local"]["path"])
    if not path.exists():
        raise ConfigError(f'the directory of persistentvolume "{volume["metadata"]["name"]}" does not exist')
    return path


async def _files(place: PodPlace, volume: Json) -> dict[str, bytes]:
    """The files of a configMap, secret, downwardAPI or projected volume."""
    if "projected" in volume:
        files: dict[str, bytes] = {}
        for source in volume["projected"].get("sources", []):
            files |= await _files(place, source)
        return files
    for key, kind in (("configMap", "configmap"), ("secret", "secret")):
        if key in volume:
            return _chosen(volume[key], await data_of(place.host.api, place.name[0], kind, volume[key]) or {})
    if "downwardAPI" in volume:
        items = volume["downwardAPI"].get("items", [])
        return {item["path"]: field_value(place, item["fieldRef"]["fieldPath"]).encode() for item in items}
    kinds = ", ".join(sorted(set(volume) - {"name"}))
    raise ConfigError(f"the lab does not provide volumes of the type {kinds}")


def _chosen(source: Json, data: dict[str, bytes]) -> dict[str, bytes]:
    if "items" not in source:
        return data
    return {item["path"]: data[item["key"]] for item in source["items"] if item["key"] in data}


def mounts(place: PodPlace, container: Json) -> dict[str, Path]:
    """Host path by mount path."""
    found = {}
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in place.volumes:
            continue
        path = place.volumes[mount["name"]]
        if mount.get("subPath"):
            path = path / mount["subPath"]
            if not path.exists():
                place.host.give(path)
        found[mount["mountPath"]] = path
    return found


def variables(mounted: Mapping[str, Path]) -> dict[str, str]:
    """Environment for commands that a pod brings along: /var/data is found at $LAB_MOUNT_VAR_DATA."""
    names = {path: re.sub(r"[^A-Z0-9]+", "_", path.upper().strip("/")) for path in mounted}
    return {f"LAB_MOUNT_{names[path]}": str(host) for path, host in mounted.items()}
