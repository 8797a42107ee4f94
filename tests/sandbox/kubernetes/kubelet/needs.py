"""ConfigMaps and Secrets that a pod needs and that are not there. It changes nothing."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, SECRETS
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.resources import Resources

_SOURCES = (("secret", SECRETS, "secretName"), ("configMap", CONFIG_MAPS, "name"))


def missing_volume(resources: Resources, namespace: str, spec: Json) -> str:
    """The reason why the volumes of a pod cannot be mounted; empty if they can."""
    for volume in spec.get("volumes", []):
        for field, kind, key in _SOURCES:
            source = volume.get(field)
            if source and not source.get("optional") and resources.store.kept(kind, namespace, source[key]) is None:
                what = f'{kind.kind.lower()} "{source[key]}" not found'
                return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {what}'
    return ""


def missing_configuration(resources: Resources, namespace: str, container: Json) -> str:
    """The reason why the environment of a container cannot be made; empty if it can."""
    wanted: list[tuple[Kind, Json]] = []
    for each in container.get("envFrom", []):
        wanted += [(SECRETS, each["secretRef"])] if "secretRef" in each else []
        wanted += [(CONFIG_MAPS, each["configMapRef"])] if "configMapRef" in each else []
    for each in container.get("env", []):
        source = each.get("valueFrom", {})
        wanted += [(SECRETS, source["secretKeyRef"])] if "secretKeyRef" in source else []
        wanted += [(CONFIG_MAPS, source["configMapKeyRef"])] if "configMapKeyRef" in source else []
    for kind, reference in wanted:
        if reference.get("optional"):
            continue
        found = resources.store.kept(kind, namespace, reference["name"])
        if found is None:
            return f'{kind.kind.lower()} "{reference["name"]}" not found'
        key = reference.get("key")
        if key and key not in found.get("data", {}):
            return f"couldn't find key {key} in {kind.kind} {namespace}/{reference['name']}"
    return ""
