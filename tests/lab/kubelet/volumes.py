"""Volumes of a pod as directories of the host.

Nothing is mounted: a container learns from its image's context which host path stands for a mount path. Secrets and
ConfigMaps are followed: what has changed is in the files some time later, but for those that are mounted by subPath.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.lab.api import ApiError, Json
from tests.lab.kubelet.environment import ConfigError, data_of, field_value
from tests.lab.kubelet.place import PodPlace
from tests.lab.kubelet.published import DATA, publish

LIFE = 3607
"""Seconds that a token lasts unless its volume says so, as the API server writes it into the pods."""
UNTIL_MOUNTED = 0.5
"""Seconds until a changed Secret or ConfigMap is in the files of a pod; the real kubelet takes a minute or more."""
_KINDS = (("configMap", "configmap"), ("secret", "secret"))
ANYBODY = 0o777
"""The mode of an emptyDir, as in the real kubelet."""


async def prepare(place: PodPlace) -> dict[str, Path]:
    """Make the pod's volumes ready and give their directories by name. Raises ConfigError."""
    found = {}
    for volume in place.manifest["spec"].get("volumes", []):
        try:
            found[volume["name"]] = await _directory(place, volume)
        except ConfigError as error:
            raise ConfigError(f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}') from error
    return found


async def _directory(place: PodPlace, volume: Json) -> Path:
    if "persistentVolumeClaim" in volume:
        return await _claimed(place, volume["persistentVolumeClaim"]["claimName"])
    path = place.host.give(place.directory / "volumes" / volume["name"])
    if "emptyDir" in volume:
        path.chmod(ANYBODY)
        return path
    await _publish(place, volume, path)
    return path


async def _publish(place: PodPlace, volume: Json, path: Path) -> bool:
    """Write the present content of a volume; False if it is written already. Raises ConfigError."""
    tokens = [each["serviceAccountToken"]["path"] for each in _sources(volume) if "serviceAccountToken" in each]

    def write(target: Path, content: bytes) -> None:
        _write(place, target, content, 0o640 if target.name in tokens else 0o644)

    return publish(path, await _files(place, volume), write)


def _named(volume: Json) -> Iterator[tuple[str, str]]:
    """The kinds and names of the objects whose content a volume has."""
    for source in (volume, *_sources(volume)):
        for key, kind in _KINDS:
            if key in source:
                yield kind, str(source[key].get("secretName") or source[key].get("name"))


async def follow(place: PodPlace, kind: str, name: str) -> None:
    """Bring the change of a Secret or ConfigMap into the files of a pod, when the time has come."""
    volumes = [each for each in place.manifest["spec"].get("volumes", []) if (kind, name) in _named(each)]
    if not volumes:
        return
    seconds = place.host.faults.slow_mounts.get(place.name, UNTIL_MOUNTED)
    place.note("content-changed", kind=kind, name=name, mounted_in=seconds)
    await asyncio.sleep(seconds)
    for volume in volumes:
        # A token is not renewed, so that a volume with one stays as it is.
        if volume["name"] not in place.volumes or any("serviceAccountToken" in each for each in _sources(volume)):
            continue
        with contextlib.suppress(ConfigError):  # the files of an object that has gone stay
            if await _publish(place, volume, place.volumes[volume["name"]]):
                place.note("volume-changed", volume=volume["name"])


def _sources(volume: Json) -> list[Json]:
    return list(volume.get("projected", {}).get("sources", []))


def _write(place: PodPlace, target: Path, content: bytes, mode: int) -> None:
    """Write a file of the pod, that no other user of this machine reads at any time unless its mode allows it."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as handle:
        if place.host.user:
            os.fchown(descriptor, place.host.user.uid, os.getegid())
        os.fchmod(descriptor, mode)
        handle.write(content)


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
    if "serviceAccountToken" in volume:
        return {volume["serviceAccountToken"]["path"]: await _token(place, volume["serviceAccountToken"])}
    if "projected" in volume:
        files: dict[str, bytes] = {}
        for source in _sources(volume):
            files |= await _files(place, source)
        return files
    for key, kind in _KINDS:
        if key in volume:
            return _chosen(volume[key], await data_of(place.host.api, place.name[0], kind, volume[key]) or {})
    if "downwardAPI" in volume:
        items = volume["downwardAPI"].get("items", [])
        return {item["path"]: field_value(place, item["fieldRef"]["fieldPath"]).encode() for item in items}
    kinds = ", ".join(sorted(set(volume) - {"name"}))
    raise ConfigError(f"the lab does not provide volumes of the type {kinds}")


async def _token(place: PodPlace, source: Json) -> bytes:
    """A new token of the pod's service account, which ends with the pod. Raises ConfigError."""
    namespace, name = place.name
    account = place.manifest["spec"].get("serviceAccountName", "default")
    spec = {
        "audiences": [source["audience"]] if source.get("audience") else [],
        "expirationSeconds": source.get("expirationSeconds", LIFE),
        "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": place.uid},
    }
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    try:
        made = await place.host.api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", request)
    except ApiError as error:
        raise ConfigError(f'failed to fetch a token of the service account "{account}": {error}') from error
    return str(made["status"]["token"]).encode()


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
            path = _part(place, container["name"], path, mount["subPath"])
        found[mount["mountPath"]] = path
    return found


def _part(place: PodPlace, container: str, volume: Path, inside: str) -> Path:
    """A part of a volume. Of one that follows an object it is a copy, which stays as it is while the container runs."""
    path = volume / inside
    if not (volume / DATA).is_symlink():
        return path if path.exists() else place.host.give(path)
    copy = place.directory / "parts" / container / volume.name / inside
    copy.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, copy, dirs_exist_ok=True)
    elif path.exists():
        copy.unlink(missing_ok=True)
        shutil.copyfile(path, copy)
    else:
        place.host.give(copy)
    return copy


def variables(mounted: Mapping[str, Path]) -> dict[str, str]:
    """Environment for commands that a pod brings along: /var/data is found at $LAB_MOUNT_VAR_DATA."""
    names = {path: re.sub(r"[^A-Z0-9]+", "_", path.upper().strip("/")) for path in mounted}
    return {f"LAB_MOUNT_{names[path]}": str(host) for path, host in mounted.items()}
