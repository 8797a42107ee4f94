"""The clusters that follow indices of this one are named in its plan, since they have to be upgraded before it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import followers
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.followers import judge_followers
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.followers import followers_in
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

from tests.sandbox.opensearch.rooms import Room

OF_OPENSEARCH = "replication:dr:Xo5b2lUVTpq0:[logs-copy][0]"
OF_ELASTICSEARCH = "dr-west/logs-copy/a1-following-main/logs/b2"
OWN = "peer_recovery/Qm3xUVTpq0aaaaaaaaaaaa"
ANSWERED = {"_shards": {"failed": 0}}


def answer(**leases: list[str]) -> dict[str, Any]:
    """Each index has one shard with two copies, which both report its leases."""
    copies = {
        name: [{"retention_leases": {"leases": [{"id": each} for each in ids]}}] * 2 for name, ids in leases.items()
    }
    return {**ANSWERED, "indices": {name: {"shards": {"0": found}} for name, found in copies.items()}}


@pytest.mark.parametrize(
    ("lease", "cluster"),
    [
        (OF_OPENSEARCH, "dr"),
        ("replication:dr:[logs-copy][0]", "dr"),
        (OF_ELASTICSEARCH, "dr-west"),
        (OWN, None),
        # A plugin may hold leases of its own.
        ("something/else", None),
    ],
)
def test_a_lease_names_the_cluster_that_holds_it(lease: str, cluster: str | None) -> None:
    assert followers_in(answer(logs=[OWN, lease], other=[OWN])) == ({cluster: {"logs"}} if cluster else {})


@pytest.mark.parametrize("given", [{}, {"indices": {"logs": {}}}, {"indices": {"logs": {"shards": {"0": [{}]}}}}])
def test_a_cluster_without_leases_has_no_followers(given: dict[str, Any]) -> None:
    assert followers_in({**ANSWERED, **given}) == {}


def test_followers_are_not_known_as_long_as_a_shard_has_not_answered() -> None:
    with pytest.raises(Unreadable, match="so the leases would lack shards"):
        followers_in({**answer(logs=[OWN]), "_shards": {"failed": 1}})


def test_each_follower_is_named_with_its_indices() -> None:
    reasons = judge_followers({"dr": {"logs", "orders"}, "b": {"logs"}}, Version(3, 8, 0)).reasons
    assert [(each.code, each.state) for each in reasons] == [("followed", State.PASSED)] * 2
    assert "Cluster dr follows indices of this one: logs, orders. If it is older than 3.8.0," in reasons[1].message
    assert reasons[1].remedy.startswith("Upgrade dr first, unless it is on 3.8.0 already.")


def said_by(monkeypatch: pytest.MonkeyPatch, servers: Any) -> list[tuple[str, str]]:
    monkeypatch.setattr(followers, "connect", lambda *_options: servers)
    result = perform(followers.run, Task(followers.CONTRACT.arguments({}, target_version="3.8.0")))
    reasons = result["verdict"]["reasons"]
    return [(reason["code"], reason["message"]) for reason in reasons]


def test_a_leader_is_asked_with_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    room.index("logs")
    room.index("orders")
    assert said_by(monkeypatch, room.client) == []
    room.cluster.documents.followed = {"logs": OF_OPENSEARCH}
    ((code, message),) = said_by(monkeypatch, room.client)
    assert (code, "Cluster dr follows indices of this one: logs." in message) == ("followed", True)


def test_without_the_right_the_plan_says_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = Servers(denied={"/_stats/docs": "indices:monitor/stats"})
    ((code, message),) = said_by(monkeypatch, servers)
    assert code == "followers_unknown"
    assert "no permissions for [indices:monitor/stats]" in message
