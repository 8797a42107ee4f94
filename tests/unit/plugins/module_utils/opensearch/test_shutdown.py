"""Members that restart are registered at Elasticsearch as long as allocation is restricted for them, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_present
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.products import (
    ELASTICSEARCH,
    OPENSEARCH,
    Product,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    coordination,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.test_shard_allocation import (
    act,
    finished,
)

STRANGER = {"type": "REMOVE", "reason": "of someone else"}


def servers(version: str = "8.19.4", product: Product = ELASTICSEARCH, **more: Any) -> Servers:
    """Three members of Elasticsearch that know the API."""
    flavor = {"build_flavor": "default"} if product is ELASTICSEARCH else {}
    nodes = {identity(name): {**info(name, version), **flavor} for name in "abc"}
    state = state_answer("abc", elected=None if product is ELASTICSEARCH else "a")
    if product is ELASTICSEARCH:
        state["master_node"] = identity("a")
    return Servers(state=state, nodes=nodes, product=product, **{"shutdowns": {}, **more})


def codes(outcome: Any) -> list[str]:
    return [reason.code for reason in outcome.verdict.reasons]


def test_a_member_is_registered_with_its_delay_and_taken_back() -> None:
    client = servers()
    act(client, "restricted")
    assert client.shutdowns == {
        identity("a"): {"type": "restart", "reason": "stateful.upgrade night", "allocation_delay": "1h"}
    }
    act(client, "restored")
    assert client.shutdowns == {}


@pytest.mark.parametrize("state", ["unrestricted", "restored"])
def test_whoever_puts_allocation_back_takes_it_back(state: str) -> None:
    client = servers()
    act(client, "restricted")
    act(client, state)
    assert client.shutdowns == {}


@pytest.mark.parametrize("cut_off", range(1, 8))
@pytest.mark.parametrize("lost_answer", [False, True])
def test_a_run_that_is_cut_off_leaves_none_once_all_is_put_back(cut_off: int, lost_answer: bool) -> None:
    client = servers(cut_off=cut_off, lost_answer=lost_answer)
    finished(client, "restricted")
    client.cut_off = None
    act(client, "restored")
    assert (client.shutdowns, client.settings["persistent"]) == ({}, {})


@pytest.mark.parametrize("cut_off", range(1, 9))
@pytest.mark.parametrize("lost_answer", [False, True])
def test_putting_back_that_is_cut_off_is_finished_by_the_next(cut_off: int, lost_answer: bool) -> None:
    client = servers()
    act(client, "restricted")
    client.asked.clear()
    client.cut_off, client.lost_answer = cut_off, lost_answer
    finished(client, "restored")
    client.cut_off = None
    act(client, "restored")
    assert (client.shutdowns, client.settings["persistent"]) == ({}, {})


@pytest.mark.parametrize(("part", "left"), [("all", 0), ("batch", 1)])
def test_one_that_is_left_without_an_undo_is_taken_back_when_everything_is_put_back(part: str, left: int) -> None:
    """A person has removed the undo, and the servers would wait an hour for that member whenever it leaves."""
    client = servers()
    act(client, "restricted")
    client.settings["persistent"].clear()
    done = act(client, "restored", part=part)
    assert (len(client.shutdowns or {}), done.changed) == (left, not left)
    assert not act(client, "restored", part=part).changed


def test_a_registration_that_is_gone_when_it_is_taken_back_stops_nothing() -> None:
    """The package repeats a request whose answer was lost, and the server then says 404."""

    class Repeating(Servers):
        def _answer(self, method: str, path: str, body: Any) -> Json:
            if method == "DELETE":
                super()._answer(method, path, body)
            return super()._answer(method, path, body)

    client = Repeating(**vars(servers()))
    act(client, "restricted")
    act(client, "restored")
    assert (client.shutdowns, client.settings["persistent"]) == ({}, {})


def test_those_of_others_stay_and_are_told_if_they_are_of_the_batch() -> None:
    client = servers(shutdowns={identity("a"): STRANGER, identity("b"): STRANGER})
    done = act(client, "restricted")
    assert codes(done) == ["shutdown_of_another"]
    assert "a to shut down" in done.verdict.reasons[0].message
    act(client, "restored")
    assert client.shutdowns == {identity("a"): STRANGER, identity("b"): STRANGER}


@pytest.mark.parametrize(
    ("version", "product", "shutdowns"),
    [("7.14.2", ELASTICSEARCH, {}), ("8.19.4", ELASTICSEARCH, None), ("3.8.0", OPENSEARCH, {})],
)
def test_nobody_is_asked_that_does_not_know_it(version: str, product: Product, shutdowns: Json | None) -> None:
    client = servers(version, product, shutdowns=shutdowns)
    done = act(client, "restricted")
    act(client, "restored")
    assert codes(done) == []
    assert [method for method, path in client.asked if "shutdown" in path and method != "GET"] == []
    assert client.shutdowns == shutdowns


def test_without_the_privilege_a_remark_says_so() -> None:
    client = servers()
    client.denied["GET /_nodes/shutdown"] = "cluster:admin/shutdown/get"
    done = act(client, "restricted")
    assert (codes(done), done.changed) == (["shutdown_not_registered"], True)
    act(client, "restored")
    assert client.settings["persistent"] == {}


def test_check_mode_registers_nobody() -> None:
    client = servers()
    act(client, "restricted", check=True)
    assert client.shutdowns == {}


@pytest.mark.parametrize(
    ("kind", "reason", "present", "batch", "waits"),
    [
        ("REMOVE", "scaled down", "abc", "a", True),
        ("REPLACE", "scaled down", "abc", "", True),
        ("SIGTERM", "", "abc", "c", True),
        # It comes back, or the run has registered it itself, or it has gone, or nothing is taken down.
        ("RESTART", "patched", "abc", "a", False),
        ("REMOVE", "stateful.upgrade night", "abc", "a", False),
        ("REMOVE", "scaled down", "ab", "a", False),
        ("REMOVE", "scaled down", "bc", "a", False),
    ],
)
def test_nothing_goes_while_others_remove_a_member(
    kind: str, reason: str, present: str, batch: str, waits: bool
) -> None:
    infos = {name: info(name) for name in present}
    answer = state_answer(infos, elected="b", voting=coordination(""))
    registered = {"node_id": identity("c"), "type": kind, "reason": reason, "shutdown_startedmillis": 1}
    answer["metadata"]["node_shutdown"] = {"nodes": {identity("c"): registered}}
    state = parse_state({identity(name): one for name, one in infos.items()}, answer)
    found = [each for each in judge_present(state, "abc", batch).reasons if each.code == "member_to_be_removed"]
    assert [each.state for each in found] == [State.WAITING] * waits
    assert all("has registered c to leave the cluster for good" in each.message for each in found)
    assert all(("(scaled down)" in each.message) is (reason == "scaled down") for each in found)
