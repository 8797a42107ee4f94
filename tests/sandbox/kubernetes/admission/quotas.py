"""ResourceQuotas: what the pods and the volume claims of a namespace may take together.

Server source: plugin/pkg/admission/plugin/resourcequota/controller.go in apiserver (CheckRequest) and
pkg/quota/v1/evaluator/core. Admission compares with the status of the quota, and adds what it lets in to it, also
where the name then is taken. Whatever goes is only taken off by the controller of quotas.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from tests.sandbox.kubernetes.controllers.placement import quantity
from tests.sandbox.kubernetes.kinds import CLAIMS, PODS, QUOTAS
from tests.sandbox.kubernetes.objects import Json, Kind, copied, seconds_of
from tests.sandbox.kubernetes.store import Store

COUNTED = (PODS, CLAIMS)
_ENDED = frozenset({"Succeeded", "Failed"})
_SHORT = {name: f"requests.{name}" for name in ("cpu", "memory", "ephemeral-storage")}
_TO_BE_SAID = frozenset({*("cpu", "memory"), *(f"{of}.{name}" for of in ("requests", "limits") for name in _SHORT)})
_OF_CLASS = ".storageclass.storage.k8s.io/"
_OF_CLAIMS = ("persistentvolumeclaims", "requests.storage")


def defaults(item: Json) -> None:
    """Give a quota a status, which its controller has not counted yet."""
    item.setdefault("status", {})


def exceeded(store: Store, kind: Kind, item: Json, before: Json | None = None) -> str:
    """The reason why a quota has no room for an object, or for what it takes more than before; empty if all have."""
    pertinent = list(_pertinent(store, kind, item))
    for quota, own in pertinent:
        name, used = quota["metadata"]["name"], quota["status"].get("used", {})
        unsaid = {each: _unsaid(kind, item, each) for each in own}
        if silent := sorted(each for each, containers in unsaid.items() if containers):
            said = "; ".join(f"{each} for: {','.join(unsaid[each])}" for each in silent)
            return f"failed quota: {name}: must specify {said}"
        if set(own) - set(used):
            return f"status unknown for quota: {name}, resources: {','.join(own)}"
    for quota, own in pertinent:
        status, new = quota["status"], _added(kind, item, before, own)
        used, hard = status["used"], status["hard"]
        over = [each for each in new if quantity(used[each]) + new[each] > quantity(hard[each])]
        if over:
            requested = ",".join(f"{each}={shown(each, new[each])}" for each in over)
            taken = ",".join(f"{each}={used[each]}" for each in over)
            limited = ",".join(f"{each}={hard[each]}" for each in over)
            name = quota["metadata"]["name"]
            return f"exceeded quota: {name}, requested: {requested}, used: {taken}, limited: {limited}"
    return ""


def charge(store: Store, kind: Kind, item: Json, before: Json | None = None) -> None:
    """Add what an object takes to the quotas that it counts in."""
    for quota, own in list(_pertinent(store, kind, item)):
        new = _added(kind, item, before, own)
        if new:
            after = copied(quota)
            used = after["status"]["used"]
            used |= {each: shown(each, quantity(used[each]) + amount) for each, amount in new.items()}
            store.put(QUOTAS, after)


def counted(store: Store, quota: Json) -> Json:
    """The status of a quota after a count of all that is there."""
    hard, namespace = quota["spec"].get("hard", {}), quota["metadata"]["namespace"]
    there = [
        (kind, each)
        for kind in COUNTED
        for each in store.each(kind, namespace)
        if _in_scopes(quota["spec"], kind, each)
    ]
    now = store.clock.now()
    used = {
        name: sum((taken(kind, each, name) for kind, each in there if _counts(kind, each, name, now)), Decimal(0))
        for name in hard
    }
    return {"hard": copied(hard), "used": {name: shown(name, amount) for name, amount in used.items()}}


def is_of(kind: Kind, resource: str) -> bool:
    """Whether objects of this kind count in a resource of a quota."""
    if kind == CLAIMS:
        return resource.rpartition(_OF_CLASS)[2] in _OF_CLAIMS or resource == f"count/{_OF_CLAIMS[0]}"
    field, _dot, name = resource.partition(".")
    of_pod = field in {"requests", "limits"} and name != "storage" and "storageclass" not in resource
    return kind == PODS and (resource in {"pods", "count/pods", *_SHORT} or of_pod)


def taken(kind: Kind, item: Json, resource: str) -> Decimal:
    """The amount of one object."""
    if not is_of(kind, resource):
        return Decimal(0)
    return _of_claim(item, resource) if kind == CLAIMS else _of_pod(item["spec"], resource)


def shown(resource: str, amount: Decimal) -> str:
    """An amount as the server writes it."""
    if resource.endswith("cpu"):
        return f"{amount:f}" if amount == int(amount) else f"{int(amount * 1000)}m"
    for suffix, power in (("Gi", 3), ("Mi", 2), ("Ki", 1)):
        if amount and amount % 1024**power == 0:
            return f"{int(amount / 1024**power)}{suffix}"
    return str(int(amount))


def _pertinent(store: Store, kind: Kind, item: Json) -> Iterator[tuple[Json, list[str]]]:
    """The quotas that an object counts in, each with the resources that it counts in."""
    for quota in store.each(QUOTAS, item["metadata"]["namespace"]):
        own = sorted(each for each in quota["status"].get("hard", {}) if is_of(kind, each))
        if own and _in_scopes(quota["spec"], kind, item):
            yield quota, own


def _added(kind: Kind, item: Json, before: Json | None, resources: list[str]) -> dict[str, Decimal]:
    there = {each: taken(kind, before, each) if before is not None else Decimal(0) for each in resources}
    return {each: more for each in resources if (more := taken(kind, item, each) - there[each])}


def _unsaid(kind: Kind, pod: Json, resource: str) -> list[str]:
    """The containers that do not say how much they want of it."""
    if kind != PODS or resource not in _TO_BE_SAID or resource.endswith("ephemeral-storage"):
        return []
    field, _dot, name = _SHORT.get(resource, resource).partition(".")
    spec = pod["spec"]
    every = [*spec.get("containers", []), *spec.get("initContainers", [])]
    return sorted(each["name"] for each in every if name not in each.get("resources", {}).get(field, {}))


def _counts(kind: Kind, item: Json, resource: str, now: float) -> bool:
    """Whether an object still counts: a pod that has ended, or should be gone by now, does not (QuotaV1Pod)."""
    if kind != PODS or resource == "count/pods":
        return True
    metadata = item["metadata"]
    if "deletionTimestamp" in metadata:
        gone = seconds_of(metadata["deletionTimestamp"]) + metadata.get("deletionGracePeriodSeconds", 0)
        if now > gone:
            return False
    return item["status"].get("phase") not in _ENDED


def _in_scopes(spec: Json, kind: Kind, item: Json) -> bool:
    """Whether an object is in all scopes of a quota; a claim is in none."""
    wanted = [{"scopeName": each, "operator": "Exists"} for each in spec.get("scopes", [])]
    wanted += spec.get("scopeSelector", {}).get("matchExpressions", [])
    return not wanted or (kind == PODS and all(_in_scope(each, item["spec"]) for each in wanted))


def _in_scope(wanted: Json, pod: Json) -> bool:
    name, priority = wanted["scopeName"], pod.get("priorityClassName", "")
    if name == "PriorityClass":
        values = wanted.get("values", [])
        return {
            "In": priority in values,
            "NotIn": priority not in values,
            "Exists": bool(priority),
            "DoesNotExist": not priority,
        }[wanted["operator"]]
    ends = pod.get("activeDeadlineSeconds") is not None
    best = not any(each.get("resources", {}).get(of) for each in pod["containers"] for of in ("requests", "limits"))
    return {"Terminating": ends, "NotTerminating": not ends, "BestEffort": best, "NotBestEffort": not best}[name]


def _of_claim(item: Json, resource: str) -> Decimal:
    of_class, has_class, name = resource.rpartition(_OF_CLASS)
    if has_class and item["spec"].get("storageClassName") != of_class:
        return Decimal(0)
    if name != "requests.storage":
        return Decimal(1)
    asked = quantity(item["spec"]["resources"]["requests"]["storage"])
    return max(asked, quantity(item.get("status", {}).get("allocatedResources", {}).get("storage", "0")))


def _of_pod(spec: Json, resource: str) -> Decimal:
    """The amount of one pod: that of all containers, or of the init container that wants more."""
    field, _dot, name = _SHORT.get(resource, resource).partition(".")
    if field not in {"requests", "limits"}:
        return Decimal(1)

    def wanted(containers: list[Json]) -> list[Decimal]:
        return [quantity(each.get("resources", {}).get(field, {}).get(name, "0")) for each in containers]

    return max([sum(wanted(spec.get("containers", [])), Decimal(0)), *wanted(spec.get("initContainers", []))])
