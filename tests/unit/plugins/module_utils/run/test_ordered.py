"""The order of a system, from its units, its pools and its batches."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Turn, in_turns
from ansible_collections.stateful.upgrade.plugins.module_utils.run.ordered import Whole, ordered

HOUSE = Whole("house-1", {"attic": ["1", "2"], "cellar": ["3"]}, {"1": "led", "2": "coil", "3": "coil"})


def test_an_order_has_its_batches_with_their_pools_and_the_versions() -> None:
    found = ordered(HOUSE, "led", [Turn(["2", "3"], "next", "one stays")], left=["1"])
    assert found.more["batches"] == [
        {
            "name": "batch-01",
            "pools": ["attic", "cellar"],
            "members": ["2", "3"],
            "cures": False,
            "reason": "next",
            "proof": "one stays",
        }
    ]
    assert (found.before, found.next, found.more["left"]) == (HOUSE.versions, "begin", ["1"])
    assert (found.more["members"], found.more["deployed_version"]) == (["1", "2", "3"], "coil")
    assert found.more["pools"] == [{"name": "attic", "members": ["1", "2"]}, {"name": "cellar", "members": ["3"]}]
    assert ordered(HOUSE, "led", []).next == "nothing"


def test_a_consent_holds_while_the_order_is_carried_out_and_for_no_other_target() -> None:
    before, after = HOUSE, Whole("house-1", HOUSE.pools, dict.fromkeys("123", "led"))
    agreed = ordered(before, "led", [Turn(["2"], "next", "one stays")]).more["digest"]
    assert ordered(after, "led", []).more["digest"] == agreed
    assert ordered(before, "neon", []).more["digest"] != agreed
    assert ordered(Whole("house-2", HOUSE.pools, HOUSE.versions), "led", []).more["digest"] != agreed


def test_every_set_of_more_than_one_keeps_a_unit_outside_of_each_batch() -> None:
    sets = [["1", "2"], ["3"], ["2", "4"]]
    turns = in_turns(["1", "2", "3", "4"], sets, "next", "one stays")
    assert sorted(name for each in turns for name in each.members) == ["1", "2", "3", "4"]
    assert len(turns) == 2
    for turn in turns:
        assert all({*each} - {*turn.members} for each in sets if len(each) > 1), turn
