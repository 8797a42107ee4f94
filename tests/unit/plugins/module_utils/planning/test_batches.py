# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of any cluster, checked by a checker written from the definition, which shares no code with the planner."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.planning.batches import (
    Batch,
    Cutting,
    Placement,
    batches_of,
    most_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.planning.pools import Member, Pool, order_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.planning.versions import Version
from hypothesis import given
from hypothesis import strategies as st

OLD, NEW = Version(2, 19, 6), Version(3, 8, 0)


def member(name: str, zone: str = "", *, manages: bool = False, elected: bool = False, there: bool = True) -> Member:
    version = OLD if there else None
    return Member(name, name.split("-", maxsplit=1)[0], version, manages, holds_data=True, elected=elected, zone=zone)


def pool(*members: Member) -> Pool:
    return Pool(members[0].pool, members, "opensearch", "opensearch:2", "opensearch:3", "OnDelete")


def names(batches: Sequence[Batch]) -> list[tuple[str, ...]]:
    return [batch.members for batch in batches]


def faults(batches: Sequence[Batch], pools: Sequence[Pool], placement: Placement, most: int | None) -> list[str]:
    """What is wrong with the batches, from the definition of a safe batch."""
    known = {each.name: each for one in pools for each in one.members}
    found = []
    for batch in batches:
        together = set(batch.members)
        for holders in placement.holders:
            if len(holders) > 1 and not holders - together:
                found.append(f"{batch.name} takes every copy of a shard, on {sorted(holders)}")
        for voters in placement.voters:
            if len(together) > 1 and together & voters and len(voters - together) <= len(voters) / 2:
                found.append(f"{batch.name} takes the majority of {sorted(voters)}")
        if len(together) > 1 and any(known[name].elected or known[name].version is None for name in together):
            found.append(f"{batch.name} takes the elected manager or a broken member together with others")
        if most is not None and len(together) > most:
            found.append(f"{batch.name} is greater than {most}")
        if {known[name].pool for name in together} != {batch.pool}:
            found.append(f"{batch.name} is of several pools")
    if sorted(name for batch in batches for name in batch.members) != sorted(known):
        found.append("not every member goes exactly once")
    return found


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Pool], Placement]:
    zones = draw(st.sampled_from([("",), ("a", "b", "c")]))
    pools = []
    for name, manages in draw(
        st.sampled_from([(("data", False),), (("data", False), ("both", True)), (("both", True),)])
    ):
        size = draw(st.integers(1, 7))
        there = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        elected = draw(st.integers(0, size - 1)) if manages else -1
        pools.append(
            pool(
                *(
                    member(
                        f"{name}-{number}",
                        zones[number % len(zones)],
                        manages=manages,
                        elected=number == elected and there[number],
                        there=there[number],
                    )
                    for number in range(size)
                )
            )
        )
    every = [each.name for one in pools for each in one.members]
    holders = draw(st.lists(st.frozensets(st.sampled_from(every), min_size=1, max_size=3), max_size=12))
    electable = [each.name for one in pools for each in one.members if each.manager_eligible]
    voters = draw(st.lists(st.frozensets(st.sampled_from(electable), min_size=1), max_size=2)) if electable else []
    return list(order_pools(pools)), Placement(holders, voters)


@given(clusters(), st.sampled_from(["serial", "zones", "disjoint"]), st.sampled_from([None, "1", "2", "50%"]))
def test_every_batch_of_any_cluster_is_safe(
    cluster: tuple[list[Pool], Placement], batching: str, max_unavailable: str | None
) -> None:
    pools, placement = cluster
    cutting = Cutting(batching, max_unavailable)
    batches = batches_of(pools, NEW, (), cutting, placement)
    greatest = max(most_of(max_unavailable, len(one.members)) or len(one.members) for one in pools)
    assert faults(batches, pools, placement, 1 if batching == "serial" else greatest) == []
    assert batches == batches_of(pools, NEW, (), cutting, placement)
    zones = {each.name: each.zone for one in pools for each in one.members}
    if batching == "zones":
        assert all(len(batch.members) == 1 or len({zones[name] for name in batch.members}) == 1 for batch in batches)


