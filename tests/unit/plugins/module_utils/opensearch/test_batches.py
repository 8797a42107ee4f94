"""Batches of any cluster, checked by a checker written from the definition, which shares no code with the planner."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import (
    BATCHING,
    Batch,
    Cutting,
    batches_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.given_order import judge_canary
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Member, Pool, order_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement, most_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.batch_case import (
    MINOR,
    NEW,
    OLD,
    member,
    names,
    pool,
)
from hypothesis import given
from hypothesis import strategies as st


def faults(
    batches: Sequence[Batch],
    pools: Sequence[Pool],
    placement: Placement,
    most: str | None,
    target: Version = NEW,
    *,
    hands_over: bool = False,
) -> list[str]:
    """The faults of the batches, from the definition of a safe batch."""
    known = {each.name: each for one in pools for each in one.members}
    found = [*_cures_at_fault(batches, pools), *_order_at_fault(batches, known, target)]
    batches = [batch for batch in batches if not batch.brings_back]
    for batch in batches:
        together = [known[name] for name in batch.members]
        found += [f"{batch.name} {fault}" for fault in _together_at_fault(together, placement)]
        found += [f"{batch.name} {fault}" for fault in _share_at_fault(together, pools, most)]
        last = batch is batches[-1]
        found += [f"{batch.name} {fault}" for fault in _elected_at_fault(together, placement, last and hands_over)]
        if {each.pool for each in together} != set(batch.pools):
            found.append(f"{batch.name} names other pools than those of its members")
    if sorted(name for batch in batches for name in batch.members) != sorted(known):
        found.append("not every member goes exactly once")
    return found


def _together_at_fault(members: Sequence[Member], placement: Placement) -> list[str]:
    together = {each.name for each in members}
    found = [
        f"takes every copy of a shard, on {sorted(holders)}"
        for holders in placement.holders
        if len(holders) > 1 and not holders - together
    ]
    if len(together) > 1:
        found += [
            f"takes the majority of {sorted(voters)}"
            for voters in placement.voters
            if together & voters and len(voters - together) <= len(voters) / 2
        ]
    return found


def _elected_at_fault(members: Sequence[Member], placement: Placement, could_hand_over: bool) -> list[str]:
    """Others go with the elected manager only in the last batch, and only where it hands over to one who stays."""
    if len(members) == 1 or not any(each.elected for each in members):
        return []
    together = {each.name for each in members}
    staying = [len(voters - together) / len(voters) for voters in placement.voters]
    could = could_hand_over and bool(staying) and min(staying) > 1 / 2 and bool(placement.electable - together)
    return [] if could else ["takes the elected manager together with others"]


def _share_at_fault(members: Sequence[Member], pools: Sequence[Pool], most: str | None) -> list[str]:
    found = []
    for one in pools:
        of_pool = [each for each in members if each.pool == one.name]
        if len(of_pool) > (most_of(most, len(one.members)) or len(one.members)):
            found.append(f"takes more of {one.name} than {most}")
        if len(members) > 1 and len(of_pool) == len(one.members) > 1:
            found.append(f"takes the whole of {one.name}")
    return found


def _cures_at_fault(batches: Sequence[Batch], pools: Sequence[Pool]) -> list[str]:
    broken = {each.name: one for one in pools for each in one.members if each.version is None}
    first = [batch.members for batch in batches[: len(broken)]]
    found = [] if sorted(first) == sorted((name,) for name in broken) else ["not every broken member goes first, alone"]
    for batch in batches:
        if batch.brings_back != (batch in batches[: len(broken)] and broken[batch.members[0]].in_use):
            found.append(f"{batch.name} is cured wrongly")
    return found


def _order_at_fault(batches: Sequence[Batch], known: dict[str, Member], target: Version) -> list[str]:
    if target.major == OLD.major:
        return []
    broken = sum(member.version is None for member in known.values())
    there = [[known[name] for name in batch.members] for batch in batches[broken:]]
    electing = [number for number, step in enumerate(there) if any(each.manager_eligible for each in step)]
    clients = [n for n, step in enumerate(there) if any(not m.manager_eligible and not m.holds_data for m in step)]
    late = bool(electing and clients and max(clients) > max(electing))
    return ["the last manager-eligible member does not wait for the members that hold no version down"] if late else []


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Pool], Placement]:
    zones = draw(st.sampled_from([("",), ("a", "b", "c")]))
    machines = draw(st.sampled_from([("",), ("n1", "n2", "n3"), ("n1", "n2", "n3", "n4", "n5")]))
    pools = []
    for name, manages in draw(
        st.sampled_from(
            [
                (("data", False),),
                (("data", False), ("both", True)),
                (("both", True),),
                (("both", True), ("other", False)),
                (("data", False), ("other", False), ("manager", True)),
            ]
        )
    ):
        size = draw(st.integers(1, 7))
        there = draw(st.lists(st.sampled_from([True, True, False]), min_size=size, max_size=size))
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
                        data=name in {"data", "both"},
                        machine=machines[number % len(machines)],
                    )
                    for number in range(size)
                ),
                in_use=draw(st.booleans()),
            )
        )
    every = [each.name for one in pools for each in one.members]
    holders = draw(st.lists(st.frozensets(st.sampled_from(every), min_size=1, max_size=3), max_size=12))
    electable = [each.name for one in pools for each in one.members if each.manager_eligible]
    voters = draw(st.lists(st.frozensets(st.sampled_from(electable), min_size=1), max_size=2)) if electable else []
    leader = {each.name for one in pools for each in one.members if each.elected}
    able: frozenset[str] = frozenset(leader | draw(st.sets(st.sampled_from(electable))) if electable else ())
    return list(order_pools(pools)), Placement(holders, voters, able).keeping_one_of([able])


@given(
    clusters(),
    st.sampled_from(BATCHING),
    st.sampled_from([None, "1", "2", "50%"]),
    st.sampled_from([NEW, MINOR]),
    st.booleans(),
)
def test_every_batch_of_any_cluster_is_safe(
    cluster: tuple[list[Pool], Placement],
    batching: str,
    max_unavailable: str | None,
    target: Version,
    hands_over: bool,
) -> None:
    pools, placement = cluster
    cutting = Cutting(batching, max_unavailable, hands_over)
    batches = batches_of(pools, target, (), cutting, placement)
    assert faults(batches, pools, placement, max_unavailable, target, hands_over=hands_over) == []
    assert batches == batches_of(pools, target, (), cutting, placement)
    if batching == "serial":
        assert all(len(batch.members) == 1 for batch in batches)
    zones = {each.name: each.zone for one in pools for each in one.members}
    if batching == "zones":
        assert all(len(batch.members) == 1 or len({zones[name] for name in batch.members}) == 1 for batch in batches)
    machines = {each.name: each.machine for one in pools for each in one.members}
    if batching == "node":
        assert all(len(batch.members) == 1 or len({machines[name] for name in batch.members}) == 1 for batch in batches)
        broken = sum(each.version is None for one in pools for each in one.members)
        for batch in batches[broken:]:
            before = _earlier_of_the_same_machine(batch, batches[broken:], machines)
            assert bool(before) == ("; apart from " in batch.reason)


def _earlier_of_the_same_machine(batch: Batch, batches: Sequence[Batch], machines: dict[str, str]) -> list[Batch]:
    """The batches before one that have a member on a machine of it."""
    on = {machines[name] for name in batch.members} - {""}
    before = batches[: batches.index(batch)]
    return [each for each in before if on & {machines[name] for name in each.members}] if on else []


@given(
    clusters(),
    st.sampled_from(BATCHING),
    st.sampled_from([NEW, MINOR]),
    st.booleans(),
    st.integers(0, 20),
)
def test_a_canary_goes_first_and_every_batch_is_safe_nevertheless(
    cluster: tuple[list[Pool], Placement], batching: str, target: Version, hands_over: bool, number: int
) -> None:
    pools, placement = cluster
    members = [each for one in pools for each in one.members]
    canary = members[number % len(members)]
    cutting = Cutting(batching, hands_over=hands_over, canary=canary.name)
    batches = batches_of(pools, target, (), cutting, placement)
    known = {each.name: each for each in members}
    found = [*_cures_at_fault(batches, pools), *_order_at_fault(batches, known, target)]
    assert found == []
    assert sorted(name for each in batches if not each.brings_back for name in each.members) == sorted(known)
    first = next(each for each in batches if not each.brings_back)
    if canary.version is not None and not judge_canary(canary.name, pools, batches).deciding():
        assert first.members[0] == canary.name
        assert first.members[1:] == () or batching == "node"
        assert _together_at_fault([known[name] for name in first.members], placement) == []


@given(clusters(), st.sampled_from([NEW, MINOR]), st.booleans())
def test_together_never_takes_more_batches_than_one_at_a_time_or_by_zones(
    cluster: tuple[list[Pool], Placement], target: Version, hands_over: bool
) -> None:
    pools, placement = cluster
    ways = [Cutting(way, hands_over=hands_over) for way in ("disjoint", "zones", "serial")]
    counts = [len(batches_of(pools, target, (), way, placement)) for way in ways]
    assert counts == sorted(counts)


@given(clusters(), st.sampled_from(["zones", "disjoint", "node"]), st.sampled_from([NEW, MINOR]))
def test_with_a_hand_over_there_is_at_most_one_batch_less_and_never_one_more(
    cluster: tuple[list[Pool], Placement], batching: str, target: Version
) -> None:
    pools, placement = cluster
    alone, joined = (
        len(batches_of(pools, target, (), Cutting(batching, hands_over=hands_over), placement))
        for hands_over in (False, True)
    )
    assert alone - joined <= sum(one.elected for one in pools)
    assert joined <= alone


def test_the_checker_sees_what_is_wrong() -> None:
    one = pool(member("data-0"), member("data-1"), member("data-2", manages=True, elected=True))
    placement = Placement([frozenset({"data-0", "data-1"})], [frozenset({"data-0", "data-1", "data-2"})])
    wrong = [Batch("b", ("other",), ("data-0", "data-1", "data-2"), "")]
    assert len(faults(wrong, [one], placement, "2")) == 6
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


@pytest.mark.parametrize("batching", ["zones", "disjoint"])
def test_pools_of_one_zone_each_go_zone_by_zone(batching: str) -> None:
    pools = [pool(member(f"data{zone}-0", zone), member(f"data{zone}-1", zone)) for zone in "abc"]
    across = [
        frozenset({f"data{one}-{x}", f"data{other}-{y}"})
        for one, other in combinations("abc", 2)
        for x in range(2)
        for y in range(2)
    ]
    batches = batches_of(pools, NEW, (), Cutting(batching), Placement(across))
    assert names(batches) == [(f"data{zone}-1", f"data{zone}-0") for zone in "abc"]
    # A group that no other zone replaces is divided: here ingest members of a zone of their own.
    lone = [pool(*(replace(each, serves=frozenset({"ingest"})) for each in pools[0].members)), *pools[1:]]
    divided = batches_of(lone, NEW, (), Cutting(batching), Placement(across))
    assert sorted(len(batch.members) for batch in divided) == [1, 1, 2, 2]


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
    """The batches are few. The benchmark of plans measures the time that it takes to cut them."""
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
