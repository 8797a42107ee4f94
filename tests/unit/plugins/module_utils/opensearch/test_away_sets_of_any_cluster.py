"""The sets of places that decide for all that may be away at once, against a list of all, in random clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.away import deciding_sets
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_batch
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.unit.plugins.module_utils.opensearch.answers import cluster, coordination, info
from tests.unit.plugins.module_utils.opensearch.test_safety_of_any_cluster import Case, cases
from tests.unit.plugins.module_utils.run.test_away_sets import away_sets, listed

PLACES = ("a", "b", "c", "d", "e")
SEVERITY = (State.PASSED, State.WAITING, State.REFUSED)


def worst_of(state: ClusterState, policy: Policy, places: Mapping[str, str], sets: Iterable[Iterable[str]]) -> State:
    """The most severe verdict on the members in each of these sets of places."""
    found = [State.PASSED]
    for nodes in sets:
        names = [name for name, place in places.items() if place in {*nodes}]
        found.append(judge_batch(state, names, policy).state)
    return max(found, key=SEVERITY.index)


@settings(max_examples=400)
@given(cases(), st.lists(st.sampled_from(PLACES), min_size=7, max_size=7), away_sets(PLACES))
def test_the_sets_that_decide_are_as_severe_as_all_sets(case: Case, drawn: list[str], away: AwaySets) -> None:
    state, policy = case.state, case.policy
    names = sorted(each.name for each in state.members.values())
    places = dict(zip(names, drawn, strict=False))
    found = [*deciding_sets(state, places, away)]
    assert all(any({*each} <= whole for whole in listed(away)) for each in found)
    said = worst_of(state, policy, places, found or [()])
    event(said.value)
    assert said == worst_of(state, policy, places, listed(away))


@pytest.mark.parametrize(
    "parts",
    [[("ab", 2), ("c", 1)], [("a", 1), ("b", 1), ("c", 1)], [("a", 1), ("c", 1)]],
)
def test_the_elected_manager_is_judged_with_another_whatever_goes_first(parts: list[tuple[str, int]]) -> None:
    voters = dict.fromkeys(("v1", "v2", "v3"), ("cluster_manager",))
    members = {name: info(name, roles=roles) for name, roles in {"d1": ("data",), "d2": ("data",), **voters}.items()}
    state = cluster(members, [], voting=coordination([*voters]), elected="v1")
    places = {"d1": "a", "d2": "b", "v1": "c", "v2": "x", "v3": "y"}
    away = AwaySets([[Part(frozenset(names), at_once) for names, at_once in parts]])
    sets = [*deciding_sets(state, places, away)]
    assert worst_of(state, Policy(), places, sets) == worst_of(state, Policy(), places, listed(away)) == State.REFUSED
