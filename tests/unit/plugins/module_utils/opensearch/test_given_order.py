"""The order of pools that a user wants, where the safe order is another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import Batch
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.given_order import (
    judge_canary,
    judge_order,
    place_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Member, Pool, order_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version


def pool(name: str, *, manager: bool = False, data: bool = True, elected: bool = False) -> Pool:
    member = Member(f"{name}-0", name, Version(2, 19, 6), manager, data, elected)
    return Pool(name, (member,), returning=("returning-0",) if name == "returning" else ())


def tier(name: str, *temperatures: str, away: bool = False) -> Pool:
    """A pool whose members have these values of the attribute `temp`."""
    version = None if away else Version(2, 19, 6)
    members = (
        Member(f"{name}-{number}", name, version, False, True, attributes=frozenset({f"temp={each}", "zone=a"}))
        for number, each in enumerate(temperatures)
    )
    return Pool(name, tuple(members))


HOT, COLD = pool("hot", manager=True), pool("cold", manager=True, elected=True)
PLAIN, MANAGERS = pool("plain"), pool("managers", manager=True, data=False)
MIXED = (pool("all/1"), pool("all/2", manager=True))


@pytest.mark.parametrize(
    ("pools", "order", "goes", "codes"),
    [
        ([HOT, COLD], ["hot", "cold"], ["hot", "cold"], []),
        ([HOT, COLD], ["cold", "hot"], ["hot", "cold"], ["order_not_kept"]),
        ([pool("returning"), PLAIN], ["plain", "returning"], ["returning", "plain"], ["order_not_kept"]),
        ([PLAIN, pool("a")], ["plain"], ["plain", "a"], []),
        ([PLAIN, pool("a")], ["*"], ["a", "plain"], []),
        ([PLAIN, HOT], ["hot", "plain"], ["plain", "hot"], ["order_unsafe"]),
        ([PLAIN, HOT], ["hot"], ["plain", "hot"], []),
        ([MANAGERS, HOT], ["managers", "hot"], ["hot", "managers"], ["order_unsafe"]),
        # The hosts of one group may be of several kinds, which keep their order.
        ([*MIXED, PLAIN], ["all", "plain"], ["all/1", "plain", "all/2"], []),
        ([PLAIN], ["plain", "plain"], ["plain"], ["order_of_unknown_pool"]),
        ([tier("a", "hot", "hot"), tier("b", "cold")], ["temp=cold", "a"], ["b", "a"], []),
        ([tier("a", "hot"), tier("b", "warm")], ["temp=w*", "temp=*"], ["b", "a"], []),
        ([tier("a", "hot", "cold"), PLAIN], ["temp=cold", "plain"], ["plain", "a"], ["order_of_unknown_pool"]),
        ([tier("a", "cold", away=True), PLAIN], ["temp=cold", "plain"], ["plain", "a"], []),
        ([tier("a", "hot"), PLAIN], ["*"], ["a", "plain"], []),
    ],
)
def test_the_order_of_the_kinds_and_the_elected_manager_come_first(
    pools: Sequence[Pool], order: list[str], goes: list[str], codes: list[str]
) -> None:
    ordered = order_pools(pools, lambda each: place_of(each, order))
    assert [each.name for each in ordered] == goes
    assert [reason.code for reason in judge_order(order, ordered, "serial").reasons] == codes


@pytest.mark.parametrize(
    ("canary", "pools", "codes"),
    [
        ("", [PLAIN], []),
        ("plain-0", [PLAIN], []),
        ("temp=hot", [tier("a", "hot")], []),
        ("temp=cold", [tier("a", "hot")], ["canary_unknown"]),
        ("temp=cold", [tier("a", "hot", away=True)], []),
        ("plain", [PLAIN], ["canary_unknown"]),
        ("plain-0", [replace(PLAIN, by_partition=True)], ["canary_by_partition"]),
    ],
)
def test_a_canary_is_a_member_that_can_go_first(canary: str, pools: Sequence[Pool], codes: list[str]) -> None:
    assert [reason.code for reason in judge_canary(canary, pools, ()).reasons] == codes


def test_a_canary_that_has_to_wait_is_refused() -> None:
    batches = [Batch(name, ("plain",), (f"{name}-0",), "") for name in ("other", "plain")]
    assert [reason.code for reason in judge_canary("plain-0", [PLAIN], batches).reasons] == ["canary_goes_last"]
    assert judge_canary("plain-0", [PLAIN], batches[1:]).passed
