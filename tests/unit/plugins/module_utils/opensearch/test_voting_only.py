"""Members of Elasticsearch that vote and are never elected: who counts in the plan, in the proof, at a hand-over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import pool_order
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import Cutting, batches_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.named_pools import pools_named
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.proof import Proofs, placement_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.quorum import successors
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import (
    judge_batch,
    judge_consent,
    prove,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    info,
)

ROLES = {"m": ("master",), "d": ("data",), "v": ("master", "voting_only")}
"""By the first letter of a member's name."""
LONE = "m-0 v-0 v-1 d-0 d-1"
TARGET = "8.19.4"

STANDSTILL = ("no_electable_manager", State.REFUSED)


def state_of(names: str, voters: str = "", elected: str = "m-0") -> ClusterState:
    """The members of these names. All that can vote do, unless the voters are named."""
    members = {name: {**info(name, "8.18.0", ROLES[name[0]]), "build_flavor": "default"} for name in names.split()}
    voting = coordination(voters.split() or [name for name in members if name[0] in "mv"])
    return cluster(members, [], voting=voting, elected=elected)


def said(verdict: Any) -> list[tuple[str, State]]:
    return [(reason.code, reason.state) for reason in verdict.reasons]


@pytest.mark.parametrize(
    ("params", "state", "codes"),
    [
        ({}, "refused", ["no_electable_manager"]),
        ({"hand_over": False}, "refused", ["no_electable_manager"]),
        ({"allow_quorum_loss": True}, "passed", ["no_electable_manager"]),
        ({"members": ["v-0", "v-1", "d-0", "d-1"]}, "passed", ["left_behind"]),
    ],
)
@pytest.mark.parametrize("batching", ["serial", "disjoint"])
def test_the_plan_takes_the_only_one_that_can_be_elected_alone_and_by_consent(
    monkeypatch: pytest.MonkeyPatch, params: Mapping[str, Any], state: str, codes: list[str], batching: str
) -> None:
    monkeypatch.setattr(pool_order, "connect", lambda *_options: None)
    monkeypatch.setattr(pool_order, "observe", lambda _client: state_of(LONE))
    groups = {"masters": ["m-0"], "voters": ["v-0", "v-1"], "data": ["d-0", "d-1"]}
    given = {name: option.get("default") for name, option in pool_order.CONTRACT.argument_spec.items()}
    given.update(target_version=TARGET, opensearch={}, groups=groups, batching=batching, **params)
    if "members" in params:
        given["allow_left_behind"] = True
    result = perform(pool_order.run, Task(given))
    verdict = result["verdict"]
    assert (verdict["state"], [each["code"] for each in verdict["reasons"]]) == (state, codes)
    last = result["batches"][-1]
    if "members" not in params:
        assert last["members"] == ["m-0"]
        assert last["reason"] == "manager without data; the elected manager goes last"
        assert last["proof"].endswith("2 of 3 voting members stay, and none of the 1 that can be elected")
        assert "Without m-0 no member is left that can be elected" in verdict["reasons"][0]["message"]


@pytest.mark.parametrize(
    ("names", "voters", "batch", "expected", "heirs"),
    [
        (LONE, "", "m-0", [STANDSTILL], ""),
        (LONE, "", "v-0", [], ""),
        (LONE, "", "m-0 d-0", [STANDSTILL, ("elected_manager_not_alone", State.REFUSED)], ""),
        # One of the voters is away, and does not say whether it can be elected.
        ("m-0 v-0 v-1", "m-0 v-0 v-1 x y", "m-0", [("no_majority", State.WAITING)], ""),
        ("m-0 v-0 v-1 v-2", "m-0 v-0 v-1 v-2 x", "m-0", [("no_electable_manager", State.WAITING)], ""),
        ("m-0 m-1 v-0", "", "m-0", [], "m-1"),
        # Two of five voters keep the majority of the others, none of whom can be elected.
        ("m-0 m-1 v-0 v-1 v-2", "", "m-0 m-1", [STANDSTILL, ("elected_manager_not_alone", State.REFUSED)], ""),
        # Of four members that can vote three do; the fourth can be elected all the same.
        ("m-0 m-1 v-0 v-1", "m-0 v-0 v-1", "m-0", [], "m-1"),
        # Of two the elected one votes, and cannot give its vote to one that is never elected.
        ("m-0 v-0", "m-0", "m-0", [("no_majority", State.REFUSED)], ""),
    ],
)
def test_the_proof_counts_who_can_be_elected(
    names: str, voters: str, batch: str, expected: list[tuple[str, State]], heirs: str
) -> None:
    state = state_of(names, voters)
    assert said(judge_batch(state, batch.split(), Policy(hands_over=True))) == expected
    assert successors(state, state.ids(batch.split())) == state.ids(heirs.split())
    allowed = judge_batch(state, batch.split(), Policy(hands_over=True, allow_quorum_loss=True))
    refused = {code for code, found in said(allowed) if found is State.REFUSED}
    assert refused <= {"elected_manager_not_alone"}


def test_one_that_is_away_and_can_be_elected_is_cured_first_so_no_consent_is_asked() -> None:
    state = state_of("m-0 v-0 v-1")
    assert said(judge_consent(state, ["m-0"], Policy(hands_over=True, awaits_manager=True))) == []
    assert said(judge_consent(state, ["m-0"], Policy(hands_over=True))) == [STANDSTILL]
    # A voter that is away does not count, unless the plan knows that it can be elected.
    missing = state_of("m-0 v-0 v-1 v-2", "m-0 v-0 v-1 v-2 x")
    assert said(judge_consent(missing, ["m-0"], Policy(hands_over=True))) == [STANDSTILL]


@pytest.mark.parametrize(("hands_over", "state"), [(True, State.WAITING), (False, State.REFUSED)])
def test_of_two_the_proof_waits_for_the_one_that_is_away_and_takes_the_vote(hands_over: bool, state: State) -> None:
    alone = state_of("m-0 d-0")
    found = said(prove(alone, ["m-0", "m-1", "d-0"], ["m-0"], Policy(hands_over=hands_over)))
    assert ("no_majority", state) in found
    assert [code for code, each in found if each is State.WAITING and code != "no_majority"] == ["member_missing"]


def test_no_batch_takes_all_that_can_be_elected() -> None:
    state = state_of("m-0 m-1 v-0 v-1 v-2", elected="m-0")
    pools = pools_named({"m": ["m-0", "m-1"], "v": ["v-0", "v-1", "v-2"]}, state, "zone")
    placement = placement_of(state, pools)
    assert frozenset({"m-0", "m-1"}) in placement.holders
    batches = batches_of(pools, Version.parse(TARGET), (), Cutting("disjoint", hands_over=True), placement)
    assert not any({"m-0", "m-1"} <= {*batch.members} for batch in batches)
    assert batches[-1].reason.endswith("hands over first")


def test_the_proof_in_words_where_all_voters_can_be_elected() -> None:
    assert Proofs(state_of("m-0 m-1 m-2")).of(["m-0"]) == "The batch holds no shard, 2 of 3 voting members stay"
    assert Proofs(state_of("m-0 m-1 v-0")).of(["m-0"]).endswith("stay, and 1 of the 2 that can be elected")
