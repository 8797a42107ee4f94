"""LimitRanges: what a container gets that requests nothing, and what it may request (plugin LimitRanger)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.sandbox.kubernetes.controllers.placement import quantity
from tests.sandbox.kubernetes.kinds import LIMIT_RANGES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Store


def defaults(item: Json) -> None:
    """Fill in a LimitRange (server source, SetDefaults_LimitRangeItem)."""
    for limit in item.get("spec", {}).get("limits", []):
        if limit.get("type") != "Container":
            continue
        default, request = dict(limit.get("default", {})), dict(limit.get("defaultRequest", {}))
        default = {**limit.get("max", {}), **default}
        request = {**limit.get("min", {}), **default, **request}
        limit |= {key: value for key, value in (("default", default), ("defaultRequest", request)) if value}


def fill(store: Store, namespace: str, pod: Json) -> None:
    """Give containers what they do not ask for."""
    for limit in _limits(store, namespace):
        for container in _containers(pod):
            own = container.setdefault("resources", {})
            for field, given in (("limits", "default"), ("requests", "defaultRequest")):
                filled = {**limit.get(given, {}), **own.get(field, {})}
                if filled:
                    own[field] = filled


def broken(store: Store, namespace: str, pod: Json) -> str:
    """The limits that a pod does not keep to; empty if there are none."""
    found = [each for limit in _limits(store, namespace) for one in _containers(pod) for each in _broken(limit, one)]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _limits(store: Store, namespace: str) -> Iterator[Json]:
    for each in store.each(LIMIT_RANGES, namespace):
        yield from (limit for limit in each["spec"].get("limits", []) if limit["type"] == "Container")


def _containers(pod: Json) -> list[Json]:
    return [*pod["spec"].get("containers", []), *pod["spec"].get("initContainers", [])]


def _broken(limit: Json, container: Json) -> Iterator[str]:
    own = container.get("resources", {})
    asked, most = own.get("requests", {}), own.get("limits", {})
    for resource, bound in limit.get("min", {}).items():
        why = _below(bound, asked.get(resource), most.get(resource))
        yield from [f"minimum {resource} usage per Container is {bound}{why}"] if why else []
    for resource, bound in limit.get("max", {}).items():
        why = _above(bound, most.get(resource))
        yield from [f"maximum {resource} usage per Container is {bound}{why}"] if why else []
    for resource, bound in limit.get("maxLimitRequestRatio", {}).items():
        why = _apart(bound, asked.get(resource), most.get(resource))
        yield from [f"{resource} max limit to request ratio per Container is {bound}{why}"] if why else []


def _below(bound: str, asked: str | None, most: str | None) -> str:
    if asked is None:
        return ".  No request is specified"
    if quantity(asked) < quantity(bound):
        return f", but request is {asked}"
    return f", but limit is {most}" if most is not None and quantity(most) < quantity(bound) else ""


def _above(bound: str, most: str | None) -> str:
    if most is None:
        return ".  No limit is specified"
    return f", but limit is {most}" if quantity(most) > quantity(bound) else ""


def _apart(bound: str, asked: str | None, most: str | None) -> str:
    for word, amount in (("request", asked), ("limit", most)):
        if amount is None or not quantity(amount):
            return f", but no {word} is specified or {word} is 0"
    ratio = quantity(most or "0") / quantity(asked or "1")
    return f", but provided ratio is {ratio:.6f}" if ratio > quantity(bound) else ""
