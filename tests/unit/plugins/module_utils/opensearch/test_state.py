"""The state of a cluster, read from the answers of real servers."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.proof import Proofs
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_consent
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import (
    Block,
    ShardCopy,
    Voting,
    parse_blocks,
    parse_health,
    parse_index,
    parse_members,
    parse_voting,
    voting_again,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    READ_ONLY,
    RECOVERING,
    Json,
    cluster,
    coordination,
    copy,
    identity,
    index_metadata,
    info,
    recorded,
    state_answer,
)


def seen(name: str) -> Any:
    answers = recorded(name)
    return parse_state(answers["nodes"], answers["state"])


@pytest.mark.parametrize(
    ("name", "versions", "placed"),
    [
        ("green-2.19.6", {"a": "2.19.6", "b": "2.19.6"}, 7),
        ("left-2.19.6", {"a": "2.19.6"}, 3),
        ("mixed-2.19.6-3.8.0", {"a": "2.19.6", "b": "3.8.0"}, 8),
        ("upgraded-3.8.0", {"a": "3.8.0", "b": "3.8.0"}, 5),
        ("moving-3.8.0", {"a": "3.8.0", "b": "3.8.0"}, 6),
    ],
)
def test_answers_of_real_servers(name: str, versions: dict[str, str], placed: int) -> None:
    state = seen(name)
    assert {member.name: str(member.version) for member in state.members.values()} == versions
    assert state.members[state.elected].name == "a"
    assert state.voting.committed == state.voting.accepted == {state.elected}
    assert sum(state.serves(one) for one in state.copies) == placed
    assert {one.index for one in state.copies} == set(state.indices)
    assert state.named("a").manager_eligible
    assert state.named("a").holds_data
    assert state.named("nobody") is None


def test_members_of_a_real_cluster() -> None:
    state = seen("mixed-2.19.6-3.8.0")
    a, b = state.named("a"), state.named("b")
    assert (a.roles, b.roles) == ({"cluster_manager", "data"}, {"data"})
    assert not b.manager_eligible
    assert a.address != b.address
    assert state.ids(["a", "nobody"]) == {a.id}
    assert seen("left-2.19.6").named("a").ephemeral_id == a.ephemeral_id
    assert seen("upgraded-3.8.0").named("a").ephemeral_id != a.ephemeral_id
    assert seen("upgraded-3.8.0").named("a").id == a.id


def test_indices_of_a_real_cluster() -> None:
    indices = seen("moving-3.8.0").indices
    assert {name: index.open for name, index in indices.items() if not index.open} == {"closed": False}
    assert indices["logs"].created == Version(2, 19, 6)
    assert indices["moving"].created == Version(3, 8, 0)
    assert (indices["logs"].replicas, indices["single"].replicas) == (1, 0)


def test_copies_of_a_real_cluster() -> None:
    moving = seen("moving-3.8.0")
    a, b = moving.named("a").id, moving.named("b").id
    assert [one for one in moving.copies if one.index == "moving"] == [
        ShardCopy("moving", 0, True, "RELOCATING", member=b, relocating_to=a)
    ]
    lost = [one for one in seen("left-2.19.6").copies if one.index == "single"]
    assert lost == [ShardCopy("single", 0, True, "UNASSIGNED", unassigned_reason="NODE_LEFT")]


def test_health_of_a_real_cluster() -> None:
    health = parse_health(recorded("left-2.19.6")["health"])
    assert (health.status, health.timed_out, health.unassigned, health.delayed) == ("red", True, 4, 4)


@pytest.mark.parametrize("field", ["status", "timed_out", "delayed_unassigned_shards", "number_of_in_flight_fetch"])
def test_a_health_that_lacks_a_field_is_not_read(field: str) -> None:
    answer = recorded("green-2.19.6")["health"]
    del answer[field]
    with pytest.raises(Unreadable, match=f"{field} is missing"):
        parse_health(answer)


def without(*path: str) -> Callable[[Json], None]:
    """Removes one field."""

    def remove(answer: Json) -> None:
        for key in path[:-1]:
            answer = answer[key]
        del answer[path[-1]]

    return remove


@pytest.mark.parametrize(
    "damage",
    [
        without("cluster_uuid"),
        without("version"),
        without("metadata"),
        without("metadata", "cluster_coordination"),
        without("metadata", "cluster_coordination", "last_committed_config"),
        without("metadata", "cluster_coordination", "last_accepted_config"),
        without("routing_table"),
        without("routing_table", "indices", "logs"),
        lambda answer: answer["routing_table"]["indices"]["logs"]["shards"]["0"][0].pop("state"),
        lambda answer: answer["routing_table"]["indices"]["logs"]["shards"]["0"][0].pop("primary"),
        lambda answer: answer["metadata"]["indices"]["logs"]["settings"]["index"].update(number_of_replicas="many"),
        lambda answer: next(iter(answer["nodes"].values())).pop("ephemeral_id"),
    ],
)
def test_a_state_that_cannot_be_read_whole_is_refused(damage: Callable[[Json], None]) -> None:
    answers = recorded("green-2.19.6")
    parse_state(answers["nodes"], deepcopy(answers["state"]))
    damage(answers["state"])
    with pytest.raises(Refusal) as caught:
        parse_state(answers["nodes"], answers["state"])
    assert [reason.code for reason in caught.value.verdict.reasons] == ["opensearch_not_understood"]


def test_a_closed_index_may_be_without_shards() -> None:
    """Indices closed before Elasticsearch 7.2 are not replicated while closed."""
    closed = index_metadata() | {"state": "close"}
    assert cluster(["a"], indices={"old": closed}).copies == ()


def test_while_the_state_is_recovered_there_is_no_routing_table() -> None:
    state = cluster(["a"], indices={"logs": index_metadata()}, blocks=RECOVERING)
    assert state.blocks == (Block("state not recovered / initialized", passing=True),)


def test_blocks_that_pass_and_blocks_that_stay() -> None:
    assert parse_blocks({"global": {**RECOVERING, **READ_ONLY, "99": {}}}) == (
        Block("state not recovered / initialized", passing=True),
        Block("cluster read-only (api)", passing=False),
        Block("99", passing=False),
    )
    assert parse_blocks({}) == ()


def test_a_member_that_does_not_answer_for_itself_does_not_count_as_away() -> None:
    """Its pod held the last started copy, and was deleted as one to be brought back first."""
    with pytest.raises(Unreachable, match="did not answer GET _nodes: hung\\.") as caught:
        parse_members({identity("a"): info("a")}, state_answer(["a", "hung"])["nodes"])
    assert [reason.code for reason in caught.value.verdict.reasons] == ["opensearch_incomplete"]
    renamed = {identity("a"): info("a"), identity("hung"): info("b")}
    with pytest.raises(Unreachable):
        parse_members(renamed, state_answer(["a", "hung"])["nodes"])


def test_who_is_in_the_cluster_is_what_the_state_says() -> None:
    nodes = {identity("a"): info("a"), identity("left"): info("left")}
    assert [member.name for member in parse_members(nodes, state_answer(["a"])["nodes"]).values()] == ["a"]


@pytest.mark.parametrize(
    ("roles", "manager", "data"),
    [
        (["cluster_manager", "data", "ingest"], True, True),
        (["master", "remote_cluster_client"], True, False),
        (["data_hot"], False, True),
        (["search"], False, True),
        (["warm"], False, True),
        (["ingest", "ml"], False, False),
        (["database"], False, False),
        ([], False, False),
    ],
)
def test_roles(roles: list[str], manager: bool, data: bool) -> None:
    member = cluster({"a": info("a", roles=roles)}).named("a")
    assert member is not None
    assert (member.manager_eligible, member.holds_data) == (manager, data)


@pytest.mark.parametrize(
    ("settings", "awaited", "allocation"),
    [
        ({}, 1, None),
        ({"number_of_replicas": "2", "write": {"wait_for_active_shards": "2"}}, 2, None),
        ({"number_of_replicas": "2", "write": {"wait_for_active_shards": "all"}}, 3, None),
        ({"routing": {"allocation": {"enable": "none"}}}, 1, "none"),
    ],
)
def test_settings_of_an_index(settings: Json, awaited: int, allocation: str | None) -> None:
    index = parse_index("logs", index_metadata(**settings))
    assert (index.wait_for_active_shards, index.allocation) == (awaited, allocation)


def test_voting() -> None:
    answer = coordination("abc", accepted="ab", exclusions="c")
    voting = parse_voting(answer)
    assert voting.committed == {identity(name) for name in "abc"}
    assert voting.accepted == {identity(name) for name in "ab"}
    assert voting.exclusions == {"c"}
    nameless = parse_voting(answer | {"voting_config_exclusions": [{"node_id": "x"}]})
    assert nameless.exclusions, "an exclusion without a name is one all the same"


def test_while_somebody_is_excluded_a_plan_is_made_for_when_all_vote_again() -> None:
    members = {name: info(name) for name in "abc"} | {"d": info("d", roles=["data"])}
    left = cluster(members, voting=coordination("b", exclusions="a"))
    again = voting_again(left)
    assert again.voting == Voting(left.ids("abc"), left.ids("abc"))
    assert not judge_consent(left, "b", Policy()).passed
    assert judge_consent(again, "b", Policy()).passed
    assert voting_again(again) is again


def test_of_two_only_the_elected_one_votes_again() -> None:
    left = cluster("ab", elected="b", voting=coordination("b", exclusions=["a"]))
    assert judge_consent(voting_again(left), ["a"], Policy()).passed
    assert voting_again(left).voting == Voting(left.ids("b"), left.ids("b"))


def test_the_proof_in_words() -> None:
    copies = [
        copy("logs", "a", primary=True),
        copy("logs", "b"),
        copy("lone", "a", primary=True),
        copy("slow", "a", primary=True),
        copy("slow", "c", "INITIALIZING"),
        copy("other", "b", primary=True),
    ]
    state = cluster("abc", copies)
    assert Proofs(state).of(["a"]) == (
        "1 of 3 shards of the batch keep a started copy elsewhere; 1 with a single copy by configuration is away"
        " then; 1 waits until a copy elsewhere has started, 2 of 3 voting members stay"
    )
    assert Proofs(state).of(["c"]) == (
        "Every shard of the batch keeps a started copy elsewhere (1 of 1), 2 of 3 voting members stay"
    )
    assert Proofs(cluster("abc", [])).of(["c"]) == "The batch holds no shard, 2 of 3 voting members stay"


def test_the_only_voter_is_told_to_hand_over() -> None:
    state = cluster("ab", elected="a", voting=coordination("a"))
    alone = "The batch holds no shard; it alone votes, and hands its vote over first"
    assert Proofs(state, hands_over=True).of(["a"]) == alone
    assert Proofs(state).of(["a"]) == "The batch holds no shard, 0 of 1 voting members stay"


def test_a_voting_member_that_is_away_is_counted_by_itself() -> None:
    state = cluster("ab", [], voting=coordination("abc"))
    assert Proofs(state).of(["b"]) == "The batch holds no shard, 1 of 3 voting members stay (1 is away now)"
