"""Batches of several pools, by hand: who goes with whom, who last, and who hands over before."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import Cutting, batches_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Pool, order_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.batch_case import (
    MINOR,
    NEW,
    member,
    names,
    pool,
)


def three_pools(**of_data: bool) -> list[Pool]:
    """Three data members in three zones, three managers, one coordinating member."""
    return list(
        order_pools(
            [
                pool(*(member(f"data-{n}", "abc"[n]) for n in range(3)), **of_data),
                pool(*(member(f"manager-{n}", "abc"[n], manages=True, elected=n == 0, data=False) for n in range(3))),
                pool(member("coordinating-0", data=False)),
            ]
        )
    )


MANAGERS = frozenset({"manager-0", "manager-1", "manager-2"})


def test_members_of_several_pools_share_a_batch() -> None:
    pairs = [frozenset({"data-0", "data-1"}), frozenset({"data-1", "data-2"}), frozenset({"data-0", "data-2"})]
    placement = Placement(pairs, [MANAGERS])
    batches = batches_of(three_pools(), MINOR, (), Cutting("disjoint"), placement)
    assert names(batches) == [
        ("data-2", "coordinating-0", "manager-2"),
        ("data-1", "manager-1"),
        ("data-0",),
        ("manager-0",),
    ]
    assert batches[0].pools == ("data", "coordinating", "manager")
    assert batches[0].reason == (
        "data without manager, neither data nor manager, manager without data;"
        " 3 members without whom every shard keeps a copy"
    )
    assert batches_of(three_pools(), NEW, (), Cutting("disjoint"), placement) == batches


@pytest.mark.parametrize("batching", ["disjoint", "zones"])
@pytest.mark.parametrize("target", [MINOR, NEW])
def test_an_elected_manager_that_hands_over_joins_the_last_batch(batching: str, target: Version) -> None:
    pairs = [frozenset({"data-0", "data-1"}), frozenset({"data-1", "data-2"}), frozenset({"data-0", "data-2"})]
    cutting, placement = Cutting(batching, hands_over=True), Placement(pairs, [MANAGERS], MANAGERS)
    pools = three_pools()
    if batching == "zones":
        pools = [one for one in pools if one.name != "coordinating"]
    batches = batches_of(pools, target, (), cutting, placement)
    assert len(batches) == 3
    assert batches[-1].members == ("data-0", "manager-0")
    assert batches[-1].reason.endswith("; the elected manager hands over first")
    assert not any("hands over" in batch.reason for batch in batches[:-1])


ONE, TWO = frozenset({"manager-0"}), frozenset({"manager-0", "manager-1"})


@pytest.mark.parametrize(
    ("voters", "electable"),
    [([], MANAGERS), ([ONE], ONE), ([TWO], MANAGERS), ([MANAGERS], ONE), ([MANAGERS, TWO], TWO)],
)
def test_where_nobody_could_be_elected_the_elected_manager_goes_alone(
    voters: list[frozenset[str]], electable: frozenset[str]
) -> None:
    cutting = Cutting("disjoint", hands_over=True)
    batches = batches_of(three_pools(), MINOR, (), cutting, Placement([], voters, electable))
    assert batches[-1].members == ("manager-0",)
    assert batches[-1].reason == "manager without data; the elected manager goes last"


@pytest.mark.parametrize(
    ("voters", "electable", "more"),
    [(MANAGERS, MANAGERS, True), (MANAGERS, ONE, False), (ONE, MANAGERS, True), (ONE, ONE, False)],
)
def test_one_at_a_time_the_elected_manager_hands_over_too(
    voters: frozenset[str], electable: frozenset[str], more: bool
) -> None:
    batches = batches_of(three_pools(), MINOR, (), Cutting(hands_over=True), Placement([], [voters], electable))
    said = "manager without data; the elected manager goes last"
    assert batches[-1].reason == f"{said}{', and hands over first' if more else ''}"


def test_on_a_major_upgrade_the_last_manager_waits_for_those_that_hold_no_version_down() -> None:
    both = pool(*(member(f"both-{n}", manages=True, elected=n == 0) for n in range(3)))
    other = pool(member("other-0", data=False))
    batches = batches_of([both, other], NEW, (), Cutting(), Placement())
    assert names(batches) == [("both-2",), ("both-1",), ("other-0",), ("both-0",)]
    assert (
        "waits until the members without data that cannot be elected are on the new major version" in batches[-1].reason
    )
    assert names(batches_of([both, other], MINOR, (), Cutting(), Placement()))[-2:] == [("both-0",), ("other-0",)]


def test_a_broken_member_is_cured_first_as_its_pool_is_now_and_upgraded_in_its_turn() -> None:
    broken = member("manager-1", manages=True, data=False, there=False)
    managers = pool(member("manager-0", manages=True, data=False, elected=True), broken, in_use=True)
    data = pool(member("data-0"))
    batches = batches_of([data, managers], NEW, (), Cutting(), Placement())
    assert names(batches) == [("manager-1",), ("data-0",), ("manager-1",), ("manager-0",)]
    assert [batch.brings_back for batch in batches] == [True, False, False, False]
    assert batches[0].reason == "manager without data; not in the cluster, so it is brought back first, on opensearch:2"
    # If no member runs the version that the pool names now, that is no fix: it comes back on the target.
    unproven = Pool(
        *(getattr(managers, name) for name in ("name", "members", "container", "image", "target_image", "strategy"))
    )
    assert names(batches_of([data, unproven], NEW, (), Cutting(), Placement())) == [
        ("manager-1",),
        ("data-0",),
        ("manager-0",),
    ]
