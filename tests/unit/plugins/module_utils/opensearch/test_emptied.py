"""The plan of Kubernetes nodes that a run empties with all members on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import (
    Batch,
    Cutting,
    batches_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.emptied import (
    EmptiedBatch,
    emptied_with,
    judge_emptied,
    with_all_on_nodes,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Pool
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.batch_case import (
    NEW,
    member,
    names,
    pool,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.test_batches import clusters
from hypothesis import given
from hypothesis import strategies as st

NODE = Cutting("node")


def four(upgraded: Sequence[int] = (), away: Sequence[int] = ()) -> Pool:
    """Two members on each of two Kubernetes nodes, some on the target, and some away without a Kubernetes node."""
    members = [member(f"data-{n}", machine="" if n in away else f"n{n // 2}", there=n not in away) for n in range(4)]
    return pool(*(replace(each, version=NEW) if n in upgraded else each for n, each in enumerate(members)))


def due(pools: Sequence[Pool]) -> list[str]:
    return [each.name for one in pools for each in one.members if each.due]


def planned(one: Pool, placement: Placement | None = None, cutting: Cutting = NODE) -> list[Batch]:
    return list(batches_of([one], NEW, (), cutting, placement or Placement()))


def of_plan(batches: Sequence[Batch]) -> list[dict[str, Any]]:
    return [{"name": each.name, "members": list(each.members), "cures": each.brings_back} for each in batches]


def codes(pools: Sequence[Pool], batches: Sequence[Batch], batching: str = "node") -> list[str]:
    found = judge_emptied(
        pools, emptied_with(of_plan(batches), pools), batching, {each.name: each.reason for each in batches}
    )
    return [reason.code for reason in found.reasons]


def test_an_upgraded_member_goes_again_with_another_of_its_kubernetes_node() -> None:
    (found,) = with_all_on_nodes([four(upgraded=[1, 2, 3])], {}, NEW, ())
    assert due([found]) == ["data-1"]
    batches = planned(found)
    assert names(batches) == [("data-1", "data-0")]
    assert emptied_with(of_plan(batches), [found])[0].kubernetes_nodes == ("n0",)
    assert codes([found], batches) == []


def test_nothing_is_due_where_nothing_goes() -> None:
    assert due(with_all_on_nodes([four(upgraded=range(4))], {}, NEW, ())) == []


def test_a_marked_kubernetes_node_is_emptied_again_though_all_on_it_are_upgraded() -> None:
    (found,) = with_all_on_nodes([four(upgraded=range(4))], {"n1": {"data-2", "data-3"}}, NEW, ())
    assert due([found]) == ["data-2", "data-3"]
    assert names(planned(found)) == [("data-3", "data-2")]


def test_a_member_that_is_away_since_its_node_was_emptied_comes_back_first_and_goes_again_with_the_others() -> None:
    (found,) = with_all_on_nodes([four(upgraded=[2], away=[3])], {"n1": {"data-2", "data-3"}}, NEW, ())
    assert due([found]) == ["data-2"]
    batches = planned(found)
    assert names(batches) == [("data-3",), ("data-1", "data-0"), ("data-3", "data-2")] or names(batches) == [
        ("data-3",),
        ("data-3", "data-2"),
        ("data-1", "data-0"),
    ]
    assert batches[0].brings_back
    emptied = emptied_with(of_plan(batches), [found])
    assert emptied[0].kubernetes_nodes == ()
    assert sorted(each.kubernetes_nodes for each in emptied[1:]) == [("n0",), ("n1",)]
    assert codes([found], batches) == []


def test_a_member_that_is_away_for_another_cause_is_brought_back_and_empties_nothing() -> None:
    (found,) = with_all_on_nodes([four(away=[3])], {}, NEW, ())
    batches = planned(found)
    assert emptied_with(of_plan(batches), [found])[0] == EmptiedBatch(batches[0].name, ["data-3"])


@pytest.mark.parametrize("batching", ["serial", "zones", "disjoint"])
def test_other_batches_empty_nothing(batching: str) -> None:
    (found,) = with_all_on_nodes([four()], {}, NEW, ())
    assert codes([found], planned(found, cutting=Cutting(batching)), batching) == ["emptied_by_node"]


def test_a_pool_by_its_partition_empties_nothing() -> None:
    (found,) = with_all_on_nodes([replace(four(), by_partition=True)], {}, NEW, ())
    assert "emptied_by_partition" in codes([found], planned(found))


def test_no_kubernetes_node_is_emptied_where_the_cluster_may_not_answer_for_that_time() -> None:
    # Found by seed 400584: a cluster of one member waited for its cordoned node, and no run could ask whose node it is.
    found = with_all_on_nodes([four()], {}, NEW, ())
    emptied = emptied_with(of_plan(planned(found[0])), found)
    judged = judge_emptied(found, emptied, "node", {each.name: "" for each in emptied}, may_stand_still=True)
    assert [reason.code for reason in judged.reasons] == ["emptied_standstill"]
    none = [replace(each, kubernetes_nodes=()) for each in emptied]
    assert judge_emptied(found, none, "node", {}, may_stand_still=True).passed


def test_a_kubernetes_node_whose_members_cannot_go_together_is_refused_once_with_the_cause() -> None:
    (found,) = with_all_on_nodes([four()], {}, NEW, ())
    placement = Placement([frozenset({"data-2", "data-3"})], labels=["shard 0 of logs"])
    batches = planned(found, placement)
    emptied = emptied_with(of_plan(batches), [found])
    (reason,) = judge_emptied([found], emptied, "node", {each.name: each.reason for each in batches}).reasons
    assert reason.code == "node_not_emptied"
    assert reason.message == (
        "Kubernetes node n1 cannot be emptied, since data-2 on it cannot go with data-3: it goes apart from data-3 on"
        " the same Kubernetes node, since data-2, data-3 cannot: they are all that have shard 0 of logs."
    )


def test_a_plan_narrowed_to_a_member_does_not_empty_its_kubernetes_node() -> None:
    (found,) = with_all_on_nodes([four()], {}, NEW, ["data-3"])
    batches = list(batches_of([found], NEW, ["data-3"], NODE, Placement()))
    assert codes([found], batches) == ["node_not_emptied"]


@given(clusters(), st.data())
def test_each_kubernetes_node_that_is_emptied_is_so_with_all_members_on_it(cluster: Any, data: st.DataObject) -> None:
    pools, placement = cluster
    machines = sorted({each.machine for one in pools for each in one.members} - {""})
    marked = data.draw(st.sets(st.sampled_from(machines))) if machines else set[str]()
    found = with_all_on_nodes(pools, dict.fromkeys(marked, ()), NEW, ())
    batches = batches_of(found, NEW, (), NODE, placement)
    emptied = emptied_with(of_plan(batches), found)
    refused = judge_emptied(found, emptied, "node", {each.name: each.reason for each in batches}).deciding()
    whole = True
    for each in emptied:
        for node in each.kubernetes_nodes:
            there = {m.name for one in found for m in one.members if m.machine == node and m.version is not None}
            whole = whole and there <= {*each.members}
    assert whole == (not refused)
