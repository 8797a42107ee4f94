"""Environment variables and arguments of a container, resolved as a kubelet resolves them."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.lab.api import Api, ApiError, Json
from tests.lab.kubelet.place import PodPlace
from tests.lab.processes import MARK


class ConfigError(Exception):
    """The container cannot be made as its pod describes it: CreateContainerConfigError."""


async def data_of(api: Api, namespace: str, kind: str, source: Json) -> dict[str, bytes] | None:
    """The entries of a ConfigMap or Secret, or None where it is absent and optional. Raises ConfigError."""
    name = source["name"] if "name" in source else source["secretName"]
    plural = {"configmap": "configmaps", "secret": "secrets"}[kind]
    try:
        found = await api.get(f"/api/v1/namespaces/{namespace}/{plural}/{name}")
    except ApiError as error:
        if error.code == 404 and source.get("optional"):
            return None
        raise ConfigError(f'{kind} "{name}" not found' if error.code == 404 else str(error)) from error
    if kind == "secret":
        return {key: base64.b64decode(value) for key, value in found.get("data", {}).items()}
    plain = {key: value.encode() for key, value in found.get("data", {}).items()}
    return plain | {key: base64.b64decode(value) for key, value in found.get("binaryData", {}).items()}


def field_value(place: PodPlace, path: str) -> str:
    """A field of the pod, as the downward API gives it. Raises ConfigError for one that the lab does not know."""
    metadata, spec = place.manifest["metadata"], place.manifest["spec"]
    keyed = re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path)
    if keyed:
        return str(metadata.get(keyed.group(1), {}).get(keyed.group(2), ""))
    known = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": place.node.name,
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        "status.podIP": place.address,
        "status.podIPs": place.address,
        "status.hostIP": place.node.address,
        "status.hostIPs": place.node.address,
    }
    if path not in known:
        raise ConfigError(f'the lab does not provide the field "{path}"')
    return str(known[path])


async def resolve(place: PodPlace, container: Json) -> dict[str, str]:
    """The container's whole environment. The lab adds HOSTNAME, the zone (LAB_ZONE), the address of the Kubernetes
    API, and its own mark.
    """
    env = {
        "PATH": os.defpath,
        "HOSTNAME": place.name[1],
        "LAB_ZONE": place.node.zone,
        **_kubernetes(place.host.api.server),
        MARK: str(place.host.directory),
    }
    for source in container.get("envFrom", []):
        env |= await _whole(place, source)
    for variable in container.get("env", []):
        value = await _value(place, variable)
        if value is not None:
            env[variable["name"]] = expand(value, env)
    return env


def _kubernetes(server: str) -> dict[str, str]:
    """The address of the API server as every pod of a cluster gets it."""
    address = urlsplit(server)
    return {"KUBERNETES_SERVICE_HOST": address.hostname or "", "KUBERNETES_SERVICE_PORT": str(address.port or 443)}


async def _whole(place: PodPlace, source: Json) -> dict[str, str]:
    kind = "secret" if "secretRef" in source else "configmap"
    reference = source["secretRef" if kind == "secret" else "configMapRef"]
    data = await data_of(place.host.api, place.name[0], kind, reference)
    return {source.get("prefix", "") + key: value.decode() for key, value in (data or {}).items()}


async def _value(place: PodPlace, variable: Json) -> str | None:
    source: dict[str, Any] | None = variable.get("valueFrom")
    if source is None:
        return str(variable.get("value", ""))
    if "fieldRef" in source:
        return field_value(place, source["fieldRef"]["fieldPath"])
    for kind, field in (("configmap", "configMapKeyRef"), ("secret", "secretKeyRef")):
        if field in source:
            data = await data_of(place.host.api, place.name[0], kind, source[field])
            return _entry(kind, source[field], data)
    raise ConfigError(f"the lab does not provide environment from {', '.join(source)}")


def _entry(kind: str, reference: Json, data: Mapping[str, bytes] | None) -> str | None:
    if data is not None and reference["key"] in data:
        return data[reference["key"]].decode()
    if reference.get("optional"):
        return None
    raise ConfigError(f"couldn't find key {reference['key']} in {kind} {reference['name']}")


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace $(NAME) by what is known; $$ is a plain dollar sign, an unknown name stays as it is."""

    def replace(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        return env.get(match.group(1), match.group(0))

    return re.sub(r"\$\$|\$\(([^)]+)\)", replace, text)
