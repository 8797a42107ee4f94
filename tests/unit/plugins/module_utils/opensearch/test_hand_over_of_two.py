"""Of two members that can be elected one votes: the vote goes over with the office, or it takes consent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate, pod_roll, shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ENABLE
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    coordination,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.hand_over_case import (
    Turn,
    changing,
    codes,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.voters import EXCLUSIONS, Voters
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import NAMES, World

PATH = "/usr/share/opensearch/data"
SERVER = {"name": "server", "image": "opensearch:2.19.6", "volumeMounts": [{"name": "data", "mountPath": PATH}]}
KEPT = {"spec": {"containers": [SERVER], "volumes": [{"name": "data", "hostPath": {"path": "/data"}}]}}
"""A template of pods that keep their data over a restart."""


def test_of_two_the_vote_goes_over_with_the_office_and_stays_there() -> None:
    servers = Voters(managers="ab")
    turn = Turn(servers, "a")
    assert servers.votes == ["a"]
    assert turn.made()
    # The exclusion is over, and the one that goes has no vote all the same: the rule of the servers (Reconfigurator).
    assert (servers.elected, servers.excluded, servers.votes) == ("b", [], ["b"])
    assert servers.settings == Voters().settings
    assert turn.lines == ["a has handed over to b"]
    assert turn.proof() == Verdict()
    servers.managers = "b"
    servers.order("DELETE", EXCLUSIONS)
    servers.managers = "ab"
    assert Turn(servers, "a").proof() == Verdict(), "back, it may go again: it has no vote"


@pytest.mark.parametrize(
    ("consents", "said"), [(False, ("no_majority", State.REFUSED)), (True, ("elected_manager_stays", State.PASSED))]
)
def test_where_the_other_of_two_does_not_take_over_only_consent_lets_it_go(
    consents: bool, said: tuple[str, State]
) -> None:
    servers = Voters(managers="ab", stubborn=True)
    servers.votes = ["a"]
    servers.state["metadata"]["cluster_coordination"] = coordination("a")
    turn = Turn(servers, "a", policy=Policy(allow_quorum_loss=consents, hands_over=True))
    assert turn.made()
    assert servers.excluded == []
    verdict = turn.proof()
    assert (said in codes(verdict), verdict.state) == (True, said[1])
    assert any("no other member was elected within 30 s" in reason.message for reason in verdict.reasons)


@pytest.mark.parametrize("managers", ["ab", "abc"])
def test_where_it_is_turned_off_nothing_is_excluded(managers: str) -> None:
    servers = Voters(managers=managers)
    turn = Turn(servers, "a", policy=Policy())
    assert [code for code, _state in codes(turn.proof())] == (["no_majority"] if managers == "ab" else [])
    assert not turn.hand_over.make("a")
    assert changing(servers) == []


@pytest.mark.parametrize(
    ("kept", "params", "stubborn", "state"),
    [
        (True, {}, False, "passed"),
        (True, {"hand_over": False}, False, "refused"),
        (True, {"hand_over": False, "allow_quorum_loss": True}, False, "passed"),
        (True, {"allow_quorum_loss": True}, True, "passed"),
        # No one else votes when its data is gone, so that no consent helps where it does not hand over.
        (False, {}, False, "passed"),
        (False, {"hand_over": False, "allow_quorum_loss": True}, False, "refused"),
        (False, {"allow_quorum_loss": True}, True, "refused"),
        (False, {"allow_quorum_loss": True, "batch": ["data-0", "data-2"]}, False, "refused"),
    ],
)
def test_the_pod_of_the_one_that_votes_is_deleted_when_the_other_votes_or_by_consent(
    monkeypatch: pytest.MonkeyPatch, kept: bool, params: Mapping[str, Any], stubborn: bool, state: str
) -> None:
    world = World(template=KEPT if kept else {"spec": {"containers": [SERVER]}})
    servers = Voters(managers=("data-0", "data-2"), others=("data-1",), elected="data-2")
    servers.stubborn, world.starts = stubborn, servers.start
    real, votes = world.delete, list[tuple[list[str], list[str]]]()

    def delete(path: str, uid: str) -> bool:
        votes.append((servers.votes, servers.excluded))
        return real(path, uid)

    world.delete = delete  # type: ignore[method-assign]
    monkeypatch.setattr(pod_roll, "connect", lambda *_options: servers)
    monkeypatch.setattr(kubernetes, "connect", lambda *_options: world)
    given = {name: option.get("default") for name, option in pod_roll.CONTRACT.argument_spec.items()}
    own = {"namespace": "search", "pools": ["data"], "batch": ["data-2"], "expected": list(NAMES), "wait_timeout": 60}
    result = perform(pod_roll.run, Task({**given, **own, **params}, clock=world))
    assert result["verdict"]["state"] == state
    assert votes == {"passed": [(["data-2" if params else "data-0"], [])], "refused": []}[state]
    lost = "ephemeral_pool" in {reason["code"] for reason in result["verdict"]["reasons"]}
    assert lost is (not kept and state == "refused")


BEFORE_STOP = {"moment": "before_stop", "allocation": "restrict", "lock": {"run": "night"}, "wait_timeout": 60}


@pytest.mark.parametrize(
    ("managers", "batch", "stubborn", "params", "state", "votes"),
    [
        ("ab", "a", False, {"hands_over": True}, "passed", "b"),
        ("ab", "a", False, {}, "refused", "a"),
        ("ab", "a", False, {"allow_quorum_loss": True}, "passed", "a"),
        ("ab", "a", True, {"hands_over": True}, "refused", "a"),
        ("ab", "b", False, {"hands_over": True}, "passed", "a"),
        ("ab", "ad", False, {"hands_over": True}, "passed", "b"),
        ("abc", "ad", False, {"hands_over": True}, "passed", "abc"),
        ("abc", "ad", False, {}, "refused", "abc"),
        ("abc", "ad", True, {"hands_over": True}, "waiting", "abc"),
    ],
)
def test_before_members_on_plain_hosts_stop_the_elected_one_hands_over_as_before_pods_are_deleted(
    monkeypatch: pytest.MonkeyPatch,
    managers: str,
    batch: str,
    stubborn: bool,
    params: Mapping[str, Any],
    state: str,
    votes: str,
) -> None:
    servers = Voters(managers=managers, stubborn=stubborn)
    if stubborn and managers == "ab":
        servers.votes = ["a"]
        servers.state["metadata"]["cluster_coordination"] = coordination("a")
    for module in (health_gate, shard_allocation):
        monkeypatch.setattr(module, "connect", lambda *_options: servers)
    given = {"batch": list(batch), "expected": [*managers, *servers.others], **BEFORE_STOP, **params}
    result = perform(health_gate.run, Task(health_gate.CONTRACT.arguments({}, **given), clock=World()))
    assert (result["verdict"]["state"], servers.excluded, sorted(servers.votes)) == (state, [], list(votes))
    # Allocation stays restricted for the batch that goes, and for no other.
    assert (servers.settings["persistent"].get(ENABLE) == "primaries") is (state == "passed")
    handed_over = [each["target"] for each in result["actions"] if each["action"] == "handed_over"]
    assert handed_over == (["a"] if params.get("hands_over") and "a" in batch and not stubborn else [])
    if handed_over:
        # Restricted last of all: what is made under the restriction lacks its replicas.
        assert [each["action"] for each in result["actions"]][-1] == "set"


def test_in_check_mode_nobody_hands_over(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = Voters(managers="ab")
    for module in (health_gate, shard_allocation):
        monkeypatch.setattr(module, "connect", lambda *_options: servers)
    given = {"batch": ["a"], "expected": ["a", "b", *servers.others], **BEFORE_STOP, "hands_over": True}
    task = Task(health_gate.CONTRACT.arguments({}, **given), clock=World(), check_mode=True)
    assert perform(health_gate.run, task)["verdict"]["state"] == "passed"
    assert changing(servers) == []
