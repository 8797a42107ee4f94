"""The benchmark of Longhorn: its made-up objects are read as a Longhorn at rest, and calls do not grow with a run."""

from __future__ import annotations

from tests.benchmarks.longhorn import calls, measure


def test_the_plan_takes_every_node_and_finds_nothing_in_its_way() -> None:
    cost = measure(12, 100)
    assert (cost.turns, cost.blockers) == (12, 0)


def test_the_calls_of_a_node_do_not_grow_with_the_nodes_done() -> None:
    found = calls(8)
    assert len(found) == 8
    assert max(found[1:]) <= found[0], found
