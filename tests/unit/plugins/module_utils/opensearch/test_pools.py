"""The order of pools and members, and the batches cut from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import (
    Batch,
    Cutting,
    batches_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import (
    Member,
    Pool,
    PoolKind,
    digest_of,
    order_members,
    order_pools,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement
from hypothesis import given
from hypothesis import strategies as st

OLD, NEW = Version(2, 19, 6), Version(3, 8, 0)


def serial(pools: Iterable[Pool], target: Version, only: Collection[str] = ()) -> tuple[Batch, ...]:
    return batches_of(pools, target, only, Cutting(), Placement())


def pool(name: str, members: Sequence[Member] | int, data: bool = True, manager: bool = False) -> Pool:
    """A pool of old members, or of the members given."""
    if isinstance(members, int):
        members = [Member(f"{name}-{ordinal}", name, OLD, manager, data) for ordinal in range(members)]
    return Pool(name, tuple(members), "server", "opensearch:2.19.6", "opensearch:3.8.0", "OnDelete")


@st.composite
def clusters(draw: st.DrawFn) -> list[Pool]:
    """Up to five pools of one to five members in some order: old, new and broken ones, at most one elected."""
    pools = []
    for number in range(draw(st.integers(1, 5))):
        data, manager = draw(st.booleans()), draw(st.booleans())
        versions = draw(st.lists(st.sampled_from([OLD, NEW, None]), min_size=1, max_size=5))
        name = f"pool-{number}"
        members = [Member(f"{name}-{i}", name, version, manager, data) for i, version in enumerate(versions)]
        pools.append(pool(name, draw(st.permutations(members))))
    candidates = [m for each in pools for m in each.members if m.manager_eligible and m.version is not None]
    if candidates:
        elected = draw(st.sampled_from(candidates)).name
        pools = [pool(each.name, [_crowned(member, elected) for member in each.members]) for each in pools]
    return draw(st.permutations(pools))


def _crowned(member: Member, elected: str) -> Member:
    return Member(
        member.name,
        member.pool,
        member.version,
        member.manager_eligible,
        member.holds_data,
        elected=member.name == elected,
    )


@pytest.mark.parametrize(
    ("data", "manager", "kind"),
    [
        (True, False, PoolKind.DATA),
        (True, True, PoolKind.DATA_AND_MANAGER),
        (False, False, PoolKind.OTHER),
        (False, True, PoolKind.MANAGER),
    ],
)
def test_what_a_pool_is_for(data: bool, manager: bool, kind: PoolKind) -> None:
    assert pool("a", 2, data, manager).kind is kind


def test_data_then_data_with_manager_then_the_rest_with_managers_last() -> None:
    pools = [
        pool("a-managers", 3, data=False, manager=True),
        pool("b-coordinating", 1, data=False),
        pool("c-combined", 3, manager=True),
        pool("d-data", 3),
        pool("e-data", 3),
    ]
    assert [each.name for each in order_pools(pools)] == [
        "d-data",
        "e-data",
        "c-combined",
        "b-coordinating",
        "a-managers",
    ]


def test_of_the_same_kind_the_pool_with_the_elected_manager_is_last() -> None:
    elected = Member("a-0", "a", OLD, manager_eligible=True, holds_data=False, elected=True)
    pools = [pool("a", [elected], False, True), pool("b", 1, False, True)]
    assert [each.name for each in order_pools(pools)] == ["b", "a"]


def test_members_go_broken_first_then_from_the_highest_ordinal_with_the_elected_last() -> None:
    members = [Member(f"a-{ordinal}", "a", OLD, True, True) for ordinal in (0, 2, 9)]
    elected = Member("a-10", "a", OLD, True, True, elected=True)
    broken = [Member(f"a-{ordinal}", "a", None, True, True) for ordinal in (1, 11)]
    named = Member("solo", "a", OLD, True, True)
    ordered = order_members(pool("a", [named, *members, elected, *broken]))
    assert [member.name for member in ordered] == ["a-11", "a-1", "a-9", "a-2", "a-0", "solo", "a-10"]


def test_broken_members_of_an_ordered_pool_go_from_the_lowest_ordinal() -> None:
    """Until the lower one is Ready, its controller does not make the higher one."""
    there = [Member(f"a-{ordinal}", "a", OLD, True, True) for ordinal in (0, 3)]
    broken = [Member(f"a-{ordinal}", "a", None, True, True) for ordinal in (2, 1)]
    ordered = replace(pool("a", [*there, *broken]), in_order=True)
    assert [member.name for member in order_members(ordered)] == ["a-1", "a-2", "a-3", "a-0"]


def test_a_member_whose_pod_is_not_ready_goes_before_the_others_of_its_pool() -> None:
    """Nothing else of the pool goes while it is not Ready, so that it would be waited for in vain."""
    data, managers = pool("a", 3).members, pool("m", 3, data=False, manager=True).members
    unready = replace(data[0], ready=False), replace(managers[1], ready=False, elected=True)
    away = replace(data[1], version=None)
    pools = pool("a", [unready[0], away, data[2]]), pool("m", [managers[0], unready[1], managers[2]])
    assert [member.name for member in order_members(pools[0])] == ["a-1", "a-0", "a-2"]
    assert [batch.members[0] for batch in serial(pools, NEW)] == ["a-1", "a-0", "a-2", "m-1", "m-2", "m-0"]
    reasons = {batch.members[0]: batch.reason for batch in serial(pools, NEW)}
    assert reasons["a-0"] == "data without manager; its pod is not Ready, so it goes before the others of its pool"
    assert reasons["a-2"] == "data without manager"
    # A partition lets no other order through.
    by_partition = replace(pools[0], by_partition=True)
    assert [member.name for member in order_members(by_partition)] == ["a-2", "a-1", "a-0"]


@pytest.mark.parametrize("batching", ["zones", "disjoint"])
def test_a_member_whose_pod_is_not_ready_shares_no_batch_and_goes_first(batching: str) -> None:
    data, managers = pool("a", 3).members, pool("m", 3, data=False, manager=True).members
    pools = (
        pool("a", [replace(data[0], ready=False), *data[1:]]),
        pool("m", [replace(managers[0], elected=True), replace(managers[1], ready=False), managers[2]], False, True),
    )
    batches = batches_of(pools, NEW, (), Cutting(batching), Placement())
    assert [batch.members for batch in batches[:2]] == [("a-0",), ("m-1",)]
    assert sorted(name for batch in batches for name in batch.members) == [f"{p}-{n}" for p in "am" for n in range(3)]


@given(clusters())
def test_every_member_that_is_not_on_the_target_goes_once_and_no_other(pools: list[Pool]) -> None:
    batches = serial(order_pools(pools), NEW)
    going = sorted((*batch.pools, *batch.members) for batch in batches)
    assert going == sorted((m.pool, m.name) for each in pools for m in each.members if m.version != NEW)
    assert len({batch.name for batch in batches}) == len(batches)
    assert all(f".{batch.members[0]}" in batch.name and batch.reason for batch in batches)


@given(clusters())
def test_nothing_is_taken_down_before_all_that_is_broken_is_cured(pools: list[Pool]) -> None:
    members = {member.name: member for each in pools for member in each.members}
    broken = [members[name].version is None for batch in serial(order_pools(pools), NEW) for name in batch.members]
    assert broken == sorted(broken, reverse=True)


@given(clusters())
def test_what_runs_goes_in_the_order_of_the_kinds_with_the_elected_last_of_its_kind(pools: list[Pool]) -> None:
    by_name = {each.name: each for each in pools}
    members = {member.name: member for each in pools for member in each.members}
    # Between minor versions: on a major upgrade the last manager-eligible member may have to wait.
    going = [members[batch.members[0]] for batch in serial(order_pools(pools), Version(2, 19, 7))]
    running = [member for member in going if member.version is not None]
    kinds = [by_name[member.pool].kind.position for member in running]
    assert kinds == sorted(kinds)
    for member, follower in pairwise(running):
        if member.elected:
            assert by_name[member.pool].kind is not by_name[follower.pool].kind
        elif member.pool == follower.pool and not follower.elected:
            assert member.ordinal > follower.ordinal


@given(clusters())
def test_the_order_of_the_pools_given_does_not_matter(pools: list[Pool]) -> None:
    assert order_pools(pools) == order_pools(reversed(pools))


def test_a_narrowed_run_takes_those_named_only() -> None:
    pools = [pool("a", 3), pool("b", 2)]
    assert [batch.members for batch in serial(pools, NEW, ["b-1", "a-0"])] == [("a-0",), ("b-1",)]
    assert serial(pools, OLD, ["b-1"]) == ()


def test_the_digest_changes_with_everything_that_is_consented_to() -> None:
    pools = (pool("a", 3), pool("b", 2))
    members = pools[0].members
    other_image = Pool("a", members, "server", "opensearch:2.19.6", "mirror/opensearch:3.8.0", "OnDelete")
    other_container = Pool("a", members, "other", "opensearch:2.19.6", "opensearch:3.8.0", "OnDelete")
    fewer = Pool("a", members[1:], "server", "opensearch:2.19.6", "opensearch:3.8.0", "OnDelete")
    digests = [
        digest_of("uuid", NEW, pools, (), ()),
        digest_of("other", NEW, pools, (), ()),
        digest_of("uuid", Version(3, 8, 1), pools, (), ()),
        digest_of("uuid", NEW, (other_image, pools[1]), (), ()),
        digest_of("uuid", NEW, (other_container, pools[1]), (), ()),
        digest_of("uuid", NEW, (fewer, pools[1]), (), ()),
        digest_of("uuid", NEW, (replace(pools[0], template="other"), pools[1]), (), ()),
        digest_of("uuid", NEW, pools[:1], (), ()),
        digest_of("uuid", NEW, pools, ("a-1",), ()),
        digest_of("uuid", NEW, pools, (), ("allow_quorum_loss",)),
    ]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 12 and digest[0] == "p" and int(digest[1:], 16) >= 0 for digest in digests)


def test_the_digest_stays_the_same_while_the_plan_is_carried_out() -> None:
    before = (pool("a", 3), pool("b", 2))
    half = (replace(before[0], members=tuple(replace(each, version=NEW) for each in before[0].members)), before[1])
    assert digest_of("uuid", NEW, before, (), ()) == digest_of("uuid", NEW, half[::-1], (), ())
