"""The amounts that a pod takes from a ResourceQuota. Pure.

The rules are those of the quota's own evaluator (server source, pkg/quota/v1/evaluator/core/pods.go) and of the sums
over the containers of a pod (k8s.io/component-helpers/resource, PodRequests and PodLimits).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

_SUFFIXES = {
    **{name: Decimal(1024) ** power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
    **{name: Decimal(1000) ** power for power, name in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    **{name: Decimal(1000) ** -power for power, name in enumerate(("m", "u", "n"), 1)},
}
_SHORT = ("cpu", "memory", "ephemeral-storage")
"""Their requests also count under the bare name."""
COUNTS = ("pods", "count/pods")

Amounts = Mapping[str, Decimal]


def quantity(text: object) -> Decimal | None:
    """A quantity as a number; None if it is none (apimachinery, api/resource/quantity.go)."""
    return _number(str(text).strip())


@lru_cache(maxsize=4096)
def _number(said: str) -> Decimal | None:
    suffix = next((each for each in _SUFFIXES if said.endswith(each)), "")
    try:
        return Decimal(said.removesuffix(suffix)) * _SUFFIXES.get(suffix, Decimal(1))
    except InvalidOperation:
        return None


def written(amount: Decimal) -> str:
    """A number as a quantity: `150m`, `3Gi`."""
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if amount and amount % _SUFFIXES[suffix] == 0:
            return f"{amount // _SUFFIXES[suffix]:f}{suffix}"
    return f"{amount:.0f}" if amount == amount.to_integral_value() else f"{amount * 1000:.0f}m"


def usage_of(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """The amounts of a pod with this spec, by the names that a quota has for them; 1 for the pod itself."""
    found = dict.fromkeys(COUNTS, Decimal(1))
    for field in ("requests", "limits"):
        for resource, amount in _of_pod(spec, field).items():
            found[f"{field}.{resource}"] = amount
            if field == "requests" and resource in _SHORT:
                found[resource] = amount
    return found


def requests_of(spec: Mapping[str, Any]) -> Amounts:
    """The amounts that the scheduler keeps free for a pod with this spec, by resource."""
    return _of_pod(spec, "requests")


def _of_pod(spec: Mapping[str, Any], field: str) -> Amounts:
    """The sum of its containers and sidecars, or more where an init container alone needs more."""
    running = _sum(_named(each, field) for each in spec.get("containers") or ())
    peak: Amounts = {}
    sidecars: Amounts = {}
    for each in spec.get("initContainers") or ():
        own = _named(each, field)
        if each.get("restartPolicy") == "Always":
            running, sidecars = _sum((running, own)), _sum((sidecars, own))
            own = {}
        peak = _most(peak, _sum((sidecars, own)))
    return _sum((_most(running, peak), _amounts(spec.get("overhead") or {})))


def _named(container: Mapping[str, Any], field: str) -> Amounts:
    return _amounts((container.get("resources") or {}).get(field) or {})


def _amounts(named: Mapping[str, Any]) -> Amounts:
    return {name: amount for name, each in named.items() if (amount := quantity(each)) is not None}


def _sum(several: Iterable[Amounts]) -> Amounts:
    found: dict[str, Decimal] = {}
    for each in several:
        for name, amount in each.items():
            found[name] = found.get(name, Decimal(0)) + amount
    return found


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in {*one, *other}}
