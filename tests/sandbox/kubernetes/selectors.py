"""Label and field selectors, as queries and as parts of objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.sandbox.kubernetes.objects import Json, Kind, bad_request

Holds = Callable[[Mapping[str, str]], bool]

_SET = re.compile(r"^(?P<key>[\w./-]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[\w./-]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[\w./-]*)$")
_THERE = re.compile(r"^(?P<not>!?)\s*(?P<key>[\w./-]+)$")

_ANY = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS = {
    "Pod": {
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    },
    "Event": {
        *(f"involvedObject.{part}" for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")),
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    },
    "Node": {"spec.unschedulable"},
    "Namespace": {"status.phase"},
    "Secret": {"type"},
}


def labels_match(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether labels meet a selector of a query. Raises Refused where it is invalid."""
    return all(_requirement(each, selector)(labels) for each in _split(selector))


def _split(selector: str) -> list[str]:
    return [each.strip() for each in re.split(r",(?![^(]*\))", selector) if each.strip()]


def _requirement(text: str, whole: str) -> Holds:
    if match := _SET.match(text):
        key, wanted = match["key"], {each.strip() for each in match["values"].split(",")}
        if match["operator"] == "in":
            return lambda labels: labels.get(key) in wanted
        return lambda labels: labels.get(key) not in wanted
    if match := _EQUAL.match(text):
        key, value = match["key"], match["value"]
        if match["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _THERE.match(text):
        key, there = match["key"], not match["not"]
        return lambda labels: (key in labels) is there
    raise bad_request(f"unable to parse requirement: found '{text}' in '{whole}'")


def fields_match(selector: str, kind: Kind, item: Json) -> bool:
    """Whether an object meets a field selector of a query. Raises Refused for a field that cannot be asked for."""
    for each in filter(None, selector.split(",")):
        name, equal, value = each.partition("!=") if "!=" in each else each.replace("==", "=").partition("=")
        if name not in _ANY | _FIELDS.get(kind.kind, set()):
            if kind.kind in _FIELDS:
                raise bad_request(f"field label not supported: {name}")
            raise bad_request(f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        if (_field(item, name) == value) is (equal == "!="):
            return False
    return True


def _field(item: Json, name: str) -> str:
    found: object = item
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, dict):
        found = found.get("component")
    return "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)


def selected(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Whether labels meet a LabelSelector of an object; an empty one takes all, and none at all takes none."""
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(_meets(each, labels) for each in selector.get("matchExpressions") or [])


def _meets(expression: Json, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    meets: dict[str, bool] = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return meets[expression["operator"]]
