# SPDX-License-Identifier: GPL-3.0-or-later
"""What is lost for good with a member that keeps no data, and what the servers make anew."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.lost_data import judge_lost
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.safety import Policy, judge_consent
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    copy,
    index_metadata,
)


def test_what_a_pool_without_volumes_would_lose_no_consent_covers() -> None:
    copies = [copy("kept", "a", primary=True), copy("kept", "b"), copy("lone", "a", primary=True)]
    state = cluster("abc", copies)
    assert [reason.code for reason in judge_lost(state, ["a"], "data").reasons] == ["ephemeral_pool"]
    assert "lone[0]" in judge_lost(state, ["a"], "data").reasons[0].message
    assert judge_lost(state, ["b", "c"], "data").passed
    alone = cluster("a", [])
    assert "no majority" in judge_lost(alone, ["a"], "data").reasons[0].message


def test_what_the_servers_make_anew_is_not_lost_with_a_pool_without_volumes() -> None:
    copies = [
        copy("frozen", "a", primary=True),
        copy("sought", "b", primary=True),
        copy("sought", "c"),
        copy("sought", "a", search_only=True),
    ]
    indices = {"frozen": index_metadata(store={"type": "remote_snapshot"}), "sought": index_metadata()}
    state = cluster("abc", copies, indices=indices)
    assert judge_lost(state, ["a"], "data").passed
    assert [reason.code for reason in judge_consent(state, "a", Policy()).reasons] == ["single_copy"], (
        "it is away meanwhile all the same"
    )


def test_a_primary_in_a_remote_store_does_not_come_back_by_itself() -> None:
    copies = [copy("stored", "a", primary=True)]
    indices = {"stored": index_metadata(remote_store={"enabled": "true"})}
    state = cluster("abc", copies, indices=indices)
    (reason,) = judge_lost(state, ["a"], "data").reasons
    assert (reason.code, reason.state) == ("ephemeral_pool", State.REFUSED)
    assert "What stored has in a remote store stays away until POST _remotestore/_restore" in reason.message
