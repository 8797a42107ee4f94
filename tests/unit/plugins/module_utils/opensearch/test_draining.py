"""Members are drained where their shards have a place elsewhere, and are taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import EXCLUDE
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    copy,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers, answered
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.test_settings_of_a_run import act


def draining(moves: Mapping[str, Any], *copies: Any) -> Servers:
    explained: Any = {("logs", 0, True): moves}
    return Servers(state=state_answer("abc", copies, elected="a"), explanations=explained)


def decided(**deciders: str) -> dict[str, Any]:
    return {
        "node_allocation_decisions": [
            {"node_name": name, "deciders": [{"decider": decider, "decision": "NO"}] if decider else []}
            for name, decider in deciders.items()
        ]
    }


LOGS = (copy("logs", "a", primary=True), copy("logs", "b"))


def test_a_member_is_drained_and_taken_back() -> None:
    client = draining(decided(b="same_shard", c=""), *LOGS)
    client.settings["persistent"][EXCLUDE] = "old"
    first = act(client, "drained")
    assert client.settings["persistent"][EXCLUDE] == "old,a"
    assert [(r.code, r.message) for r in first.verdict.reasons] == [("draining", "Shards move away from a: 1 left.")]
    client.state = state_answer("abc", [copy("logs", "c", primary=True), copy("logs", "b")], elected="a")
    assert act(client, "drained").verdict.passed
    client.settings["persistent"][EXCLUDE] = "old,a,more"
    act(client, "undrained")
    assert client.settings == {"persistent": {EXCLUDE: "old,more"}, "transient": {}}


# A primary whose replicas copy segments goes to no member that is newer than one of them.
@pytest.mark.parametrize("decider", ["disk_threshold", "node_version"])
def test_where_no_other_member_takes_a_shard_nothing_is_excluded(decider: str) -> None:
    client = draining(decided(b="same_shard", c=decider), *LOGS)
    with pytest.raises(Refusal) as caught:
        act(client, "drained")
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "drain_impossible"
    assert reason.message == (f"logs[0] cannot leave a: no other member takes them ({decider} on 1, same_shard on 1).")
    assert "upgrade_ephemeral: restart" in reason.remedy
    assert client.settings == {"persistent": {}, "transient": {}}


def test_a_drain_that_cannot_go_on_is_refused_once_nothing_moves() -> None:
    client = draining(decided(b="same_shard", c=""), *LOGS)
    act(client, "drained")
    throttled = {**decided(b="same_shard", c=""), "can_move_to_other_node": "no"}
    throttled["node_allocation_decisions"][1]["deciders"] = [{"decider": "throttling", "decision": "THROTTLE"}]
    client.explanations[("logs", 0, True)] = throttled
    assert [reason.code for reason in act(client, "drained").verdict.reasons] == ["draining"]
    client.explanations[("logs", 0, True)] = decided(b="same_shard", c="filter")
    assert [reason.code for reason in act(client, "drained").verdict.reasons] == ["drain_impossible"]
    client.state = state_answer("abc", [*LOGS, copy("other", "b", to="c", primary=True)], elected="a")
    assert [reason.code for reason in act(client, "drained").verdict.reasons] == ["draining"]


def test_nothing_is_drained_while_allocation_is_restricted() -> None:
    client = draining(decided(b="same_shard", c=""), *LOGS)
    act(client, "restricted")
    with pytest.raises(Refusal) as caught:
        act(client, "drained")
    assert [reason.code for reason in caught.value.verdict.reasons] == ["drain_restricted"]


def test_a_question_that_is_not_answered_is_no_room() -> None:
    client = draining({}, *LOGS)
    away = refused("opensearch_unreachable", "OpenSearch cannot be reached.", "Check the network.")
    client.explanations[("logs", 0, True)] = Unreachable(away)
    with pytest.raises(Unreachable):
        act(client, "drained")
    client.explanations[("logs", 0, True)] = answered(400, "unable to find primary shard")
    assert act(client, "drained").changed, "it has gone meanwhile, and what has not is seen by the next look"


def test_a_shard_that_has_gone_meanwhile_is_not_one_without_room() -> None:
    client = draining({}, *LOGS, copy("logs", "c"))
    client.explanations.clear()
    assert act(client, "drained", batch=["a", "b", "c"]).changed


def test_members_that_are_away_hold_nothing() -> None:
    client = draining({}, *LOGS)
    gone = act(client, "drained", batch=["z"])
    assert (gone.verdict.passed, gone.changed) == (True, False)
    assert client.settings == {"persistent": {}, "transient": {}}


def test_members_that_can_hold_no_shard_are_not_excluded() -> None:
    client = Servers(nodes={identity(name): info(name, roles=["cluster_manager"]) for name in "abc"})
    assert act(client, "drained").verdict.passed
    assert client.settings == {"persistent": {}, "transient": {}}


def test_a_copy_that_has_begun_to_move_meanwhile_is_not_stuck() -> None:
    client = draining({"explanation": "the shard is in the process of relocating"}, *LOGS)
    assert [reason.code for reason in act(client, "drained").verdict.reasons] == ["draining"]


def test_the_only_data_member_cannot_be_drained() -> None:
    state = state_answer("a", [copy("logs", "a", primary=True)], elected="a")
    client = Servers(state=state, nodes={identity("a"): info("a")}, explanations={("logs", 0, True): {}})
    with pytest.raises(Refusal, match="there is no other data member"):
        act(client, "drained")
