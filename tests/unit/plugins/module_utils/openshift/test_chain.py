"""Chains of versions: the fewest upgrades, the newest versions, and risks only where nothing else leads there."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise

from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.chain import Hop, chain_of, chain_text
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import UpdateRisk
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.update_graph import Edge, UpdateGraph

RISK = (UpdateRisk("SlowPods", "", ""),)


def graph(channel: str, *edges: Edge, risky: Iterable[Edge] = ()) -> UpdateGraph:
    return UpdateGraph(channel, {}, frozenset(edges), dict.fromkeys(risky, RISK))


def chain(present: str, target: str, *graphs: UpdateGraph) -> list[str]:
    return [str(each) for each in chain_of(Release.parse(present), Release.parse(target), graphs)]


MIDDLE = graph("stable-4.19", ("4.18.1", "4.19.0"), ("4.18.1", "4.19.9"), ("4.18.1", "4.18.5"), ("4.18.5", "4.19.10"))
LAST = graph("stable-4.20", ("4.19.0", "4.20.2"), ("4.19.9", "4.20.2"), ("4.19.10", "4.20.2"), ("4.20.2", "4.20.1"))


def test_the_shortest_chain_takes_the_newest_versions() -> None:
    assert chain("4.18.1", "4.20.2", LAST, MIDDLE) == ["4.19.9 in stable-4.19", "4.20.2 in stable-4.20"]


def test_a_version_of_the_same_minor_may_have_to_come_first() -> None:
    first = graph("stable-4.18", ("4.18.0", "4.18.1"))
    expected = ["4.18.1 in stable-4.18", "4.19.9 in stable-4.19", "4.20.2 in stable-4.20"]
    assert chain("4.18.0", "4.20.2", first, MIDDLE, LAST) == expected


def test_risks_are_in_it_only_if_nothing_else_leads_there() -> None:
    short = graph("stable-4.19", risky=[("4.18.5", "4.19.0")])
    assert chain("4.18.5", "4.20.2", MIDDLE, short, LAST) == ["4.19.10 in stable-4.19", "4.20.2 in stable-4.20"]
    expected = ["4.19.0 in stable-4.19 (with risk SlowPods)", "4.20.2 in stable-4.20"]
    assert chain("4.18.5", "4.20.2", short, LAST) == expected


def test_a_channel_of_two_minors_is_set_once() -> None:
    both = graph("eus-4.20", ("4.18.1", "4.19.3"), ("4.19.3", "4.20.2"))
    empty = graph("eus-4.19")
    assert chain("4.18.1", "4.20.2", empty, both) == ["4.19.3 in eus-4.20", "4.20.2 in eus-4.20"]


def test_without_a_chain_nothing_is_said() -> None:
    assert chain("4.18.1", "4.20.9", MIDDLE, LAST) == []
    assert chain("4.18.1", "4.20.2") == []
    assert chain("4.18.1", "4.20.2", graph("stable-4.20", ("nightly", "4.20.2"))) == []
    assert chain_text(Release(4, 18, 1), Release(4, 20, 2), []) == ""


def test_the_text_names_the_versions_on_the_way_as_the_option_has_them() -> None:
    hops = [Hop("4.18.5", "stable-4.18"), Hop("4.19.9", "stable-4.19"), Hop("4.20.2", "stable-4.20")]
    way = "so that one run makes the upgrades 4.18.1 → 4.18.5 in stable-4.18 → 4.19.9 in stable-4.19 → 4.20.2 in"
    asked = Release(4, 18, 1), Release(4, 20, 2), hops
    assert chain_text(*asked) == f"Set upgrade_through=4.18.5,4.19.9, {way} stable-4.20."
    assert chain_text(*asked, added=True) == f"Add 4.18.5,4.19.9 to upgrade_through, before 4.20.2, {way} stable-4.20."


def test_each_chain_of_random_graphs_is_one_and_the_shortest() -> None:
    """A checker of its own: the versions that so many hops reach, found by going forward."""
    versions = [f"4.{minor}.{patch}" for minor in (18, 19, 20) for patch in range(4)]
    for seed in range(300):
        rng = random.Random(seed)  # noqa: S311 - no secret
        edges = [(one, other) for one in versions for other in versions if rng.random() < 0.12]
        cut = rng.randrange(len(edges) + 1)
        graphs = [graph("stable-4.19", *edges[:cut]), graph("stable-4.20", *edges[cut:])]
        found = chain_of(Release.parse("4.18.0"), Release.parse("4.20.3"), graphs)
        upward = {(one, other) for one, other in edges if versions.index(one) < versions.index(other)}
        reached, hops = {"4.18.0"}, 0
        while "4.20.3" not in reached and hops < len(versions):
            reached, hops = {other for one, other in upward if one in reached}, hops + 1
        path = ["4.18.0", *(each.version for each in found)]
        assert {*pairwise(path)} <= upward
        assert len(found) == (hops if "4.20.3" in reached else 0)
