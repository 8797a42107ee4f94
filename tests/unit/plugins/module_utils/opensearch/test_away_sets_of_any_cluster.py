"""The sets of places that decide for all that may be away at once, against a list of all, in random clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.away import deciding_sets
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_batch
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets
from hypothesis import event, given, settings
from hypothesis import strategies as st

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
