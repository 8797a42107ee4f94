"""Rules that the API server holds the built-in kinds to, as far as users meet them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.sandbox.kubernetes.objects import Json, Kind, copied, invalid
from tests.sandbox.kubernetes.selectors import selected

Cause = tuple[str, str, str]

_NAME = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_NAME_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_FREE_NAMES = frozenset({"roles", "rolebindings", "clusterroles", "clusterrolebindings"})
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
    name = item["metadata"]["name"]
    causes: list[Cause] = []
    if before is None and kind.plural not in _FREE_NAMES and not _NAME.match(name):
        causes.append(("FieldValueInvalid", "metadata.name", f'Invalid value: "{name}": {_NAME_RULE}'))
    rules = _RULES.get(kind.kind)
    if rules:
        causes += rules(item, before)
    if causes:
        raise invalid(kind, name, causes)


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
    "Pod": _pod,
    "StatefulSet": _stateful_set,
    "RoleBinding": _owned_by_role,
    "ClusterRoleBinding": _owned_by_role,
    "Event": _event,
}
