"""The room for pods that move: by requests, labels, affinity, taints and volumes, and the same as a plain search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.room import (
    NoRoom,
    Packing,
    judge_room,
    tolerates,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import (
    LabelRule,
    PlacedPod,
    PlacementRules,
    RoomyNode,
    Taint,
    Toleration,
    Workloads,
)
from hypothesis import given
from hypothesis import strategies as some

from tests.unit.plugins.module_utils.draining.placed import node, pod, workloads

CPU = {"cpu": 1000, "pods": 1000}
ZONE = "topology.kubernetes.io/zone"
BATCH = {"nodes-02": ["w-0"]}
IN_A, IN_B = LabelRule(ZONE, "In", ("a",)), LabelRule(ZONE, "In", ("b",))


def without_room(seen: Workloads, batches: dict[str, list[str]] | None = None) -> list[NoRoom]:
    """The batches with pods that find no place."""
    return list(Packing(seen).without_room(batches or BATCH))


def pods(count: int, where: str = "w-0", **other: Any) -> list[PlacedPod]:
    """So many pods of one processor."""
    return [pod(f"{where}-{number}", where, **{"requests": CPU, **other}) for number in range(count)]


def test_pods_fit_as_long_as_there_is_room_for_all_of_them() -> None:
    nodes = [node("w-0"), node("w-1"), node("w-2")]
    assert without_room(workloads(nodes, *pods(4), *pods(2, "w-1"), *pods(2, "w-2"))) == []
    (found,) = without_room(workloads(nodes, *pods(4), *pods(2, "w-1"), *pods(3, "w-2")))
    assert (found.batch, found.crowded, found.bound) == ("nodes-02", ("search/w-0-3",), ())


def test_a_batch_takes_no_pod_of_its_own() -> None:
    nodes = [node("w-0"), node("w-1"), node("w-2")]
    (found,) = without_room(workloads(nodes, *pods(3), *pods(3, "w-1")), {"nodes-02": ["w-0", "w-1"]})
    assert len(found.crowded) == 2


def test_the_greatest_pods_are_placed_first() -> None:
    nodes = [node("w-0"), node("w-1"), node("w-2")]
    sizes = (1000, 1000, 2000, 4000)
    moved = [pod(f"p-{number}", requests={"cpu": size}) for number, size in enumerate(sizes)]
    assert without_room(workloads(nodes, *moved)) == []


@pytest.mark.parametrize(
    "facts",
    [
        {"closed": True},
        {"allocatable": {"cpu": 4000, "memory": 8000, "pods": 0}},
        {"allocatable": {"cpu": 999, "pods": 10000}},
        {"allocatable": {}},
        {"taints": (Taint("role", "", "NoSchedule"),)},
    ],
)
def test_a_kubernetes_node_that_takes_no_pod_gives_no_room(facts: dict[str, Any]) -> None:
    assert len(without_room(workloads([node("w-0"), node("w-1", **facts)], *pods(1)))) == 1
    assert without_room(workloads([node("w-0"), node("w-1", **facts), node("w-2")], *pods(1))) == []


def test_every_resource_counts_that_is_requested() -> None:
    gpu = node("w-1", allocatable={"cpu": 4000, "pods": 10000, "nvidia.com/gpu": 1000})
    seen = workloads([node("w-0"), gpu], *pods(2, requests={"nvidia.com/gpu": 1000}))
    assert without_room(seen)[0].crowded == ("search/w-0-1",)


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "DaemonSet"},
        {"owner": ""},
        {"is_static": True},
        {"terminating": True},
        {"kubernetes_node": ""},
        {"kubernetes_node": "gone"},
    ],
)
def test_a_pod_that_does_not_move_needs_no_room(other: dict[str, Any]) -> None:
    assert without_room(workloads([node("w-0")], *pods(1, **other))) == []


RULES: list[tuple[PlacementRules, bool]] = [
    (PlacementRules(labels=((ZONE, "a"),)), True),
    (PlacementRules(labels=((ZONE, "b"),)), False),
    (PlacementRules(terms=((IN_B,), (IN_A,))), True),
    (PlacementRules(terms=((IN_A, IN_B),)), False),
    (PlacementRules(terms=()), False),
    (PlacementRules(terms=((),)), False),
    (PlacementRules(terms=((LabelRule(ZONE, "NotIn", ("b",)),),)), True),
    (PlacementRules(terms=((LabelRule("none", "NotIn", ("b",)),),)), True),
    (PlacementRules(terms=((LabelRule("none", "DoesNotExist", ()),),)), True),
    (PlacementRules(terms=((LabelRule(ZONE, "Exists", ()),),)), True),
    (PlacementRules(terms=((LabelRule("size", "Gt", ("3",)),),)), True),
    (PlacementRules(terms=((LabelRule("size", "Lt", ("4",)),),)), False),
    (PlacementRules(terms=((LabelRule(ZONE, "Gt", ("4",)),),)), False),
    (PlacementRules(terms=((LabelRule("metadata.name", "In", ("w-1",)),),)), True),
    (PlacementRules(terms=((LabelRule("metadata.name", "In", ("w-0",)),),)), False),
]


@pytest.mark.parametrize(("rules", "fits"), RULES)
def test_a_pod_goes_where_its_rules_let_it(rules: PlacementRules, fits: bool) -> None:
    other = node("w-1", labels={ZONE: "a", "size": "4"})
    found = without_room(workloads([node("w-0"), other], *pods(1, rules=rules)))
    assert [each.bound for each in found] == ([] if fits else [("search/w-0-0",)])


@pytest.mark.parametrize(("zone", "fits"), [("a", True), ("b", False)])
def test_a_pod_stays_in_the_zone_of_its_volume(zone: str, fits: bool) -> None:
    volumes = {("search", "data-w-0-0"): ((LabelRule(ZONE, "In", (zone,)),),)}
    seen = workloads([node("w-0"), node("w-1")], *pods(1, claims=("data-w-0-0", "elsewhere")), volumes=volumes)
    assert (without_room(seen) == []) is fits


@pytest.mark.parametrize(
    ("toleration", "meets"),
    [
        (Toleration("", "Exists", "", ""), True),
        (Toleration("role", "Exists", "", ""), True),
        (Toleration("role", "Exists", "", "NoExecute"), False),
        (Toleration("role", "", "infra", "NoSchedule"), True),
        (Toleration("role", "Equal", "other", ""), False),
        (Toleration("", "Equal", "infra", ""), False),
        (Toleration("other", "Exists", "", ""), False),
        (Toleration("role", "Sometimes", "infra", ""), False),
    ],
)
def test_a_toleration_is_one_for_a_taint(toleration: Toleration, meets: bool) -> None:
    assert tolerates(toleration, Taint("role", "infra", "NoSchedule")) is meets


def test_a_taint_that_only_prefers_keeps_nothing_away() -> None:
    other = node("w-1", taints=(Taint("a", "", "PreferNoSchedule"),))
    assert without_room(workloads([node("w-0"), other], *pods(1))) == []


def test_a_few_batches_are_told_in_full_and_the_others_named() -> None:
    nodes = [node(f"w-{number}") for number in range(6)]
    seen = workloads(nodes, *(each for number in range(6) for each in pods(4, f"w-{number}")))
    batches = {f"nodes-0{number}": [f"w-{number}"] for number in range(6)}
    reasons = judge_room(seen, batches).reasons
    assert [each.code for each in reasons] == ["no_room"] * 4 + ["not_computed"]
    assert reasons[0].message == (
        "Batch nodes-00: 4 pods (search/w-0-0, search/w-0-1, search/w-0-2, search/w-0-3) find no room on other"
        " Kubernetes nodes, by requests."
    )
    assert reasons[3].message == "The same holds for pods of 3 further batches: nodes-03, nodes-04, nodes-05."
    assert reasons[4].message.endswith(": preemption by priority.")
    assert judge_room(seen, batches).passed


def test_rules_about_other_pods_are_said_not_to_be_computed() -> None:
    seen = workloads([node("w-0"), node("w-1")], *pods(2, by_other_pods=True), *pods(1, "w-1", is_spread=True))
    (reason,) = judge_room(seen, BATCH).reasons
    assert reason.message == (
        "Whether pods find room on other Kubernetes nodes was computed without this: affinity to other pods (2 pods)."
    )
    assert judge_room(seen, {}).reasons == ()


def test_a_pod_that_may_run_nowhere_else_is_told_from_one_without_room() -> None:
    stays = pod("data-0", rules=PlacementRules(labels=(("kubernetes.io/hostname", "w-0"),)), requests=CPU)
    reasons = judge_room(workloads([node("w-0"), node("w-1")], stays), BATCH).reasons
    assert reasons[0].message == (
        "Batch nodes-02: 1 pod (search/data-0) finds no other Kubernetes node to run on, by labels, taints or volumes."
    )


RESOURCES = some.dictionaries(some.sampled_from(["cpu", "memory"]), some.integers(1, 3), max_size=2)
SELECTORS = some.sampled_from([(), (("zone", "a"),), (("zone", "b"),)])
TOLERATIONS = some.sampled_from([(), (Toleration("", "Exists", "", ""),)])


@some.composite
def clusters(draw: some.DrawFn) -> Workloads:
    """A few Kubernetes nodes with pods on them."""
    nodes = [
        RoomyNode(
            f"w-{number}",
            {"zone": draw(some.sampled_from("ab"))},
            draw(some.sampled_from([(), (Taint("t", "", "NoSchedule"),)])),
            draw(some.booleans()) and number > 3,
            {"cpu": draw(some.integers(0, 8)), "memory": draw(some.integers(0, 8))},
        )
        for number in range(draw(some.integers(2, 5)))
    ]
    there = [
        pod(
            f"p-{number}",
            draw(some.sampled_from(nodes)).name,
            requests=draw(RESOURCES),
            rules=PlacementRules(labels=draw(SELECTORS), tolerations=draw(TOLERATIONS)),
        )
        for number in range(draw(some.integers(0, 8)))
    ]
    return workloads(nodes, *there)


def plainly(seen: Workloads, batch: Sequence[str]) -> tuple[list[str], list[str]]:
    """The same search without any shortcut."""
    used = {name: dict.fromkeys(("cpu", "memory"), 0) for name in seen.nodes}
    for each in seen.pods:
        for kind, amount in each.requests.items():
            used[each.kubernetes_node][kind] += amount
    free = {
        name: {kind: node.allocatable.get(kind, 0) - used[name][kind] for kind in used[name]}
        for name, node in seen.nodes.items()
    }
    whole = {
        kind: max(1, sum(node.allocatable.get(kind, 0) for node in seen.nodes.values())) for kind in ("cpu", "memory")
    }
    moved = [each for each in seen.pods if each.kubernetes_node in batch]
    crowded, bound = [], []
    for each in sorted(
        moved,
        key=lambda one: (-max((amount / whole[kind] for kind, amount in one.requests.items()), default=0.0), one.name),
    ):
        places = [name for name in seen.nodes if name not in batch and _may(each, seen.nodes[name])]
        fits = [name for name in places if all(free[name][kind] >= need for kind, need in each.requests.items())]
        if not places:
            bound.append(f"search/{each.name}")
        elif not fits:
            crowded.append(f"search/{each.name}")
        else:
            for kind, need in each.requests.items():
                free[fits[0]][kind] -= need
    return sorted(crowded), sorted(bound)


def _may(one: PlacedPod, where: RoomyNode) -> bool:
    return (
        not where.closed
        and all(where.labels.get(key) == value for key, value in one.rules.labels)
        and all(any(tolerates(each, taint) for each in one.rules.tolerations) for taint in where.taints)
    )


@given(clusters(), some.integers(1, 3))
def test_the_packing_is_that_of_a_plain_search(seen: Workloads, size: int) -> None:
    names = list(seen.nodes)
    for batch in _batches(names, size):
        found = without_room(seen, {"batch": list(batch)})
        crowded, bound = plainly(seen, batch)
        assert [(list(each.crowded), list(each.bound)) for each in found] == (
            [(crowded, bound)] if crowded or bound else []
        )


def _batches(names: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]


@given(clusters())
def test_more_room_never_hurts(seen: Workloads) -> None:
    vast = {name: replace(node, allocatable={"cpu": 1000, "memory": 1000}) for name, node in seen.nodes.items()}
    for name in seen.nodes:
        assert all(not each.crowded for each in without_room(replace(seen, nodes=vast), {"batch": [name]}))
