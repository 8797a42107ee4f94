"""Restricting allocation and putting it back, on a cluster that really keeps its settings and may be cut off."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act import allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.putting_back import restore
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import read_settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ENABLE, UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.test_waiting import VirtualClock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    index_metadata,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from hypothesis import given
from hypothesis import strategies as st

USERS = st.fixed_dictionaries(
    {
        scope: st.dictionaries(
            st.sampled_from([ENABLE, "cluster.routing.rebalance.enable", "cluster.metadata.owner"]),
            st.sampled_from(["all", "none", "new_primaries"]),
        )
        for scope in ("persistent", "transient")
    }
)
"""Settings of users; `primaries` is what the tests restrict to."""

Act = Callable[..., Outcome]


def act(client: Any, state: str, *, check: bool = False, **params: Any) -> Outcome:
    """One run of the module."""
    defaults = {name: option.get("default") for name, option in shard_allocation.CONTRACT.argument_spec.items()}
    given = {**defaults, "state": state, "lock": {"run": "night"}, "batch": ["a"], **params}
    task = Task(params=given, check_mode=check)
    settings = read_settings(client)
    works: dict[str, Act] = {"restricted": allocation.restrict, "prepared": allocation.prepare}
    outcome = works.get(state, restore)(task, client, settings)
    return replace(outcome, more={"actions": task.journal.as_result()})


def finished(client: Servers, state: str) -> bool:
    """One run of the module that may be cut off; whether it was not."""
    try:
        act(client, state)
    except Unreachable:
        return False
    return True


def effective(client: Servers) -> str | None:
    settings = client.settings
    return settings["transient"].get(ENABLE, settings["persistent"].get(ENABLE))


@given(USERS)
def test_restricted_and_restored_leaves_no_trace(users: dict[str, dict[str, str]]) -> None:
    client = Servers(settings=deepcopy(users))
    assert act(client, "restricted").changed
    assert effective(client) == "primaries"
    assert act(client, "restored").changed
    assert client.settings == users


@given(USERS)
def test_the_second_time_nothing_is_written(users: dict[str, dict[str, str]]) -> None:
    client = Servers(settings=deepcopy(users))
    for state in ("restricted", "restored"):
        act(client, state)
        client.asked.clear()
        assert not act(client, state, lock={"run": "another"}).changed
        assert all(method == "GET" for method, _path in client.asked)
    assert client.settings == users


@given(
    USERS,
    st.lists(
        st.tuples(st.sampled_from(["restricted", "restored"]), st.none() | st.integers(0, 5), st.booleans()), max_size=8
    ),
)
def test_whatever_is_cut_off_when_the_end_is_as_the_beginning(
    users: dict[str, dict[str, str]], runs: list[tuple[str, int | None, bool]]
) -> None:
    """Each run may lose its cluster after any request, before or after the servers have done it."""
    client = Servers(settings=deepcopy(users))
    for state, client.cut_off, client.lost_answer in runs:
        client.asked.clear()
        if finished(client, state):
            assert effective(client) == ("primaries" if state == "restricted" else _effective_of(users))
    client.cut_off = None
    act(client, "restored")
    assert client.settings == users


def _effective_of(users: dict[str, dict[str, str]]) -> str | None:
    return users["transient"].get(ENABLE, users["persistent"].get(ENABLE))


@given(USERS)
def test_check_mode_says_the_same_and_writes_nothing(users: dict[str, dict[str, str]]) -> None:
    client = Servers(settings=deepcopy(users))
    for state in ("restricted", "restored"):
        before = deepcopy(client.settings)
        client.asked.clear()
        planned = act(client, state, check=True)
        assert client.settings == before
        assert all(method == "GET" for method, _path in client.asked)
        done = act(client, state)
        assert (planned.changed, planned.before, planned.after) == (done.changed, done.before, done.after)


def test_the_change_and_its_undo_are_one_request() -> None:
    client = Servers(settings={"persistent": {"cluster.metadata.owner": "search"}, "transient": {}})
    outcome = act(client, "restricted")
    assert [method for method, path in client.asked if path == "/_cluster/settings"] == ["GET", "PUT"]
    undo = json.loads(client.settings["persistent"][UNDO])
    assert (undo["run"], undo["cluster"]) == ("night", "uuid")
    assert undo["changes"] == [{"path": ["persistent", ENABLE], "was": None, "set_to": "primaries"}]
    assert outcome.after == {f"persistent {ENABLE}": "primaries"}


def test_what_another_set_meanwhile_stays_and_is_told() -> None:
    client = Servers()
    act(client, "restricted")
    client.settings["persistent"][ENABLE] = "none"
    outcome = act(client, "restored")
    assert client.settings == {"persistent": {ENABLE: "none"}, "transient": {}}
    assert [reason.code for reason in outcome.verdict.reasons] == ["changed_by_another"]
    assert outcome.verdict.passed


@pytest.mark.parametrize("left", [{}, {ENABLE: "primaries"}])
def test_in_check_mode_the_undo_of_an_interrupted_run_is_in_nobodys_way(left: dict[str, str]) -> None:
    """The run itself puts it back before its first batch, and check mode changes nothing."""
    client = Servers()
    act(client, "restricted")
    kept = {"persistent": {UNDO: client.settings["persistent"][UNDO], **left}, "transient": {}}
    client.settings = deepcopy(kept)
    outcome = act(client, "restricted", check=True, lock={"run": "morning"}, enable="none")
    assert (outcome.verdict.passed, client.settings) == (True, kept)
    with pytest.raises(Refusal) as caught:
        act(client, "restricted", lock={"run": "morning"}, enable="none")
    assert caught.value.verdict.reasons[0].code in {"undo_left", "restricted_otherwise"}


@pytest.mark.parametrize(
    ("settings", "enable", "code"),
    [({ENABLE: "primaries"}, "none", "restricted_otherwise"), ({}, "primaries", "undo_left")],
)
def test_an_undo_is_never_overwritten(settings: dict[str, str], enable: str, code: str) -> None:
    client = Servers()
    act(client, "restricted")
    kept = client.settings["persistent"][UNDO]
    client.settings = {"persistent": {UNDO: kept, **settings}, "transient": {}}
    with pytest.raises(Refusal) as caught:
        act(client, "restricted", enable=enable, run="another")
    assert [reason.code for reason in caught.value.verdict.reasons] == [code]
    assert client.settings["persistent"] == {UNDO: kept, **settings}


def test_a_restriction_of_the_same_kind_is_adopted_with_its_undo() -> None:
    client = Servers()
    act(client, "restricted")
    outcome = act(client, "restricted", run="another")
    assert [reason.code for reason in outcome.verdict.reasons] == ["undo_adopted"]
    assert json.loads(client.settings["persistent"][UNDO])["run"] == "night"


def test_settings_that_the_new_version_does_not_know_do_not_keep_allocation_restricted() -> None:
    client = Servers()
    act(client, "restricted")
    client.settings["persistent"]["archived.compatibility.override_main_response_version"] = "true"
    outcome = act(client, "restored")
    assert client.settings == {"persistent": {}, "transient": {}}
    assert [reason.code for reason in outcome.verdict.reasons] == ["archived_setting_removed"]
    assert "compatibility.override_main_response_version = 'true'" in outcome.verdict.reasons[0].message
    removed = [(action["action"], action["was"]) for action in outcome.more["actions"]]
    assert removed == [("restored", "primaries"), ("removed", "true")]
    assert outcome.after == {}


def test_settings_that_were_archived_before_go_with_the_restriction() -> None:
    client = Servers(settings={"persistent": {}, "transient": {"archived.old": "1"}})
    outcome = act(client, "restricted")
    assert [reason.code for reason in outcome.verdict.reasons] == ["archived_setting_removed"]
    assert act(client, "restored").changed
    assert client.settings == {"persistent": {}, "transient": {}}


@pytest.mark.parametrize(
    ("params", "flushed"),
    [
        ({"batch": ["a"]}, ["/one,two/_flush"]),
        ({"batch": ["c"]}, []),
        ({"batch": []}, []),
        ({"batch": ["a"], "flush": False}, []),
    ],
)
def test_the_indices_on_the_batch_are_flushed_before_it_goes(params: dict[str, Any], flushed: list[str]) -> None:
    copies = [copy("two", "a", primary=True), copy("one", "b", primary=True), copy("one", "a"), copy("else", "b")]
    client = Servers(state=state_answer("abc", copies, elected="a"))
    act(client, "restricted", **params)
    assert [path for method, path in client.asked if method == "POST"] == flushed
    assert client.asked[-1] == ("PUT", "/_cluster/settings")


def test_before_a_batch_the_cluster_is_looked_at_once() -> None:
    client = Servers(state=state_answer("abc", [copy("one", "a", primary=True)], elected="a"))
    act(client, "prepared", rebalance="none")
    assert [path for method, path in client.asked if method == "POST"] == ["/one/_flush"]
    assert sum(path.startswith("/_cluster/state/metadata") for _method, path in client.asked) == 1
    # The settings are read again, since a flush may have taken minutes.
    assert client.asked[-2:] == [("GET", "/_cluster/settings"), ("PUT", "/_cluster/settings")]


class Slow(Servers):
    """While the flush runs, another sets what is about to be changed; the answer to the first change is lost."""

    lost = False

    def post_once(self, path: str, seconds: float, **params: Any) -> Json:
        self.settings["persistent"][ENABLE] = "none"
        return super().post_once(path, seconds, **params)

    def put(self, path: str, body: Any, **params: Any) -> Json:
        answer = super().put(path, body, **params)
        if not self.lost:
            self.lost = True
            raise Unreachable(refused("opensearch_unreachable", "OpenSearch cannot be reached.", "Check the network."))
        return answer


def test_a_long_flush_is_made_once_and_what_changed_meanwhile_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Slow(state=state_answer("abc", [copy("one", "a", primary=True)], elected="a"))
    monkeypatch.setattr(shard_allocation, "connect", lambda *_options: client)
    defaults = {name: option.get("default") for name, option in shard_allocation.CONTRACT.argument_spec.items()}
    params = {**defaults, "state": "restricted", "lock": {"run": "night"}, "batch": ["a"]}
    result = perform(shard_allocation.run, Task(params, clock=VirtualClock()))
    assert (result["verdict"]["state"], effective(client)) == ("passed", "primaries")
    assert [path for method, path in client.asked if method == "POST"] == ["/one/_flush"]
    act(client, "restored")
    assert effective(client) == "none"


def test_an_orphan_changes_nothing() -> None:
    client: Any = Servers(state=state_answer("abc", indices={"closed": index_metadata() | {"state": "close"}}))
    defaults = {name: option.get("default") for name, option in shard_allocation.CONTRACT.argument_spec.items()}
    task = Task(params={**defaults, "state": "restricted"}, parents=("1.0",))
    with pytest.raises(Refusal) as caught:
        allocation.restrict(task, client, read_settings(client))
    assert [reason.code for reason in caught.value.verdict.reasons] == ["orphaned"]
    assert client.settings == {"persistent": {}, "transient": {}}


FORGED: dict[str, Any] = {
    "path": ["persistent", "cluster.routing.allocation.include._name"],
    "was": "x",
    "set_to": "y",
}
"""A change that no run makes."""


def test_of_a_foreign_undo_only_what_a_run_changes_is_put_back() -> None:
    client = Servers()
    act(client, "restricted")
    undo = json.loads(client.settings["persistent"][UNDO])
    other: dict[str, Any] = {
        "path": ["transient", "indices.breaker.total.limit"],
        "was": None,
        "set_to": "1%",
    }
    client.settings["persistent"][UNDO] = json.dumps({**undo, "changes": [FORGED, *undo["changes"], other]})
    client.settings["persistent"][FORGED["path"][1]] = "y"
    client.settings["transient"][other["path"][1]] = "1%"
    for changed in (True, False):
        outcome = act(client, "restored")
        assert (outcome.verdict.state, outcome.changed) == (State.REFUSED, changed)
        assert [reason.code for reason in outcome.verdict.reasons] == ["undo_refused"] * 2
        assert FORGED["path"][1] in outcome.verdict.reasons[0].message
        assert effective(client) is None
        assert client.settings["persistent"][FORGED["path"][1]] == "y"
        assert client.settings["transient"] == {other["path"][1]: "1%"}
        assert json.loads(client.settings["persistent"][UNDO])["changes"] == [FORGED, other]


@pytest.mark.parametrize("state", ["restored", "restricted"])
def test_an_undo_that_came_with_a_snapshot_is_refused(state: str) -> None:
    client = Servers()
    act(client, "restricted")
    client.state["cluster_uuid"] = "another"
    kept = deepcopy(client.settings)
    with pytest.raises(Refusal, match=r"in the cluster uuid\. This is another") as caught:
        act(client, state)
    assert [reason.code for reason in caught.value.verdict.reasons] == ["undo_of_another_cluster"]
    assert client.settings == kept


def test_where_the_lock_cannot_be_asked_for_nothing_is_noted() -> None:
    """A request that was certainly not sent is not reported as an act whose answer was lost."""

    class Guard:
        def before_look(self, _doing: str, _stoppable: bool) -> None:
            raise AssertionError("no look is made here")

        def before_act(self) -> None:
            raise Unreachable(refused("kubernetes_unreachable", "The Kubernetes API cannot be reached.", ""))

    client = Servers()
    act(client, "restricted")
    kept, reached = deepcopy(client.settings), cast(OpenSearchClient, client)
    task = Task(params={"state": "restored", "part": "all", "archived": "remove"}, guard=Guard())
    with pytest.raises(Unreachable):
        restore(task, reached, read_settings(reached))
    assert (task.journal.as_result(), task.journal.unconfirmed) == ([], False)
    assert client.settings == kept
