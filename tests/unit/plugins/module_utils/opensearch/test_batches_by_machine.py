"""Batches of members that share a machine: those that go together, those that go apart, and the words for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import Cutting, batches_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Member, Pool, order_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.batch_case import (
    MINOR,
    member,
    names,
    pool,
)

NODE = Cutting("node")
MANAGERS = frozenset({"manager-0", "manager-1", "manager-2"})


def on_three_nodes() -> list[Pool]:
    """A data member and a manager on each of three Kubernetes nodes."""
    data = pool(*(member(f"data-{n}", machine=f"n{n}") for n in range(3)))
    managers = (member(f"manager-{n}", manages=True, elected=n == 0, data=False, machine=f"n{n}") for n in range(3))
    return list(order_pools([data, pool(*managers)]))


def test_the_members_of_a_kubernetes_node_go_together_and_the_elected_manager_with_the_last() -> None:
    placement = Placement([], [MANAGERS], MANAGERS)
    batches = batches_of(on_three_nodes(), MINOR, (), replace(NODE, hands_over=True), placement)
    assert names(batches) == [("data-2", "manager-2"), ("data-1", "manager-1"), ("data-0", "manager-0")]
    assert batches[0].reason == ("data without manager, manager without data; 2 members on Kubernetes node n2")
    assert batches[2].reason.endswith("2 members on Kubernetes node n0; the elected manager hands over first")


def test_without_a_hand_over_the_elected_manager_goes_apart_and_the_plan_says_why() -> None:
    batches = batches_of(on_three_nodes(), MINOR, (), NODE, Placement([], [MANAGERS], MANAGERS))
    assert names(batches) == [("data-2", "manager-2"), ("data-1", "manager-1"), ("data-0",), ("manager-0",)]
    assert batches[3].reason == (
        "manager without data; the elected manager goes last;"
        " apart from data-0 on the same Kubernetes node, since the elected manager manager-0 goes alone"
    )


def four(**of_first: object) -> Pool:
    """Two members on each of two Kubernetes nodes; the one with the highest ordinal is as given."""
    members = [member(f"data-{n}", machine=f"n{n // 2}") for n in range(4)]
    return pool(*members[:3], replace(members[3], **of_first))  # type: ignore[arg-type]


PAIR = frozenset({"data-3", "data-2"})


@pytest.mark.parametrize(
    ("placement", "most", "said"),
    [
        (
            Placement([PAIR], labels=["shard 0 of logs"]),
            None,
            "data-2, data-3 cannot: they are all that have shard 0 of logs",
        ),
        (Placement([PAIR]), None, "data-2, data-3 cannot: they are all that have what only data-2, data-3 have"),
        (
            Placement([], [PAIR | {"data-0"}]),
            None,
            "data-2, data-3 cannot: without all of them the voters would lose their majority",
        ),
        (Placement(), "1", "data-2, data-3 cannot: at most 1 of data may be away at once"),
    ],
)
def test_members_that_cannot_go_together_go_apart_with_the_cause(
    placement: Placement, most: str | None, said: str
) -> None:
    batches = batches_of([four()], MINOR, (), replace(NODE, max_unavailable=most), placement)
    assert names(batches)[:2] == [("data-3",), ("data-2",)]
    assert batches[1].reason == (f"data without manager; apart from data-3 on the same Kubernetes node, since {said}")
    assert "apart" not in batches[0].reason


def test_a_pool_that_is_on_one_machine_alone_keeps_a_member() -> None:
    batches = batches_of([pool(*(member(f"data-{n}", machine="n0") for n in range(2)))], MINOR, (), NODE, Placement())
    assert names(batches) == [("data-1",), ("data-0",)]
    assert "they are all that have pool data" in batches[1].reason


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ready": False}, "the pod of data-3 is not Ready, so it goes first"),
        ({"under_way": True}, "an interrupted run has begun with data-3"),
    ],
)
def test_a_member_that_goes_first_goes_apart(given: dict[str, object], said: str) -> None:
    batches = batches_of([four(**given)], MINOR, (), replace(NODE, canary="data-1"), Placement())
    first = next(batch for batch in batches if batch.members == ("data-3",))
    after = next(batch for batch in batches if batch.members == ("data-2",))
    assert batches.index(first) < batches.index(after)
    assert after.reason.endswith(f"apart from data-3 on the same Kubernetes node, since {said}")


def test_a_pool_that_keeps_rolling_update_goes_one_by_one() -> None:
    batches = batches_of([replace(four(), by_partition=True)], MINOR, (), NODE, Placement())
    assert names(batches) == [("data-3",), ("data-2",), ("data-1",), ("data-0",)]
    assert batches[1].reason.endswith("since pool data goes by its partition, one at a time")


def test_a_canary_takes_the_members_of_its_machine_along() -> None:
    batches = batches_of([four()], MINOR, (), replace(NODE, canary="data-0"), Placement())
    assert names(batches) == [("data-0", "data-1"), ("data-3", "data-2")]
    assert batches[0].reason == "data without manager; the canary goes first; 2 members on Kubernetes node n0"
    alone = batches_of(
        [four()], MINOR, (), replace(NODE, canary="data-0"), Placement([frozenset({"data-0", "data-1"})])
    )
    assert names(alone) == [("data-0",), ("data-3", "data-2"), ("data-1",)]


@pytest.mark.parametrize("canary", ["", "data-3"])
def test_a_member_whose_machine_is_not_known_goes_alone(canary: str) -> None:
    unplaced: list[Member] = [replace(each, machine="") for each in four().members]
    batches = batches_of([pool(*unplaced)], MINOR, (), replace(NODE, canary=canary), Placement())
    assert names(batches) == [("data-3",), ("data-2",), ("data-1",), ("data-0",)]


def test_members_on_hosts_go_by_their_addresses() -> None:
    on_hosts = replace(four(), container="")
    batches = batches_of([on_hosts], MINOR, (), NODE, Placement())
    assert batches[0].reason == "data without manager; 2 members on host n1"
