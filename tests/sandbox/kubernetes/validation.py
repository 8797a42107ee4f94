"""Rules that the API server holds the built-in kinds to, as far as users meet them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.sandbox.kubernetes.metadata_rules import (
    MOST_OF_LABEL,
    MOST_OF_NAME,
    SUBDOMAIN,
    SUBDOMAIN_RULE,
    Cause,
    broken_by_others,
    broken_in,
)
from tests.sandbox.kubernetes.objects import Json, Kind, copied, invalid
from tests.sandbox.kubernetes.selectors import selected

_FREE_NAMES = frozenset({"roles", "rolebindings", "clusterroles", "clusterrolebindings"})
_SHORT_NAMES = frozenset({"namespaces", "services"})
_MOST_OF_CONFIG_MAP = 1_048_576
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_MAY_CHANGE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_POD_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check(kind: Kind, item: Json, before: Json | None) -> None:
    """Raises Refused (422) where an object, or the change from what was before, breaks a rule."""
    metadata, name = item["metadata"], item["metadata"]["name"]
    causes = [*(_name(kind, name) if before is None else ()), *broken_in(metadata, "metadata")]
    causes += broken_by_others(metadata, built_in="." not in kind.group.removesuffix(".k8s.io"))
    rules = _RULES.get(kind.kind)
    if rules:
        causes += rules(item, before)
    if causes:
        raise invalid(kind, name, causes)


def _name(kind: Kind, name: str) -> list[Cause]:
    rules, most = list[str](), MOST_OF_LABEL if kind.plural in _SHORT_NAMES else MOST_OF_NAME
    if kind.plural not in _FREE_NAMES:
        rules += [f"must be no more than {most} characters"] if len(name) > most else []
        rules += [SUBDOMAIN_RULE] if not SUBDOMAIN.fullmatch(name) else []
    return [("FieldValueInvalid", "metadata.name", f'Invalid value: "{name}": {rule}') for rule in rules]


def _config_map(item: Json, _before: Json | None) -> list[Cause]:
    data = {**(item.get("data") or {}), **(item.get("binaryData") or {})}
    causes: list[Cause] = [
        ("FieldValueInvalid", f"data[{key}]", f'Invalid value: "{key}": {_CONFIG_KEY_RULE}')
        for key in data
        if not _CONFIG_KEY.fullmatch(key)
    ]
    if sum(len(value.encode()) for value in data.values()) > _MOST_OF_CONFIG_MAP:
        causes.append(("FieldValueTooLong", "[]", f"Too long: may not be more than {_MOST_OF_CONFIG_MAP} bytes"))
    return causes


def _containers(spec: Json, at: str) -> list[Cause]:
    if not spec.get("containers"):
        return [("FieldValueRequired", f"{at}.containers", "Required value")]
    return [
        ("FieldValueRequired", f"{at}.containers[{place}].{field}", "Required value")
        for place, each in enumerate(spec["containers"])
        for field in ("name", "image")
        if not each.get(field)
    ]


def _pod(item: Json, before: Json | None) -> list[Cause]:
    causes = _containers(item["spec"], "spec")
    if before is not None and _without_images(item["spec"]) != _without_images(before["spec"]):
        causes.append(("FieldValueForbidden", "spec", f"Forbidden: {_POD_FIXED}"))
    return causes


def _without_images(spec: Json) -> Json:
    bare: Json = copied(spec)
    for each in (*bare.get("containers", []), *bare.get("initContainers", [])):
        each.pop("image", None)
    for field in ("activeDeadlineSeconds", "tolerations", "nodeName"):
        bare.pop(field, None)
    return bare


def _stateful_set(item: Json, before: Json | None) -> list[Cause]:
    spec = item["spec"]
    causes = []
    selector = spec.get("selector")
    labels = spec["template"]["metadata"].get("labels", {})
    if not selector:
        causes.append(("FieldValueRequired", "spec.selector", "Required value"))
    elif not selected(selector, labels):
        shown = "{" + ", ".join(f'"{key}":"{value}"' for key, value in sorted(labels.items())) + "}"
        text = f"Invalid value: {shown}: `selector` does not match template `labels`"
        causes.append(("FieldValueInvalid", "spec.template.metadata.labels", text))
    strategy = spec["updateStrategy"]
    if strategy["type"] == "OnDelete" and "rollingUpdate" in strategy:
        shown = json.dumps(
            {"Partition": strategy["rollingUpdate"].get("partition", 0), "MaxUnavailable": None}, separators=(",", ":")
        )
        text = f"Invalid value: {shown}: only allowed for updateStrategy 'RollingUpdate'"
        causes.append(("FieldValueInvalid", "spec.updateStrategy.rollingUpdate", text))
    if strategy["type"] not in {"OnDelete", "RollingUpdate"}:
        text = f"Invalid value: \"{strategy['type']}\": must be 'RollingUpdate' or 'OnDelete'"
        causes.append(("FieldValueInvalid", "spec.updateStrategy", text))
    if spec["replicas"] < 0:
        text = f"Invalid value: {spec['replicas']}: must be greater than or equal to 0"
        causes.append(("FieldValueInvalid", "spec.replicas", text))
    causes += broken_in(spec["template"]["metadata"], "spec.template")
    causes += _containers(spec["template"]["spec"], "spec.template.spec")
    if before is not None:
        fixed = [{key: each for key, each in one["spec"].items() if key not in _MAY_CHANGE} for one in (item, before)]
        if fixed[0] != fixed[1]:
            causes.append(("FieldValueForbidden", "spec", f"Forbidden: {_FIXED}"))
    return causes


def _owned_by_role(item: Json, before: Json | None) -> list[Cause]:
    if before is not None and before.get("roleRef") != item.get("roleRef"):
        return [("FieldValueInvalid", "roleRef", "Invalid value: cannot change roleRef")]
    return []


def _event(item: Json, _before: Json | None) -> list[Cause]:
    about, own = item.get("involvedObject", {}).get("namespace", ""), item["metadata"].get("namespace", "")
    if about and about != own:
        text = f'Invalid value: "{about}": does not match event.namespace'
        return [("FieldValueInvalid", "involvedObject.namespace", text)]
    return []


_RULES: dict[str, Callable[[Json, Json | None], list[Cause]]] = {
    "ConfigMap": _config_map,
    "Pod": _pod,
    "StatefulSet": _stateful_set,
    "RoleBinding": _owned_by_role,
    "ClusterRoleBinding": _owned_by_role,
    "Event": _event,
}
