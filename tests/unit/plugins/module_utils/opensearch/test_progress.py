"""Would waiting longer change anything?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason, State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.progress import (
    Expectation,
    fixed_by_upgrade,
    judge_overrides,
    judge_places_on_grown,
    judge_progress,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.copies import unassigned
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import (
    Explanation,
    parse_explanation,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import (
    ClusterState,
    parse_health,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    copy,
    health,
    identity,
    index_metadata,
    info,
    recorded,
)
from hypothesis import given
from hypothesis import strategies as st

DECIDERS = ["node_version", "same_shard", "awareness", "disk_threshold", "filter", "max_retry", "enable", "throttling"]
REFUSING = st.dictionaries(
    st.sampled_from(["old-1", "old-2", "new-1", "new-2"]),
    st.sets(st.sampled_from(DECIDERS), max_size=3).map(frozenset),
    max_size=4,
)
OLD = {"old-1", "old-2"}

MIXED = {"new": info("new", "3.8.0"), "old": info("old")}
STUCK = [copy("i", "new", primary=True), copy("i", None)]


def said(verdict: Verdict) -> list[tuple[str, State]]:
    return [(reason.code, reason.state) for reason in verdict.reasons]


def explained(refusing: Mapping[str, str], answer: str = "no", place: str = "i", primary: bool = False) -> Explanation:
    """An explanation in which each member refuses for the deciders written after its name."""
    named = {identity(member): frozenset(deciders.split()) for member, deciders in refusing.items()}
    return Explanation(place, 0, primary, answer, named)


def progress(state: ClusterState, explanations: Sequence[Explanation] = (), status: str = "yellow") -> Verdict:
    outdated = {member.id for member in state.members.values() if member.version.major < 3}
    return judge_progress(state, health(status), explanations, Expectation(frozenset(outdated)))


@pytest.mark.parametrize(
    ("refusing", "expected"),
    [
        ({"new": "same_shard", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        ({"new": "awareness", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        ({"new": "same_shard awareness", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        (
            {"new": "same_shard", "old": "node_version", "old-2": "node_version disk_threshold"},
            ("yellow_until_upgraded", State.PASSED),
        ),
        (
            {"new": "same_shard", "old": "node_version", "old-2": "same_shard"},
            ("yellow_until_upgraded", State.PASSED),
        ),
        ({"new": "same_shard", "old": "node_version disk_threshold"}, ("unassigned", State.REFUSED)),
        ({"new": "same_shard", "old": "node_version awareness"}, ("unassigned", State.REFUSED)),
        ({"new": "same_shard", "old": "filter"}, ("unassigned", State.REFUSED)),
        ({"new": "disk_threshold", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        ({"new": "filter", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        ({"new": "target_pool filter", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        (
            {"new": "same_shard", "old": "node_version", "old-2": "target_pool"},
            ("yellow_until_upgraded", State.PASSED),
        ),
        ({"new": "same_shard", "old": "node_version target_pool"}, ("unassigned", State.REFUSED)),
        ({"new": "node_version", "old": "node_version"}, ("unassigned", State.REFUSED)),
        ({"new": "same_shard", "old": "same_shard"}, ("unassigned", State.REFUSED)),
        ({"new": "enable", "old": "enable node_version"}, ("unassigned", State.REFUSED)),
        ({"new": "", "old": "node_version"}, ("yellow_until_upgraded", State.PASSED)),
        ({"new": "same_shard", "old": ""}, ("unassigned", State.REFUSED)),
        ({}, ("unassigned", State.REFUSED)),
        ({"new": "max_retry same_shard", "old": "max_retry node_version"}, ("allocation_failed", State.REFUSED)),
    ],
)
def test_why_a_replica_has_no_place(refusing: dict[str, str], expected: tuple[str, State]) -> None:
    state = cluster({**MIXED, "old-2": info("old-2")}, STUCK)
    assert said(progress(state, [explained(refusing)])) == [expected]


@pytest.mark.parametrize(
    ("search_only", "named", "setting"),
    [(False, "The replica of", " number_of_replicas "), (True, "The search replica of", " number_of_search_replicas ")],
)
def test_what_helps_a_replica_without_a_place_is_named_by_its_kind(search_only: bool, named: str, setting: str) -> None:
    state = cluster(MIXED, [STUCK[0], copy("i", None, search_only=search_only)])
    (reason,) = progress(state, [explained({"new": "same_shard", "old": "target_pool"})]).reasons
    assert reason.message.startswith(f"{named} i[0] fits on none of the 2 data members")
    assert setting in reason.remedy


@pytest.mark.parametrize(
    ("refusing", "growing", "expected"),
    [
        ({"new": "same_shard", "old": "disk_threshold"}, {"old"}, ("unassigned_until_grown", State.PASSED)),
        ({"new": "same_shard", "old": "disk_threshold"}, {"new"}, ("unassigned", State.REFUSED)),
        ({"new": "same_shard", "old": "disk_threshold"}, set(), ("unassigned", State.REFUSED)),
        ({"new": "same_shard", "old": "awareness disk_threshold"}, {"old"}, ("unassigned", State.REFUSED)),
        ({"new": "disk_threshold", "old": "node_version"}, {"new"}, ("yellow_until_upgraded", State.PASSED)),
    ],
)
def test_a_replica_that_only_a_full_disk_keeps_away_has_a_place_once_it_has_grown(
    refusing: dict[str, str], growing: set[str], expected: tuple[str, State]
) -> None:
    state, ids = cluster(MIXED, STUCK), frozenset(map(identity, growing))
    outdated = frozenset(each.id for each in state.members.values() if each.version.major < 3)
    expectation = Expectation(outdated, growing=ids)
    assert said(judge_progress(state, health("yellow"), [explained(refusing)], expectation)) == [expected]


def test_replicas_are_waited_for_until_the_cluster_has_seen_the_larger_disks() -> None:
    waits = [explained({"new": "same_shard", "old": "disk_threshold"}), explained({"old": "filter"}, place="other")]
    (reason,) = judge_places_on_grown(waits, frozenset({identity("old")})).reasons
    assert (reason.code, reason.state) == ("unassigned_until_grown", State.WAITING)
    assert "i[0]" in reason.message
    assert "other" not in reason.message
    assert judge_places_on_grown(waits, frozenset({identity("new")})).passed


@pytest.mark.parametrize("answer", ["yes", "throttled", "awaiting_info", "allocation_delayed", "worse_balance"])
def test_a_replica_that_is_about_to_be_allocated_is_waited_for(answer: str) -> None:
    verdict = progress(cluster(MIXED, STUCK), [explained({"new": "same_shard", "old": "node_version"}, answer)])
    assert said(verdict) == [("allocating", State.WAITING)]


@pytest.mark.parametrize(("answer", "named"), [("throttled", True), ("yes", False)])
def test_what_a_server_throttles_may_be_a_limit_of_zero(answer: str, named: bool) -> None:
    waits = progress(cluster(MIXED, STUCK), [explained({}, answer)])
    lone = [copy("i", None, primary=True)]
    red = progress(cluster(MIXED, lone), [Explanation("i", 0, True, answer, {})])
    for reason in (*waits.reasons, *red.reasons):
        assert reason.state is State.WAITING
        assert ("node_concurrent_incoming_recoveries" in reason.remedy) is named


def test_the_index_the_shard_and_the_deciders_are_named() -> None:
    verdict = progress(cluster(MIXED, STUCK), [explained({"new": "same_shard", "old": "disk_threshold filter"})])
    (reason,) = verdict.reasons
    assert "i[0]" in reason.message
    assert "disk_threshold on 1, filter on 1, same_shard on 1" in reason.message


def test_replicas_of_which_the_server_says_the_same_share_a_sentence() -> None:
    names = [f"i{number}" for number in range(520)]
    copies = [one for name in names for one in (copy(name, "new", primary=True), copy(name, None))]
    explanations = [explained({"new": "same_shard", "old": "filter"}, place=name) for name in names]
    (reason,) = progress(cluster(MIXED, copies), explanations).reasons
    assert reason.message == (
        "The replicas of i0[0], i100[0], i101[0], i102[0], i103[0] and 515 more fit on none of the 2 data members"
        " (deciders: filter on 1, same_shard on 1)."
    )
    (reason,) = progress(cluster(MIXED, copies), explanations[:1]).deciding()
    assert reason.message.startswith("The replica of i0[0] fits on none")


def test_without_an_upgrade_no_yellow_is_expected() -> None:
    explanation = explained({"new": "same_shard", "old": "node_version"})
    verdict = judge_progress(cluster(MIXED, STUCK), health("yellow"), [explanation], Expectation())
    assert said(verdict) == [("unassigned", State.REFUSED)]


@given(REFUSING)
def test_expected_yellow_by_its_definition(refusing: dict[str, frozenset[str]]) -> None:
    """One older member refuses for nothing but its version, and no newer one for its own: upgraded, it may hold it."""
    older = [set(deciders) for member, deciders in refusing.items() if member in OLD]
    newer = [set(deciders) for member, deciders in refusing.items() if member not in OLD]
    expected = {"node_version"} in older and not any("node_version" in each for each in newer)
    assert fixed_by_upgrade(Explanation("i", 0, False, "no", refusing), OLD) is expected


@given(REFUSING, st.sampled_from(["yes", "throttled", "awaiting_info", "allocation_delayed"]))
def test_what_the_server_will_allocate_is_not_left_to_the_upgrade(
    refusing: dict[str, frozenset[str]], answer: str
) -> None:
    assert not fixed_by_upgrade(Explanation("i", 0, False, answer, refusing), OLD)


@pytest.mark.parametrize(
    ("copies", "status", "changes", "expected"),
    [
        ([copy("i", "new", primary=True), copy("i", "old")], "green", {}, []),
        ([copy("i", "new", primary=True, to="old")], "green", {}, []),
        ([copy("i", "new", primary=True), copy("i", "old")], "yellow", {}, [("not_green", State.WAITING)]),
        (STUCK, "green", {}, [("unassigned", State.WAITING)]),
        (STUCK, "yellow", {}, [("unassigned", State.WAITING)]),
        (STUCK, "yellow", {"delayed": 1}, [("allocating", State.WAITING)]),
        (STUCK, "yellow", {"in_flight_fetch": 1}, [("allocating", State.WAITING)]),
        ([*STUCK, copy("j", "old", "INITIALIZING")], "yellow", {}, [("recovering", State.WAITING)]),
        ([copy("i", "old", "INITIALIZING")], "green", {}, [("recovering", State.WAITING)]),
        ([copy("i", None, primary=True)], "red", {}, [("primary_unassigned", State.WAITING)]),
    ],
)
def test_what_is_under_way(
    copies: list[Json], status: str, changes: dict[str, int], expected: list[tuple[str, State]]
) -> None:
    verdict = judge_progress(cluster(MIXED, copies), health(status, **changes), (), Expectation())
    assert said(verdict) == expected


def test_replicas_of_a_lost_primary_are_not_blamed() -> None:
    """The server says no to them on every member (replica_after_primary_active); the primary comes back first."""
    state = cluster(
        MIXED, [copy("i", None), copy("i", None, primary=True), copy("j", None), copy("j", "new", primary=True)]
    )
    assert [(one.index, one.primary) for one in unassigned(state)] == [("i", True), ("j", False)]
    explanations = [
        explained({"new": "replica_after_primary_active", "old": "replica_after_primary_active"}),
        explained({}, "no_valid_shard_copy", primary=True),
        explained({"new": "same_shard", "old": "node_version"}, place="j"),
    ]
    verdict = progress(state, explanations, "red")
    assert said(verdict) == [("primary_unassigned", State.WAITING), ("yellow_until_upgraded", State.PASSED)]
    assert "holds a valid copy" in verdict.reasons[0].message


def test_one_expected_yellow_excuses_no_other() -> None:
    state = cluster(MIXED, [*STUCK, copy("j", "new", primary=True), copy("j", None)])
    explanations = [
        explained({"new": "same_shard", "old": "node_version"}),
        explained({"new": "same_shard", "old": "filter"}, place="j"),
    ]
    verdict = progress(state, explanations)
    assert said(verdict) == [("unassigned", State.REFUSED), ("yellow_until_upgraded", State.PASSED)]
    assert verdict.state is State.REFUSED


def test_the_explanation_of_a_real_mixed_cluster() -> None:
    answers = recorded("mixed-2.19.6-3.8.0")
    state = parse_state(answers["nodes"], answers["state"])
    explanation = parse_explanation(answers["explanation"])
    a, b = state.named("a"), state.named("b")
    assert a is not None
    assert b is not None
    assert explanation.refusing == {a.id: {"node_version"}, b.id: {"same_shard"}}
    verdict = judge_progress(state, parse_health(answers["health"]), [explanation], Expectation(frozenset({a.id})))
    assert said(verdict) == [("yellow_until_upgraded", State.PASSED)]
    with pytest.raises(Unreadable, match="can_allocate is missing"):
        parse_explanation(answers["of_an_assigned_copy"])


def test_only_a_no_refuses() -> None:
    deciders = [{"decider": "throttling", "decision": "THROTTLE"}, {"decider": "filter", "decision": "NO"}]
    answer = {"index": "i", "shard": 0, "primary": False, "can_allocate": "throttled"}
    explanation = parse_explanation(
        answer | {"node_allocation_decisions": [{"node_id": "a", "deciders": deciders}, {"node_id": "b"}]}
    )
    assert explanation.refusing == {"a": {"filter"}, "b": frozenset()}


def test_a_real_cluster_that_a_member_has_just_left() -> None:
    answers = recorded("left-2.19.6")
    state = parse_state(answers["nodes"], answers["state"])
    explanation = parse_explanation(answers["explanation"])
    verdict = judge_progress(
        state, parse_health(answers["health"]), [explanation], Expectation(frozenset(state.members))
    )
    assert said(verdict) == [("allocating", State.WAITING)]


@pytest.mark.parametrize(
    ("replicas", "enable", "refused"),
    [("1", None, False), ("1", "ALL", False), ("1", "none", True), ("1", "primaries", True), ("0", "none", False)],
)
def test_an_index_may_not_keep_its_replicas_away(replicas: str, enable: str | None, refused: bool) -> None:
    allocation = {"enable": enable} if enable else {}
    settings = index_metadata(number_of_replicas=replicas, routing={"allocation": allocation})
    state = cluster(MIXED, [copy("i", "new", primary=True)], indices={"i": settings})
    assert said(judge_overrides(state)) == ([("index_allocation_disabled", State.REFUSED)] if refused else [])


LOST = (copy("i", None, primary=True), copy("i", None))
NEW_INDEX = ({**LOST[0], "unassigned_info": {"reason": "INDEX_CREATED"}},)


def lost(
    answer: str, refusing: Mapping[str, str] | None = None, copies: Sequence[Json] = LOST, **expected: Any
) -> Reason:
    """The reason for a primary that the server explains so."""
    explanation = explained(refusing or {}, answer, primary=True)
    verdict = judge_progress(cluster(MIXED, copies), health("red"), [explanation], Expectation(**expected))
    (reason,) = verdict.reasons
    assert reason.code == "primary_unassigned"
    return reason


def test_a_primary_that_deciders_keep_away_is_refused_at_once_with_their_names() -> None:
    reason = lost("no", {"new": "filter", "old": "filter disk_threshold"}, NEW_INDEX)
    assert reason.state is State.REFUSED
    assert "disk_threshold on 1, filter on 2" in reason.message
    assert "No member has ever held one" in reason.message
    assert "Bring back" not in reason.remedy
    assert "ever held" not in lost("no", {"new": "filter", "old": "filter"}).message, "it had data once"


def test_a_primary_that_failed_too_often_says_how_to_try_again() -> None:
    reason = lost("no", {"new": "max_retry", "old": "max_retry"})
    assert (reason.state, "retry_failed" in reason.remedy) == (State.REFUSED, True)


@pytest.mark.parametrize(("complete", "state"), [(True, State.REFUSED), (False, State.WAITING)])
def test_a_primary_that_nobody_holds_is_refused_where_nobody_is_expected(complete: bool, state: State) -> None:
    reason = lost("no_valid_shard_copy", complete=complete)
    assert reason.state is state
    assert "no member of the cluster holds a valid copy" in reason.message
    assert "never force" in reason.remedy


@pytest.mark.parametrize("answer", ["yes", "throttled", "awaiting_info", "allocation_delayed"])
def test_a_primary_that_is_about_to_be_allocated_is_waited_for(answer: str) -> None:
    assert lost(answer, complete=True).state is State.WAITING


@pytest.mark.parametrize("answer", ["no", "no_valid_shard_copy", "awaiting_info"])
def test_an_index_that_may_be_red_is_passed_over_by_name(answer: str) -> None:
    reason = lost(answer, {"new": "filter", "old": "filter"}, may_be_red=frozenset("i"), complete=True)
    assert reason.state is State.PASSED
    copies = [*LOST, copy("j", None, primary=True)]
    verdict = judge_progress(cluster(MIXED, copies), health("red"), (), Expectation(may_be_red=frozenset("i")))
    assert [(each.state, each.code) for each in verdict.reasons] == [
        (State.WAITING, "primary_unassigned"),
        (State.PASSED, "primary_unassigned"),
    ]


def test_a_replica_without_a_place_is_passed_over_by_name_too() -> None:
    explanation = explained({"new": "same_shard", "old": "filter"})
    expectation = Expectation(may_be_red=frozenset("i"))
    verdict = judge_progress(cluster(MIXED, STUCK), health("yellow"), [explanation], expectation)
    assert said(verdict) == [("unassigned", State.PASSED)]
