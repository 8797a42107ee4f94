"""Batches of units of any system: with voters, and without."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import (
    Placement,
    disjoint,
    keeps_majority,
    may_join,
)


@dataclass(frozen=True)
class Engine:
    """A unit of a system without voters, such as a storage engine."""

    name: str
    group: str = "engines"


UNITS = [Engine(name) for name in "abcd"]
PAIRS = [frozenset("ab"), frozenset("cd")]


@pytest.mark.parametrize(
    ("voters", "going", "kept"),
    [
        ([], "abcd", True),
        ([frozenset("abc")], "a", True),
        ([frozenset("abc")], "ab", False),
        ([frozenset("abc")], "d", True),
        ([frozenset("abc"), frozenset("ab")], "a", False),
        ([frozenset("ab")], "a", False),
    ],
)
def test_every_set_of_voters_keeps_its_majority(voters: list[frozenset[str]], going: str, kept: bool) -> None:
    assert keeps_majority(frozenset(going), Placement(voters=voters)) is kept


def test_a_system_without_voters_is_cut_by_its_copies_alone() -> None:
    placement = Placement(PAIRS)
    assert [[one.name for one in batch] for batch in disjoint(UNITS, {"engines": None}, placement)] == [
        ["a", "c"],
        ["b", "d"],
    ]
    assert may_join(UNITS[2], UNITS[:1], {"engines": None}, placement)
    assert not may_join(UNITS[1], UNITS[:1], {"engines": None}, placement)
    assert not may_join(UNITS[2], UNITS[:1], {"engines": 1}, placement)


def test_with_voters_no_batch_takes_the_majority_of_them() -> None:
    batches = disjoint(UNITS, {"engines": None}, Placement(PAIRS, [frozenset("abc")]))
    assert all(len({one.name for one in batch} & {*"abc"}) <= 1 for batch in batches)
    assert sorted(one.name for batch in batches for one in batch) == [*"abcd"]


def test_by_places_a_set_keeps_one_of_its_places_and_two_systems_keep_theirs() -> None:
    search = Placement([frozenset("ab"), frozenset("bc")], [frozenset("abc")], labels=["shard 0", "shard 1"])
    found = search.at({"a": "n1", "b": "n2", "c": "n1"})
    assert found.holders == [frozenset({"n1", "n2"})] * 2
    assert found.voters == [frozenset({"n1", "n2"})]
    both = Placement([frozenset({"n1", "n3"})]).and_of(found)
    assert [both.words_for(place) for place in range(3)] == ["what only n1, n3 have", "shard 0", "shard 1"]
    assert not keeps_majority({"n1"}, both)
    assert may_join(Engine("n2"), [Engine("n3")], {"engines": None}, Placement(both.holders))
    assert not may_join(Engine("n1"), [Engine("n3")], {"engines": None}, Placement(both.holders))
