"""The Kubernetes nodes that can take a pod, and why the others cannot, in the scheduler's words. It changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.selectors import selected

_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_NO_SCHEDULE = frozenset({"NoSchedule", "NoExecute"})
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def quantity(text: str | int | float) -> Decimal:
    """A Quantity as a number: `100m`, `1Gi`."""
    said = str(text)
    if said.endswith("m"):
        return Decimal(said[:-1]) / 1000
    for unit, factor in _UNITS.items():
        if said.endswith(unit):
            return Decimal(said[: -len(unit)]) * factor
    return Decimal(said)


def refusals(pod: Json, node: Json, volumes: Sequence[Json], there: Sequence[Json]) -> Iterator[str]:
    """The reason why a Kubernetes node cannot take a pod; `there` are its pods, `volumes` its bound ones."""
    if node["spec"].get("unschedulable") and not _tolerates(
        pod, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ):
        yield "node(s) were unschedulable"
        return
    for taint in node["spec"].get("taints", []):
        if taint["effect"] in _NO_SCHEDULE and not _tolerates(pod, taint):
            value = taint.get("value", "")
            yield f"node(s) had untolerated taint(s) {{{taint['key']}: {value}}}"
            return
    if not _is_wanted(pod, node):
        yield "node(s) didn't match Pod's node affinity/selector"
        return
    for volume in volumes:
        if not fits_terms(volume["spec"].get("nodeAffinity", {}).get("required"), node):
            yield "node(s) didn't match PersistentVolume's node affinity"
            return
    for resource in ("cpu", "memory"):
        used = sum((_requested(each, resource) for each in there), Decimal(0))
        wanted = _requested(pod, resource)
        if wanted and used + wanted > quantity(node["status"]["allocatable"][resource]):
            yield f"Insufficient {resource}"
    if len(there) >= int(node["status"]["allocatable"].get("pods", 110)):
        yield "Too many pods"


class Spread:
    """The rules of a pod for its spread and anti-affinity, with the pods that each counts on the `nodes` it may use."""

    def __init__(self, pod: Json, nodes: Sequence[Json], pods: Sequence[Json]) -> None:
        spec = pod["spec"]
        spreads = [
            each
            for each in spec.get("topologySpreadConstraints", [])
            if each.get("whenUnsatisfiable") == "DoNotSchedule"
        ]
        apart = spec.get("affinity", {}).get("podAntiAffinity", {}).get(_REQUIRED, [])
        self._spreads = [(each, _counted(pod, each, nodes, pods)) for each in spreads]
        self._apart = [(each, _counted(pod, each, nodes, pods)) for each in apart]

    def refusal(self, node: Json) -> str | None:
        """The reason why a rule keeps the pod from a Kubernetes node."""
        labels = node["metadata"]["labels"]
        for rule, counted in self._spreads:
            place = labels.get(rule["topologyKey"])
            if place is None or counted[place] + 1 - min(counted.values()) > rule.get("maxSkew", 1):
                return "node(s) didn't match pod topology spread constraints"
        for rule, counted in self._apart:
            if counted[labels.get(rule["topologyKey"], "")]:
                return "node(s) didn't match pod anti-affinity rules"
        return None


def _counted(pod: Json, rule: Json, nodes: Sequence[Json], pods: Sequence[Json]) -> Counter[str]:
    """The number of pods that a rule counts in each place."""
    key, selector = rule["topologyKey"], rule.get("labelSelector")
    places = {each["metadata"]["name"]: each["metadata"]["labels"].get(key) for each in nodes}
    found: Counter[str] = Counter({place: 0 for place in places.values() if place is not None})
    for each in pods:
        place = places.get(each["spec"].get("nodeName", ""))
        same = each["metadata"]["namespace"] == pod["metadata"]["namespace"]
        counts = same and "deletionTimestamp" not in each["metadata"]
        if place and counts and selected(selector, each["metadata"].get("labels", {})):
            found[place] += 1
    return found


def _is_wanted(pod: Json, node: Json) -> bool:
    labels = node["metadata"].get("labels", {})
    if not (pod["spec"].get("nodeSelector") or {}).items() <= labels.items():
        return False
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    return fits_terms(affinity.get(_REQUIRED), node)


def fits_terms(required: Json | None, node: Json) -> bool:
    """Whether a Kubernetes node meets one of the terms of a node selector; without any it does."""
    if not required:
        return True
    return any(_fits_term(term, node) for term in required.get("nodeSelectorTerms", []))


def _fits_term(term: Json, node: Json) -> bool:
    labels = {"matchExpressions": term.get("matchExpressions") or []}
    fields = {"matchExpressions": term.get("matchFields") or []}
    known = {"metadata.name": node["metadata"]["name"]}
    return selected(labels, node["metadata"].get("labels", {})) and selected(fields, known)


def _tolerates(pod: Json, taint: Json) -> bool:
    for each in pod["spec"].get("tolerations", []):
        if each.get("effect") not in {None, "", taint["effect"]}:
            continue
        if each.get("operator") == "Exists" and each.get("key") in {None, "", taint["key"]}:
            return True
        if each.get("key") == taint["key"] and each.get("value", "") == taint.get("value", ""):
            return True
    return False


def _requested(pod: Json, resource: str) -> Decimal:
    return sum(
        (
            quantity(each.get("resources", {}).get("requests", {}).get(resource, 0))
            for each in pod["spec"]["containers"]
        ),
        Decimal(0),
    )
