"""Whether the pods of a batch of Kubernetes nodes find room on the others, by what they request. Pure.

The pods are packed as they are placed now, the greatest first, each on the first Kubernetes node that takes it (first
fit decreasing). Rules about other pods, priorities and the scores of the scheduler are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import counted, first_few
from ..observe.workloads import LabelRule, PlacedPod, PlacementRules, RoomyNode, Taint, Term, Toleration, Workloads

MOST_SHOWN = 3
"""Batches that have a remark of their own. The others are only named."""
NAME = "metadata.name"
"""The one field that a term of a node selector may ask for."""
_KEEP_AWAY = ("NoSchedule", "NoExecute")
Needs = tuple[tuple[int, int], ...]
"""The amount of each resource, by the number of the resource."""


@dataclass(frozen=True)
class NoRoom:
    """The pods of a batch that find no place while it is away."""

    batch: str
    crowded: tuple[str, ...]
    """Those for which there is not enough of something, as namespace/name."""
    bound: tuple[str, ...]
    """Those that may run on no other Kubernetes node at all, as namespace/name."""


@as_verdict
def judge_room(seen: Workloads, batches: Mapping[str, Collection[str]]) -> Iterator[Reason]:
    """A remark for each batch with pods that find no place, and one for what was not computed. Nothing is refused."""
    moving = [pod for names in batches.values() for pod in seen.pods if pod.kubernetes_node in names and _moves(pod)]
    found = list(Packing(seen).without_room(batches))
    for each in found[:MOST_SHOWN]:
        yield remark(
            "no_room",
            f"Batch {each.batch}: {'; '.join(_lacking(each))}.",
            "Add Kubernetes nodes, or expect these pods to wait until those of the batch are back.",
        )
    if len(found) > MOST_SHOWN:
        names = first_few([each.batch for each in found[MOST_SHOWN:]])
        yield remark("no_room", f"The same holds for pods of {len(found) - MOST_SHOWN} further batches: {names}.")
    left = [
        f"{rule} ({counted(count, 'pod')})"
        for rule, count in (
            ("affinity to other pods", sum(pod.by_other_pods for pod in moving)),
            ("topology spread", sum(pod.is_spread for pod in moving)),
        )
        if count
    ]
    left += ["preemption by priority"] if found else []
    if left:
        yield remark(
            "not_computed",
            f"Whether pods find room on other Kubernetes nodes was computed without this: {', '.join(left)}.",
        )


def _lacking(each: NoRoom) -> Iterator[str]:
    if each.crowded:
        yield f"{_pods(each.crowded)} no room on other Kubernetes nodes, by requests"
    if each.bound:
        yield f"{_pods(each.bound)} no other Kubernetes node to run on, by labels, taints or volumes"


def _pods(names: Sequence[str]) -> str:
    one = len(names) == 1
    return f"{len(names)} pod{'' if one else 's'} ({first_few(names)}) find{'s' if one else ''}"


def _moves(pod: PlacedPod) -> bool:
    """Whether a drain moves it: it is evicted, and a controller makes another one."""
    return pod.is_evicted and bool(pod.owner) and not pod.terminating


class Packing:
    """The Kubernetes nodes with what is free on them. A set of Kubernetes nodes is a number, with one bit for each."""

    def __init__(self, seen: Workloads) -> None:
        self._seen = seen
        self._nodes = list(seen.nodes.values())
        self._number = {node.name: number for number, node in enumerate(self._nodes)}
        self._resources = {
            name: number for number, name in enumerate(sorted({each for pod in seen.pods for each in pod.requests}))
        }
        self._free = [[node.allocatable.get(name, 0) for name in self._resources] for node in self._nodes]
        self._whole = [max(1, sum(amounts)) for amounts in zip(*self._free, strict=True)] or [1] * len(self._resources)
        self._there: dict[str, list[PlacedPod]] = defaultdict(list)
        for pod in seen.pods:
            self._take(pod)
        self._every = (1 << len(self._nodes)) - 1
        self._open = self._set(node.name for node in self._nodes if not node.closed)
        self._labels: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for number, node in enumerate(self._nodes):
            for key, value in (*node.labels.items(), (NAME, node.name)):
                self._labels[key][value] |= 1 << number
        self._tainted = _by_taint(self._nodes)
        self._known: dict[object, int] = {}
        self._lists: dict[int, list[int]] = {}

    def _take(self, pod: PlacedPod) -> None:
        number = self._number.get(pod.kubernetes_node)
        if number is None:
            return
        self._there[pod.kubernetes_node].append(pod)
        for name, amount in pod.requests.items():
            self._free[number][self._resources[name]] -= amount

    def without_room(self, batches: Mapping[str, Collection[str]]) -> Iterator[NoRoom]:
        """The batches with pods that find no place, each on its own."""
        for name, members in batches.items():
            pods = [pod for member in members for pod in self._there.get(member, ()) if _moves(pod)]
            crowded, bound = self._pack(pods, self._set(members))
            if crowded or bound:
                yield NoRoom(name, tuple(sorted(crowded)), tuple(sorted(bound)))

    def _pack(self, pods: Iterable[PlacedPod], away: int) -> tuple[list[str], list[str]]:
        crowded, bound = [], []
        free: dict[int, list[int]] = {}
        reached: dict[tuple[int, Needs], int] = {}
        sized = [(self._needs(pod), pod) for pod in pods]
        for needs, pod in sorted(sized, key=lambda each: (-self._size(each[0]), each[1].namespace, each[1].name)):
            where = self._may_run(pod) & ~away
            if not where:
                bound.append(f"{pod.namespace}/{pod.name}")
                continue
            places = self._places(where)
            # A pod with the same needs starts where the last one found room: no room is given back.
            start = reached.get((where, needs), 0)
            found = self._first(places, start, needs, free)
            reached[where, needs] = found
            if found == len(places):
                crowded.append(f"{pod.namespace}/{pod.name}")
                continue
            left = free.setdefault(places[found], list(self._free[places[found]]))
            for resource, amount in needs:
                left[resource] -= amount
        return crowded, bound

    def _first(self, places: Sequence[int], start: int, needs: Needs, free: Mapping[int, Sequence[int]]) -> int:
        """The place of the first of these Kubernetes nodes that takes the needs; their number if none does."""
        for place in range(start, len(places)):
            left = free.get(places[place]) or self._free[places[place]]
            for resource, amount in needs:
                if left[resource] < amount:
                    break
            else:
                return place
        return len(places)

    def _needs(self, pod: PlacedPod) -> Needs:
        return tuple((self._resources[name], amount) for name, amount in sorted(pod.requests.items()))

    def _size(self, needs: Needs) -> float:
        return max((amount / self._whole[resource] for resource, amount in needs), default=0.0)

    def _places(self, where: int) -> list[int]:
        if where not in self._lists:
            self._lists[where] = [number for number in range(len(self._nodes)) if where >> number & 1]
        return self._lists[where]

    def _may_run(self, pod: PlacedPod) -> int:
        """The Kubernetes nodes on which it may run by itself."""
        where = self._by_rules(pod.rules)
        for claim in pod.claims:
            terms = self._seen.volumes.get((pod.namespace, claim))
            where &= self._every if terms is None else self._by_terms(terms)
        return where

    def _by_rules(self, rules: PlacementRules) -> int:
        if rules not in self._known:
            where = self._open & ~self._kept_away(rules.tolerations)
            for key, value in rules.labels:
                where &= self._labels[key][value]
            if rules.terms is not None:
                where &= self._by_terms(rules.terms)
            self._known[rules] = where
        return self._known[rules]

    def _by_terms(self, terms: Sequence[Term]) -> int:
        """A term without a rule holds nowhere (core/v1, `NodeSelectorTerm`)."""
        found = 0
        for term in terms:
            where = self._every if term else 0
            for rule in term:
                where &= self._by_rule(rule)
            found |= where
        return found

    def _by_rule(self, rule: LabelRule) -> int:
        values = self._labels[rule.key]
        if rule.operator in ("In", "NotIn"):
            found = _union(values.get(each, 0) for each in rule.values)
        elif rule.operator in ("Exists", "DoesNotExist"):
            found = _union(values.values())
        else:
            found = _union(where for value, where in values.items() if _compares(rule, value))
        return self._every & ~found if rule.operator in ("NotIn", "DoesNotExist") else found

    def _kept_away(self, tolerations: Sequence[Toleration]) -> int:
        return _union(
            where
            for taint, where in self._tainted.items()
            if taint.effect in _KEEP_AWAY and not any(tolerates(each, taint) for each in tolerations)
        )

    def _set(self, names: Iterable[str]) -> int:
        return _union(1 << self._number[name] for name in names if name in self._number)


def _by_taint(nodes: Iterable[RoomyNode]) -> dict[Taint, int]:
    found: dict[Taint, int] = defaultdict(int)
    for number, node in enumerate(nodes):
        for taint in node.taints:
            found[taint] |= 1 << number
    return found


def _union(several: Iterable[int]) -> int:
    found = 0
    for each in several:
        found |= each
    return found


def _compares(rule: LabelRule, value: str) -> bool:
    """Gt and Lt compare whole numbers; any other value meets neither (core/v1, `NodeSelectorRequirement`)."""
    try:
        have, limit = int(value), int(rule.values[0])
    except (IndexError, ValueError):
        return False
    return (rule.operator == "Gt" and have > limit) or (rule.operator == "Lt" and have < limit)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration is one for this taint (core/v1, `Toleration.ToleratesTaint`)."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and bool(toleration.key) and toleration.value == taint.value
