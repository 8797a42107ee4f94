"""Data that is lost for good with a member that keeps none, and copies that the servers make anew."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.index_names import EVERY
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.lost_data import (
    judge_lost,
    judge_unseen,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_consent
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    copy,
    index_metadata,
    info,
)


def test_what_a_pool_without_volumes_would_lose_no_consent_covers() -> None:
    copies = [copy("kept", "a", primary=True), copy("kept", "b"), copy("lone", "a", primary=True)]
    state = cluster("abc", copies)
    assert [reason.code for reason in judge_lost(state, ["a"], "data", Policy()).reasons] == ["ephemeral_pool"]
    assert "lone[0]" in judge_lost(state, ["a"], "data", Policy()).reasons[0].message
    assert judge_lost(state, ["b", "c"], "data", Policy()).passed
    alone = cluster("a", [])
    assert "no majority" in judge_lost(alone, ["a"], "data", Policy()).reasons[0].message
    consents = Policy(allow_single_copy=EVERY, allow_quorum_loss=True, allow_red_indices=frozenset({"lone"}))
    assert not judge_lost(state, ["a"], "data", consents).passed
    assert not judge_lost(alone, ["a"], "data", consents).passed


def test_what_the_servers_make_anew_is_not_lost_with_a_pool_without_volumes() -> None:
    copies = [
        copy("frozen", "a", primary=True),
        copy("sought", "b", primary=True),
        copy("sought", "c"),
        copy("sought", "a", search_only=True),
    ]
    indices = {"frozen": index_metadata(store={"type": "remote_snapshot"}), "sought": index_metadata()}
    state = cluster("abc", copies, indices=indices)
    assert judge_lost(state, ["a"], "data", Policy()).passed
    assert [reason.code for reason in judge_consent(state, "a", Policy()).reasons] == ["single_copy"] * 2, (
        "both are away for a while all the same"
    )


def test_a_primary_in_a_remote_store_does_not_come_back_by_itself() -> None:
    copies = [copy("stored", "a", primary=True)]
    indices = {"stored": index_metadata(remote_store={"enabled": "true"})}
    state = cluster("abc", copies, indices=indices)
    (reason,) = judge_lost(state, ["a"], "data", Policy()).reasons
    assert (reason.code, reason.state) == ("ephemeral_pool", State.REFUSED)
    assert "The data of stored in a remote store stays away until POST _remotestore/_restore" in reason.message


LEFT: Json = {"unassigned_info": {"reason": "NODE_LEFT"}}
NEVER_HELD: Json = {"unassigned_info": {"reason": "INDEX_CREATED"}}
RED = {**copy("i", None, primary=True), **LEFT}


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ([RED], [State.REFUSED]),
        ([RED, copy("i", None)], [State.REFUSED]),
        # Another member holds it: what the absent one has is a copy of that.
        ([copy("i", "a", primary=True), copy("i", None)], []),
        # Another one is about to start it, and may fail.
        ([copy("i", "a", "INITIALIZING", primary=True)], [State.WAITING]),
        ([{**RED, **NEVER_HELD}], []),
        ([RED, copy("i", None, search_only=True)], [State.REFUSED]),
        ([copy("i", "a", primary=True), copy("i", None, search_only=True)], []),
        ([RED, {**RED, "index": "j"}, copy("k", "a", "INITIALIZING", primary=True)], [State.WAITING, State.REFUSED]),
    ],
    ids=str,
)
def test_a_member_that_is_away_may_hold_the_last_copy_of_what_nobody_in_the_cluster_holds(
    copies: list[Json], expected: list[State]
) -> None:
    """It has lost its connection; its pod is there, and with it what it holds."""
    state = cluster("ab", copies)
    reasons = judge_unseen(state, ["c"], ["a", "b", "c"], "data", ()).reasons
    assert [(reason.code, reason.state) for reason in reasons] == [("ephemeral_last_copy", one) for one in expected]
    assert all("i[0]" in reason.message for reason in reasons if reason.state is State.REFUSED)
    assert judge_unseen(state, [], ["a", "b", "c"], "data", ()).passed


def test_an_index_may_be_lost_by_consent_and_members_without_data_hold_none() -> None:
    state = cluster({"a": info("a"), "m": info("m", roles=["cluster_manager"])}, [RED])
    assert judge_unseen(state, ["c"], ["a", "c"], "data", ["i"]).passed
    assert not judge_unseen(state, ["c"], ["a", "c"], "data", ["j"]).passed
    assert judge_unseen(state, ["n"], ["m", "n"], "managers", ()).passed
    assert not judge_unseen(state, ["x"], ["x", "y"], "all of it away", ()).passed


def test_a_shard_that_reads_from_its_repository_is_not_lost() -> None:
    state = cluster("ab", [RED], indices={"i": index_metadata(store={"type": "remote_snapshot"})})
    assert judge_unseen(state, ["c"], ["a", "b", "c"], "data", ()).passed
