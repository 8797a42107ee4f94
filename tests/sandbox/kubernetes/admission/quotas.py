"""ResourceQuotas: what the pods of a namespace may take together. Every pod that is there and has not ended counts."""

from __future__ import annotations

from decimal import Decimal

from tests.sandbox.kubernetes.controllers.placement import quantity
from tests.sandbox.kubernetes.kinds import PODS, QUOTAS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Store

_ENDED = frozenset({"Succeeded", "Failed"})
_SHORT = {"cpu": "requests.cpu", "memory": "requests.memory"}


def defaults(item: Json) -> None:
    """Give a quota a status, as if its controller had counted at once."""
    item.setdefault("status", {"hard": item.get("spec", {}).get("hard", {}), "used": {}})


def exceeded(store: Store, namespace: str, pod: Json) -> str:
    """The reason why a quota has no room for a pod; empty if all have."""
    there = [each for each in store.each(PODS, namespace) if each["status"].get("phase") not in _ENDED]
    for quota in store.each(QUOTAS, namespace):
        hard, name = quota.get("spec", {}).get("hard", {}), quota["metadata"]["name"]
        unsaid = {each: _unsaid(pod, _SHORT.get(each, each)) for each in hard}
        silent = sorted(key for key, containers in unsaid.items() if containers)
        if silent:
            said = "; ".join(f"{each} for: {','.join(unsaid[each])}" for each in silent)
            return f"failed quota: {name}: must specify {said}"
        over = [each for each in sorted(hard) if _used(there, each) + _taken(pod, each) > quantity(hard[each])]
        if over:
            requested = ",".join(f"{each}={_shown(each, _taken(pod, each))}" for each in over)
            used = ",".join(f"{each}={_shown(each, _used(there, each))}" for each in over)
            limited = ",".join(f"{each}={hard[each]}" for each in over)
            return f"exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"
    return ""


def _unsaid(pod: Json, resource: str) -> list[str]:
    """The containers that do not say how much they want of it."""
    field, _dot, name = resource.partition(".")
    if field not in {"requests", "limits"}:
        return []
    spec = pod["spec"]
    every = [*spec.get("containers", []), *spec.get("initContainers", [])]
    return sorted(each["name"] for each in every if name not in each.get("resources", {}).get(field, {}))


def _used(pods: list[Json], resource: str) -> Decimal:
    return sum((_taken(each, resource) for each in pods), Decimal(0))


def _taken(pod: Json, resource: str) -> Decimal:
    """The amount of one pod: that of all containers, or of the init container that wants more."""
    field, _dot, name = _SHORT.get(resource, resource).partition(".")
    if field not in {"requests", "limits"}:
        return Decimal(1)

    def wanted(containers: list[Json]) -> list[Decimal]:
        return [quantity(each.get("resources", {}).get(field, {}).get(name, "0")) for each in containers]

    spec = pod["spec"]
    return max([sum(wanted(spec.get("containers", [])), Decimal(0)), *wanted(spec.get("initContainers", []))])


def _shown(resource: str, amount: Decimal) -> str:
    if resource.endswith("cpu"):
        return f"{amount:g}" if amount == int(amount) else f"{int(amount * 1000)}m"
    for suffix, power in (("Gi", 3), ("Mi", 2), ("Ki", 1)):
        if amount and amount % 1024**power == 0:
            return f"{int(amount / 1024**power)}{suffix}"
    return str(int(amount))
