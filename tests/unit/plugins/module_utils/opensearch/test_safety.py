"""May the batch go down? Cases by hand; the rules against random clusters are in test_safety_of_any_cluster."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.index_names import EVERY
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.quorum import judge_voting, successors
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import (
    judge_batch,
    judge_blocks,
    judge_consent,
    judge_present,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    NO_NEW_INDEX,
    READ_ONLY,
    RECOVERING,
    Json,
    cluster,
    coordination,
    copy,
    identity,
    index_metadata,
    info,
    state_answer,
)

STRICT = Policy()
ALL_ALLOWED = Policy(allow_single_copy=EVERY, allow_quorum_loss=True)
DATA = ("data",)


def said(verdict: Verdict) -> list[tuple[str, State]]:
    return [(reason.code, reason.state) for reason in verdict.reasons]


def data_members(*names: str) -> dict[str, Json]:
    """A dedicated manager `m`, elected, and data members that do not vote."""
    return {"m": info("m", roles=["cluster_manager"]), **{name: info(name, roles=DATA) for name in names}}


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ([copy("i", "a", primary=True), copy("i", "b")], []),
        ([copy("i", "b", primary=True), copy("i", "a")], []),
        ([copy("i", "b", primary=True), copy("i", "c")], []),
        ([copy("i", "a", primary=True), copy("i", None)], [("last_started_copy", State.WAITING)]),
        (
            [copy("i", "a", primary=True), copy("i", "b", "INITIALIZING")],
            [("last_started_copy", State.WAITING), ("recovery_running", State.WAITING)],
        ),
        ([copy("i", "a", primary=True), copy("i", None), copy("i", "b")], []),
        ([copy("i", "a", primary=True)], [("single_copy", State.REFUSED)]),
        ([copy("i", None, primary=True)], []),
        (
            [copy("i", "a", primary=True, to="b")],
            [("last_started_copy", State.WAITING), ("recovery_running", State.WAITING)],
        ),
        ([copy("i", "b", primary=True, to="a")], [("recovery_running", State.WAITING)]),
    ],
    ids=str,
)
def test_every_shard_keeps_a_started_copy_outside(copies: list[Json], expected: list[tuple[str, State]]) -> None:
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"))
    assert said(judge_batch(state, ["a"], STRICT)) == expected


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ([copy("i", "b", search_only=True), copy("i", "c", primary=True)], []),
        ([copy("i", "a", search_only=True), copy("i", "c", primary=True)], [("single_copy", State.REFUSED)]),
        ([copy("i", "a", search_only=True), copy("i", "b", search_only=True), copy("i", "c", primary=True)], []),
        (
            [copy("i", "a", search_only=True), copy("i", None, search_only=True), copy("i", "c", primary=True)],
            [("last_started_copy", State.WAITING)],
        ),
        ([copy("i", "a", primary=True), copy("i", "b", search_only=True)], [("single_copy", State.REFUSED)]),
        ([copy("i", "a", search_only=True), copy("i", "b", search_only=True)], []),
        (
            [copy("i", "b", "INITIALIZING", search_only=True), copy("i", "a", search_only=True)],
            [("last_started_copy", State.WAITING)],
        ),
    ],
    ids=str,
)
def test_copies_for_search_stand_in_for_one_another_only(copies: list[Json], expected: list[tuple[str, State]]) -> None:
    """In search-only mode an index has no primary at all (the last two)."""
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"))
    assert said(judge_batch(state, ["a"], STRICT)) == expected


def test_all_copies_in_one_batch_is_no_matter_of_time() -> None:
    copies = [copy("i", "a", primary=True), copy("i", "b"), copy("j", "b", primary=True), copy("j", "c")]
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"))
    verdict = judge_batch(state, ["a", "b"], ALL_ALLOWED)
    assert said(verdict) == [("every_copy_in_batch", State.REFUSED)]
    assert verdict.reasons[0].message == "Every copy of i[0] is in the batch a, b."


def test_a_move_within_the_batch_saves_no_copy() -> None:
    state = cluster(data_members("a", "b"), [copy("i", "a", primary=True, to="b")], voting=coordination("m"))
    assert said(judge_batch(state, ["a", "b"], STRICT)) == [
        ("single_copy", State.REFUSED),
        ("recovery_running", State.WAITING),
    ]


def test_single_copies_go_down_with_consent() -> None:
    state = cluster(data_members("a", "b"), [copy("i", "a", primary=True)], voting=coordination("m"))
    verdict = judge_batch(state, ["a"], Policy(allow_single_copy=EVERY))
    assert said(verdict) == [("single_copy", State.PASSED)]
    assert "as allowed" in verdict.reasons[0].message


def test_single_copies_of_other_indices_than_the_named_ones_stay_up() -> None:
    copies = [copy("i", "a", primary=True), copy("j", "a", primary=True)]
    state = cluster(data_members("a", "b"), copies, voting=coordination("m"))
    for verdict in (
        judge_batch(state, ["a"], Policy(allow_single_copy=frozenset({"i"}))),
        judge_consent(state, ["a"], Policy(allow_single_copy=frozenset({"i"}))),
    ):
        assert said(verdict) == [("single_copy", State.PASSED), ("single_copy", State.REFUSED)]
        allowed, refused = (reason.message for reason in verdict.reasons)
        assert allowed == "The only configured copy of i[0] is on a. It is away while that member restarts, as allowed."
        assert refused == "The only configured copy of j[0] is on a."


@pytest.mark.parametrize(
    ("copies", "batch"),
    [
        ([copy("i", "a", primary=True), copy("i", "b"), copy("i", "c", "INITIALIZING")], "a"),
        ([copy("i", "b", primary=True), copy("i", "a"), copy("i", "c", "INITIALIZING")], "c"),
        ([copy("i", "a", primary=True), copy("i", "b", to="c")], "a"),
        ([copy("i", "a", primary=True), copy("i", "b", to="c")], "b"),
        ([copy("i", "a", primary=True), copy("i", "b", to="c")], "c"),
        ([copy("i", "b", primary=True, to="a"), copy("i", "c")], "a"),
    ],
    ids=str,
)
def test_source_and_target_of_a_recovery_stay(copies: list[Json], batch: str) -> None:
    """The source of a replica that is built or moved is its primary, wherever the replica is."""
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"))
    assert ("recovery_running", State.WAITING) in said(judge_batch(state, [batch], STRICT))


def test_recoveries_elsewhere_are_no_matter() -> None:
    copies = [copy("i", "b", primary=True), copy("i", "c", "INITIALIZING"), copy("j", "c", primary=True, to="b")]
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"))
    assert judge_batch(state, ["a"], STRICT) == Verdict()


@pytest.mark.parametrize(
    ("present", "committed", "accepted", "batch", "policy", "expected"),
    [
        ("abc", "abc", "abc", "b", STRICT, None),
        ("abcde", "abcde", "abcde", "bc", STRICT, None),
        ("abcde", "abcde", "abc", "bc", STRICT, State.REFUSED),
        ("abcde", "abc", "abcde", "bc", STRICT, State.REFUSED),
        ("abcd", "abc", "abc", "d", STRICT, None),
        ("ab", "a", "a", "b", STRICT, None),
        ("ab", "a", "a", "a", STRICT, State.REFUSED),
        ("a", "a", "a", "a", STRICT, State.REFUSED),
        ("a", "a", "a", "a", Policy(allow_quorum_loss=True), State.PASSED),
        ("ab", "ab", "ab", "b", STRICT, State.REFUSED),
        ("ab", "ab", "ab", "b", Policy(allow_quorum_loss=True), State.PASSED),
        ("ab", "abc", "abc", "b", STRICT, State.WAITING),
        ("ab", "abc", "abc", "b", ALL_ALLOWED, State.WAITING),
        ("ab", "abcd", "abcd", "b", STRICT, State.WAITING),
        ("abc", "abcd", "abcd", "bc", STRICT, State.REFUSED),
        ("abcd", "abcd", "abcd", "bc", STRICT, State.REFUSED),
    ],
)
def test_a_majority_of_both_configurations_stays(
    present: str, committed: str, accepted: str, batch: str, policy: Policy, expected: State | None
) -> None:
    state = cluster(present, elected=present[0], voting=coordination(committed, accepted))
    verdict = judge_batch(state, batch, policy)
    states = {reason.state for reason in verdict.reasons if reason.code == "no_majority"}
    assert states == ({expected} if expected else set())


def test_configurations_that_differ_are_told_apart() -> None:
    verdict = judge_batch(cluster("abc", voting=coordination("ab", "bc")), "b", STRICT)
    assert [reason.message for reason in verdict.reasons] == [
        "Without b only 1 of the 2 members of the committed voting configuration are left, which is no majority.",
        "Without b only 1 of the 2 members of the accepted voting configuration are left, which is no majority.",
    ]


def test_exclusions_left_behind_are_refused() -> None:
    state = cluster("abc", voting=coordination("abc", exclusions=["gone"]))
    verdict = judge_batch(state, ["b"], ALL_ALLOWED)
    assert said(verdict) == [("voting_exclusions", State.REFUSED)]
    assert "gone" in verdict.reasons[0].message


@pytest.mark.parametrize(
    ("elected", "batch", "expected"),
    [
        ("a", ["a"], []),
        ("a", ["a", "d"], [("elected_manager_not_alone", State.REFUSED)]),
        ("a", ["a", "not-there"], []),
        ("b", ["a"], []),
        (None, ["a"], [("no_elected_manager", State.WAITING)]),
        ("gone", ["a"], [("no_elected_manager", State.WAITING)]),
    ],
)
def test_the_elected_manager_goes_alone(
    elected: str | None, batch: Iterable[str], expected: list[tuple[str, State]]
) -> None:
    state = cluster("abcd", elected=elected, voting=coordination("abc"))
    assert said(judge_batch(state, list(batch), STRICT)) == expected


HANDS_OVER = Policy(hands_over=True)
REMARK, REFUSED = ("elected_manager_hands_over", State.PASSED), ("elected_manager_not_alone", State.REFUSED)
WAITS = ("elected_manager_not_alone", State.WAITING)


@pytest.mark.parametrize(
    ("present", "committed", "accepted", "batch", "expected", "heirs"),
    [
        ("abcd", "abc", "abc", "ad", [REMARK], "bc"),
        ("abcd", "abc", "abc", "a", [], "bc"),
        ("abcd", "abc", "abc", "bd", [], ""),
        # Two of three voters, or of what is accepted: no one could be elected.
        ("abcd", "abc", "abc", "ab", [("no_majority", State.REFUSED), REFUSED], ""),
        ("abcd", "abcd", "abc", "abd", [("no_majority", State.REFUSED)] * 2 + [REFUSED], ""),
        ("abcde", "abcde", "abcde", "ab", [REMARK], "cde"),
        ("abd", "abc", "abc", "ad", [("no_majority", State.WAITING), WAITS], ""),
        ("abd", "a", "a", "ad", [("only_voter_hands_over", State.PASSED), REMARK], "b"),
        ("ad", "a", "a", "ad", [("no_majority", State.REFUSED), REFUSED], ""),
        # If the servers must not take votes away, two vote, and that is not changed.
        ("abd", "ab", "ab", "ad", [("no_majority", State.REFUSED), REFUSED], ""),
        # An elected one that has no vote hands over all the same.
        ("abcd", "bcd", "bcd", "ab", [REMARK], "cd"),
    ],
)
def test_an_elected_manager_that_hands_over_may_share_its_batch(
    present: str, committed: str, accepted: str, batch: str, expected: list[tuple[str, State]], heirs: str
) -> None:
    state = cluster(present, elected="a", voting=coordination(committed, accepted))
    assert said(judge_batch(state, batch, HANDS_OVER)) == expected
    assert successors(state, state.ids(batch)) == state.ids(heirs)


def test_while_somebody_is_excluded_nobody_hands_over() -> None:
    state = cluster("abcd", elected="a", voting=coordination("abc", exclusions=["b"]))
    assert said(judge_batch(state, "ad", HANDS_OVER)) == [("voting_exclusions", State.REFUSED), REFUSED]
    assert successors(state, state.ids("ad")) == frozenset()


@pytest.mark.parametrize(
    ("exclusions", "ours", "expected"),
    [("", "", True), ("b", "b", True), ("b", "bc", True), ("bc", "b", False), ("b", "", False)],
)
def test_what_a_run_excluded_itself_is_no_reason_to_refuse(exclusions: str, ours: str, expected: bool) -> None:
    state = cluster("abc", voting=coordination("abc", exclusions=exclusions))
    assert judge_voting(state, frozenset(), STRICT, frozenset(ours)).passed is expected


@pytest.mark.parametrize(
    ("awaited", "expected"),
    [("1", []), ("2", [("writes_wait", State.PASSED)]), ("all", [("writes_wait", State.PASSED)])],
)
def test_writes_that_will_wait_are_told(awaited: str, expected: list[tuple[str, State]]) -> None:
    copies = [copy("i", "a", primary=True), copy("i", "b")]
    settings = index_metadata(number_of_replicas="1", write={"wait_for_active_shards": awaited})
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"), indices={"i": settings})
    assert said(judge_batch(state, ["a"], STRICT)) == expected


def test_writes_do_not_wait_for_copies_for_search() -> None:
    copies = [copy("i", "b", primary=True), copy("i", "a", search_only=True), copy("i", "c", search_only=True)]
    settings = index_metadata(write={"wait_for_active_shards": "2"})
    state = cluster(data_members("a", "b", "c"), copies, voting=coordination("m"), indices={"i": settings})
    assert judge_batch(state, ["a"], STRICT) == Verdict()


@pytest.mark.parametrize(
    ("present", "expected", "batch", "codes"),
    [
        ("abc", "abc", "a", []),
        ("abc", "", "a", []),
        ("ab", "abc", "a", ["member_missing"]),
        ("ab", "abc", "c", []),
        ("a", "abc", "c", []),
        ("ab", "abcd", "ac", ["member_missing"]),
        ("ab", "abc", "", ["member_missing"]),
        ("a", "", "ac", []),
        ("abc", "", "d", ["member_unrecognised"]),
        ("xyz", "abc", "a", ["member_unrecognised"]),
        ("abx", "abcd", "c", ["member_unrecognised"]),
        ("abx", "abc", "a", ["member_missing"]),
    ],
)
def test_nothing_else_is_down(present: str, expected: str, batch: str, codes: list[str]) -> None:
    """A batch that is away is brought back whatever else is missing, but only if it is certain that it is away."""
    verdict = judge_present(cluster(present, voting=coordination("")), expected, batch)
    assert [reason.code for reason in verdict.reasons] == codes


@pytest.mark.parametrize(
    ("status", "present", "expected", "batch", "said"),
    [
        ("successful", "ab", "abc", "", "These are missing: c."),
        ("successful", "ab", "abc", "c", "These are missing: c."),
        ("in_progress", "abc", "abc", "a", "These members leave it: c."),
        ("draining", "abc", "abcd", "a", "These members leave it: c. These are missing: d."),
        # It was given up, or all who are expected are in other zones.
        ("failed", "abc", "abc", "a", ""),
        ("successful", "ab", "ab", "a", ""),
    ],
)
def test_nothing_goes_while_a_zone_with_members_is_decommissioned(
    status: str, present: str, expected: str, batch: str, said: str
) -> None:
    zone = {"awareness": {"zone": "east"}, "status": status, "requestID": "x"}
    infos = {name: {**info(name), "attributes": {"zone": "east" if name == "c" else "west"}} for name in present}
    answer = state_answer(infos, elected="a", voting=coordination(""))
    answer["metadata"]["decommissionedAttribute"] = zone
    state = parse_state({identity(name): one for name, one in infos.items()}, answer)
    found = {reason.code: reason for reason in judge_present(state, expected, batch).reasons}
    assert ("zone_decommissioned" in found) is bool(said)
    if said:
        reason = found["zone_decommissioned"]
        assert (reason.state, reason.message.endswith(said)) == (State.REFUSED, True)
        assert "zone=east are decommissioned" in reason.message


def test_the_missing_are_named() -> None:
    (reason,) = judge_present(cluster("a"), "abc", "").reasons
    assert reason.message == "Members are missing from the cluster: b, c."


@pytest.mark.parametrize(
    ("blocks", "state"),
    [
        ({}, State.PASSED),
        (RECOVERING, State.WAITING),
        (READ_ONLY, State.REFUSED),
        (NO_NEW_INDEX, State.PASSED),
        ({**NO_NEW_INDEX, **READ_ONLY}, State.REFUSED),
    ],
)
def test_blocks(blocks: Json, state: State) -> None:
    assert judge_blocks(cluster("a", blocks=blocks)).state is state


def consent(state: ClusterState, going: str, policy: Policy = STRICT) -> list[tuple[str, State]]:
    return said(judge_consent(state, going, policy))


def test_the_plan_asks_for_consent_by_name() -> None:
    copies = [copy("i", "a", primary=True), copy("j", "b", primary=True), copy("k", "a", primary=True), copy("k", "b")]
    state = cluster("ab", copies, voting=coordination("a"))
    refused = [("single_copy", State.REFUSED), ("no_majority", State.REFUSED)]
    assert consent(state, "ab") == refused
    assert consent(state, "b") == [("single_copy", State.REFUSED)]
    assert consent(state, "ab", ALL_ALLOWED) == [(code, State.PASSED) for code, _state in refused]
    assert judge_consent(state, "ab", STRICT).reasons[0].message == "The only configured copy of i[0], j[0] is on a, b."


@pytest.mark.parametrize(
    ("present", "voters", "going", "cures", "expected"),
    [
        ("ab", "a", "ab", False, [("only_voter_hands_over", State.PASSED)]),
        ("ab", "a", "b", False, []),
        ("a", "a", "a", False, [("no_majority", State.REFUSED)]),
        ("a", "a", "a", True, []),
        ("ab", "ab", "ab", False, [("no_majority", State.REFUSED)] * 2),
        ("abc", "abc", "abc", False, []),
    ],
)
def test_of_two_managers_the_one_that_votes_needs_no_consent_where_it_hands_over(
    present: str, voters: str, going: str, cures: bool, expected: list[tuple[str, State]]
) -> None:
    state = cluster(present, elected="a", voting=coordination(voters))
    assert said(judge_consent(state, going, Policy(hands_over=True, awaits_manager=cures))) == expected
    off = judge_consent(state, going, Policy(awaits_manager=cures))
    assert [code for code, _state in said(off)] == ["no_majority"] * len(
        set(voters) & set(going) if len(voters) < 3 else ()
    )


def test_what_time_cures_needs_no_consent() -> None:
    copies = [copy("i", "a", primary=True), copy("i", None), copy("j", "b", primary=True, to="c"), copy("j", "a")]
    state = cluster("abc", copies, voting=coordination("abc"))
    assert consent(state, "ab") == []
    assert said(judge_batch(state, ["a"], STRICT)) != []