@given(clusters())
def test_together_never_takes_more_batches_than_one_at_a_time_or_by_zones(
    cluster: tuple[list[Pool], Placement],
) -> None:
    pools, placement = cluster
    counts = [len(batches_of(pools, NEW, (), Cutting(way), placement)) for way in ("disjoint", "zones", "serial")]
    assert counts == sorted(counts)


def test_the_checker_sees_what_is_wrong() -> None:
    one = pool(member("data-0"), member("data-1"), member("data-2", manages=True, elected=True))
    placement = Placement([frozenset({"data-0", "data-1"})], [frozenset({"data-0", "data-1", "data-2"})])
    wrong = [Batch("b", "data", ("data-0", "data-1", "data-2"), "")]
    assert len(faults(wrong, [one], placement, 2)) == 4
    assert faults([], [one], placement, None) == ["not every member goes exactly once"]


def test_members_that_share_no_shard_go_together_and_the_elected_manager_last() -> None:
    one = pool(*(member(f"data-{n}", manages=n == 0, elected=n == 0) for n in range(5)))
    pairs = [frozenset({"data-4", "data-3"}), frozenset({"data-2", "data-1"})]
    batches = batches_of([one], NEW, (), Cutting("disjoint"), Placement(pairs))
    assert names(batches) == [("data-4", "data-2"), ("data-3", "data-1"), ("data-0",)]
    assert [batch.name for batch in batches] == [
        "batch-01.data-4-and-1-more",
        "batch-02.data-3-and-1-more",
        "batch-03.data-0",
    ]
    assert "without whom every shard keeps a copy" in batches[0].reason
    assert names(batches_of([one], NEW, ["data-4", "data-3"], Cutting("disjoint"), Placement(pairs))) == [
        ("data-4",),
        ("data-3",),
    ]


def test_zones_go_one_after_the_other() -> None:
    one = pool(*(member(f"data-{n}", "abc"[n % 3]) for n in range(6)))
    across = Placement([frozenset({f"data-{x}", f"data-{y}"}) for x, y in combinations(range(6), 2) if x % 3 != y % 3])
    for batching in ("zones", "disjoint"):
        batches = batches_of([one], NEW, (), Cutting(batching), across)
        assert names(batches) == [("data-5", "data-2"), ("data-4", "data-1"), ("data-3", "data-0")]
    assert batches[0].reason == "data without manager; 2 members of zone c"
    # Both copies of a shard in one zone: the zone is divided.
    inside = Placement([*across.holders, frozenset({"data-5", "data-2"})])
    assert len(batches_of([one], NEW, (), Cutting("zones"), inside)) == 4


def test_a_shard_with_two_replicas_lets_two_of_its_holders_go_together() -> None:
    one = pool(*(member(f"data-{n}") for n in range(3)))
    batches = batches_of([one], NEW, (), Cutting("disjoint"), Placement([frozenset({"data-0", "data-1", "data-2"})]))
    assert [len(batch.members) for batch in batches] == [2, 1]


@pytest.mark.parametrize(
    ("text", "size", "most"), [(None, 9, None), ("2", 9, 2), ("25%", 9, 2), ("1%", 9, 1), ("100%", 9, 9), (" 3 ", 1, 3)]
)
def test_the_most_that_may_be_away(text: str | None, size: int, most: int | None) -> None:
    assert most_of(text, size) == most


@pytest.mark.parametrize("text", ["", "0", "0%", "-1", "many", "1.5", "101%", "%"])
def test_what_is_no_number_of_members_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a number"):
        most_of(text, 9)


@pytest.mark.parametrize(("zones", "batches"), [(0, 32), (3, 3)])
def test_a_thousand_members_with_fifty_thousand_shards(zones: int, batches: int) -> None:
    """How long it takes is measured by the benchmark of plans; here is only how good it is."""
    chance = random.Random(7)  # noqa: S311 - the same cluster on every run
    members = [member(f"data-{number}", f"z{number % zones}" if zones else "") for number in range(1000)]
    holders: list[frozenset[str]] = []
    while len(holders) < 50_000:
        one, other = chance.sample(members, 2)
        if not zones or one.zone != other.zone:
            holders.append(frozenset({one.name, other.name}))
    one_pool, placement = pool(*members), Placement(holders)
    found = batches_of([one_pool], NEW, (), Cutting("disjoint"), placement)
    assert len(found) <= batches
    assert faults(found, [one_pool], placement, None) == []
