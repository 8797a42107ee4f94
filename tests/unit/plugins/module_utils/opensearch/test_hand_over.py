"""The elected manager hands over, on servers that vote and may be cut off: whatever happens, no one stays excluded."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import pod_roll
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe_elected
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ENABLE, UNDO
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Undo, Writer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    identity,
    info,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.hand_over_case import (
    SETTINGS,
    Guard,
    Turn,
    allocation,
    changing,
    codes,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.voters import EXCLUSIONS, Voters
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import NAMES, World


@pytest.mark.parametrize(
    ("managers", "batch", "excluded"), [("abc", "a", "a"), ("abc", "ad", "a"), ("abcfg", "abd", "a,b")]
)
def test_another_one_is_elected_and_all_vote_again(managers: str, batch: str, excluded: str) -> None:
    servers = Voters(managers=managers)
    turn = Turn(servers, batch)
    assert turn.made()
    assert servers.elected not in batch
    assert (servers.excluded, sorted(servers.votes)) == ([], sorted(managers))
    assert servers.settings == Voters().settings
    assert changing(servers) == [
        ("DELETE", EXCLUSIONS),  # of none, to see that it may be taken back
        ("PUT", SETTINGS),
        ("POST", EXCLUSIONS),
        ("DELETE", EXCLUSIONS),
        ("PUT", SETTINGS),
    ]
    assert turn.actions() == [
        ("noted", UNDO),
        ("excluded", f"exclusion of {excluded} from voting"),
        ("handed_over", "a"),
        ("included", f"exclusion of {excluded} from voting"),
        ("noted", UNDO),
    ]
    assert turn.lines == [f"a has handed over to {servers.elected}"]
    assert turn.proof() == Verdict()
    assert not turn.hand_over.make(batch), "it is tried once"


@pytest.mark.parametrize(
    ("managers", "batch", "going"),
    [("abc", "bd", "bd"), ("ab", "b", "b"), ("a", "a", "a"), ("abc", "a", ""), ("ab", "a", "")],
)
def test_nothing_is_done_where_nobody_has_to_or_could_take_over(managers: str, batch: str, going: str) -> None:
    servers = Voters(managers=managers)
    turn = Turn(servers, batch)
    turn.proof()
    assert not turn.hand_over.make(going)
    assert changing(servers) == []
    assert turn.actions() == []


def test_the_undo_of_the_run_is_extended_and_goes_with_what_is_put_back_after_the_batch() -> None:
    servers = Voters()
    allocation(servers, "restricted")
    before, undos = deepcopy(servers.settings), []
    put = servers.put

    def kept(path: str, body: Any, **params: Any) -> Any:
        undos.append(body["persistent"][UNDO])
        return put(path, body, **params)

    servers.put = kept  # type: ignore[method-assign]
    assert Turn(servers, "ad").made()
    assert [ENABLE in undo and '"voting_exclusions":["a"]' in undo for undo in undos] == [True]
    del before["persistent"][UNDO], servers.settings["persistent"][UNDO]
    assert servers.settings == before
    servers.settings["persistent"][UNDO] = undos[0]
    allocation(servers, "restored", part="batch")
    assert servers.settings == Voters().settings


@pytest.mark.parametrize("lost_answer", [False, True])
@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("managers", ["abc", "ab"])
def test_cut_off_at_any_request_and_put_back_nobody_stays_excluded(
    managers: str, restricted: bool, lost_answer: bool
) -> None:
    whole = Voters(managers=managers)
    assert Turn(whole, "ad").made()
    left = []
    for number in range(len(whole.asked) + 1):
        servers = Voters(managers=managers)
        if restricted:
            allocation(servers, "restricted")
        turn, already = Turn(servers, "ad"), len(servers.asked)
        turn.proof()
        servers.cut_off, servers.lost_answer = already + number, lost_answer
        try:
            turn.hand_over.make("ad")
        except Refusal:
            left.append(bool(servers.excluded))
        servers.cut_off = None
        allocation(servers, "restored", run="morning")
        assert (servers.excluded, len(servers.votes)) == ([], len(managers) - (len(managers) % 2 == 0))
        assert servers.elected in servers.votes
        assert servers.settings == Voters().settings
    assert any(left)


@pytest.mark.parametrize("acts", range(5))
def test_without_the_lock_nothing_more_is_done_and_the_undo_is_there(acts: int) -> None:
    servers = Voters()
    with pytest.raises(Refusal, match="no longer holds the lock"):
        Turn(servers, "ad", Guard(acts)).made()
    assert len(changing(servers)) == acts
    assert bool(servers.excluded) == (acts == 3)
    allocation(servers, "restored")
    assert (servers.excluded, servers.settings) == ([], Voters().settings)


def test_no_abort_comes_between() -> None:
    guard = Guard()
    assert Turn(Voters(), "ad", guard).made()
    assert guard.looks
    assert not any(guard.looks)


@pytest.mark.parametrize(
    ("batch", "said"),
    [("a", ("elected_manager_stays", State.PASSED)), ("ad", ("hand_over_unfinished", State.WAITING))],
)
def test_where_nobody_takes_over_the_exclusion_is_taken_back(batch: str, said: tuple[str, State]) -> None:
    servers = Voters(stubborn=True)
    turn = Turn(servers, batch)
    assert turn.made()
    assert servers.excluded == []
    assert '"voting_exclusions":["a"]' in servers.settings["persistent"][UNDO], "a lost request may still come"
    verdict = turn.proof()
    assert said in codes(verdict)
    assert verdict.state is said[1]
    assert any("no other member was elected within 30 s" in reason.message for reason in verdict.reasons)
    assert turn.lines[0] == "waiting: a hands over: no other member is elected yet."
    servers.order("POST", EXCLUSIONS, node_names="a")
    allocation(servers, "restored", part="batch")
    assert (servers.excluded, servers.settings) == ([], Voters().settings)


@pytest.mark.parametrize(("method", "permission"), [("POST", "add"), ("DELETE", "clear")])
def test_who_may_not_exclude_or_not_take_back_goes_on_with_a_lone_one_and_not_with_others(
    method: str, permission: str
) -> None:
    why = f"cluster:admin/voting_config/{permission}_exclusions"
    denied = {f"{method} {EXCLUSIONS}": why}
    servers = Voters(denied=denied)
    turn = Turn(servers, "a")
    assert turn.made()
    assert codes(turn.proof()) == [("elected_manager_stays", State.PASSED)]
    assert why in turn.proof().reasons[0].message
    (line,) = turn.lines
    assert line.startswith("No hand-over: ")
    assert why in line
    assert servers.excluded == []
    assert servers.settings == Voters().settings
    shared = Turn(Voters(denied=denied), "ad")
    assert shared.made()
    (reason,) = shared.proof().deciding()
    assert reason.code == "hand_over_unfinished"
    assert why in reason.message


def test_the_undo_of_another_run_is_not_touched() -> None:
    servers = Voters()
    allocation(servers, "restricted", run="evening")
    before = deepcopy(servers.settings)
    turn = Turn(servers, "a")
    assert turn.made()
    assert codes(turn.proof()) == [("elected_manager_stays", State.PASSED)]
    shared = Turn(servers, "ad")
    assert shared.made()
    (why,) = shared.proof().deciding()
    assert why.code == "hand_over_unfinished"
    assert "run evening" in why.message
    assert servers.settings == before
    assert ("POST", EXCLUSIONS) not in changing(servers)


def test_exclusions_of_others_are_never_removed() -> None:
    servers = Voters(managers="abcfg", stranger="f")
    with pytest.raises(Refusal, match="has excluded f from voting"):
        Turn(servers, "ad").made()
    assert servers.excluded == ["a", "f"]
    outcome, actions = allocation(servers, "restored")
    assert servers.excluded == ["a", "f"]
    assert [code for code, _state in codes(outcome.verdict)] == ["changed_by_another"]
    assert [each["action"] for each in actions] == []
    assert json.loads(servers.settings["persistent"][UNDO])["voting_exclusions"] == ["a"]
    servers.stranger, servers.excluded = "", []
    servers.order("POST", EXCLUSIONS, node_names="a")
    allocation(servers, "restored")
    assert (servers.excluded, servers.settings) == ([], Voters().settings)


def left_excluded() -> Voters:
    """Servers that a run has left in between."""
    servers = Voters()
    undo = Undo(Writer("night", "2026-11-21T02:00:00Z"), (), {"cluster": "uuid", "voting_exclusions": ["a"]})
    servers.settings["persistent"][UNDO] = undo.text()
    servers.order("POST", EXCLUSIONS, node_names="a")
    assert servers.votes == ["c"]
    return servers


@pytest.mark.parametrize("part", ["batch", "all"])
def test_what_a_killed_run_excluded_votes_again(part: str) -> None:
    servers = left_excluded()
    before = deepcopy(servers.settings)
    _outcome, actions = allocation(servers, "restored", part=part, check=True)
    assert (servers.excluded, servers.settings) == (["a"], before)
    assert [each["action"] for each in actions] == ["included"]
    outcome, actions = allocation(servers, "restored", part=part)
    assert (servers.excluded, servers.settings) == ([], Voters().settings)
    assert outcome.changed
    assert [(each["action"], each["target"]) for each in actions] == [("included", "exclusion of a from voting")]
    assert not allocation(servers, "restored", part=part)[0].changed


def test_where_nobody_may_vote_again_the_settings_are_put_back_all_the_same() -> None:
    servers = Voters()
    allocation(servers, "restricted")
    assert Turn(servers, "ad").made()
    servers.order("POST", EXCLUSIONS, node_names="a")
    servers.denied = {EXCLUSIONS: "cluster:admin/voting_config/clear_exclusions"}
    with pytest.raises(Refusal, match="clear_exclusions"):
        allocation(servers, "restored")
    undo = json.loads(servers.settings["persistent"].pop(UNDO))
    assert (undo["changes"], undo["voting_exclusions"]) == ([], ["a"])
    assert servers.settings == Voters().settings
    servers.settings["persistent"][UNDO] = json.dumps(undo)
    servers.denied = {}
    allocation(servers, "restored")
    assert (servers.excluded, servers.settings) == ([], Voters().settings)


def test_exclusions_of_names_that_no_member_has_are_not_those_of_a_run() -> None:
    servers = left_excluded()
    undo = json.loads(servers.settings["persistent"][UNDO])
    servers.settings["persistent"][UNDO] = json.dumps({**undo, "voting_exclusions": ["a", "retired"]})
    servers.order("POST", EXCLUSIONS, node_names="retired")
    outcome, _actions = allocation(servers, "restored")
    assert codes(outcome.verdict) == [("undo_refused", State.REFUSED)]
    assert "No member was called retired" in outcome.verdict.reasons[0].message
    assert servers.excluded == ["a", "retired"]
    assert json.loads(servers.settings["persistent"][UNDO])["voting_exclusions"] == ["a", "retired"]


def test_a_member_that_is_away_votes_again_like_the_others() -> None:
    servers = left_excluded()
    servers.managers = "bc"
    outcome, _actions = allocation(servers, "restored")
    assert (outcome.verdict.reasons, servers.excluded, servers.settings) == ((), [], Voters().settings)


def test_what_is_only_undrained_stays_excluded() -> None:
    servers = left_excluded()
    before = deepcopy(servers.settings)
    outcome, _actions = allocation(servers, "undrained")
    assert not outcome.changed
    assert (servers.excluded, servers.settings) == (["a"], before)


def test_names_that_nobody_excludes_any_more_are_dropped() -> None:
    servers = left_excluded()
    servers.order("DELETE", EXCLUSIONS, wait_for_removal="false")
    asked = len(changing(servers))
    allocation(servers, "restored")
    assert changing(servers)[asked:] == [("PUT", SETTINGS)]
    assert servers.settings == Voters().settings


@pytest.mark.parametrize(("version", "name"), [("1.3.20", "master_node"), ("2.19.6", "cluster_manager_node")])
@pytest.mark.parametrize("elected", ["b", None])
def test_the_first_major_calls_the_elected_one_otherwise(version: str, name: str, elected: str | None) -> None:
    class Server:
        def get(self, path: str, filter_path: str) -> Any:
            assert (path, filter_path) == (f"/_cluster/state/{name}", name)
            return {name: identity(elected)} if elected else {}

    seen = cluster({"a": info("a", version)})
    assert observe_elected(cast(OpenSearchClient, Server()), seen) == (identity(elected) if elected else None)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(("batch", "elected"), [(["data-2"], "data-2"), (["data-2"], "data-0")])
def test_the_module_lets_it_hand_over_before_the_first_pod_is_deleted(
    monkeypatch: pytest.MonkeyPatch, batch: list[str], elected: str, check: bool
) -> None:
    world, servers = World(), Voters(managers=NAMES, others=(), elected=elected)
    world.starts, real = servers.start, world.delete

    def delete(path: str, uid: str) -> bool:
        assert servers.elected not in batch
        assert (servers.excluded, len(servers.votes)) == ([], 3)
        return real(path, uid)

    world.delete = delete  # type: ignore[method-assign]
    monkeypatch.setattr(pod_roll, "connect", lambda *_options: servers)
    monkeypatch.setattr(kubernetes, "connect", lambda *_options: world)
    params = {name: option.get("default") for name, option in pod_roll.CONTRACT.argument_spec.items()}
    params |= {"namespace": "search", "pools": ["data"], "batch": batch, "expected": list(NAMES), "wait_timeout": 60}
    result = perform(pod_roll.run, Task(params, clock=world, check_mode=check))
    hands_over = elected in batch and not check
    assert result["verdict"]["state"] == "passed"
    assert [each["action"] for each in result["actions"] if each["action"] in {"handed_over", "delete_pod"}] == (
        ["handed_over"] * hands_over + ["delete_pod"]
    )
    assert bool(changing(servers)) is hands_over
    assert len(world.deleted) == (not check)
