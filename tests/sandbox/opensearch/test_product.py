"""The product's own looks, gates and acts against the cluster in memory, on virtual time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate, shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.cluster_lock import ClusterLock
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import cluster as looks
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explaining import explain_moves
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.products import OPENSEARCH
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock

from tests.sandbox.opensearch.client import client_of
from tests.sandbox.opensearch.rooms import THREE, TO, Room
from tests.sandbox.opensearch.state import NOT_RECOVERED
from tests.sandbox.web import CutOff, Request

MEMBERS = list(THREE)


class Play:
    """Tasks of one run, as a playbook has them."""

    def __init__(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = room
        for module in (health_gate, shard_allocation):
            monkeypatch.setattr(module, "connect", lambda *_options: room.client)

    def do(self, contract: Contract, work: Any, **options: Any) -> Outcome:
        params = {name: option.get("default") for name, option in contract.argument_spec.items()}
        params |= {"wait_timeout": 300, "lock": {"run": "night"}, **options}
        outcome: Outcome = work(Task(params, clock=self.room.clock))
        return outcome

    def gate(self, moment: str, **options: Any) -> Outcome:
        given = {"expected": MEMBERS, "target_version": TO, "moment": moment, **options}
        return self.do(health_gate.CONTRACT, health_gate.run, **given)

    def allocation(self, state: str, **options: Any) -> Outcome:
        return self.do(shard_allocation.CONTRACT, shard_allocation.run, state=state, **options)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    room = Room(zones="abc")
    room.index(shards=3)
    return Play(room, monkeypatch)


def codes(outcome: Outcome) -> list[str]:
    return [reason.code for reason in outcome.verdict.reasons]


def test_every_gate_passes_and_three_members_are_upgraded_without_a_loss(play: Play) -> None:
    room = play.room
    for number in range(20):
        room.ask("PUT", f"/logs/_doc/{number}", {"number": number})
    before = room.ask("GET", "/_cluster/settings").body
    assert play.gate("before_upgrade").verdict.passed
    elected = room.elected()
    for name in sorted(MEMBERS, key=lambda name: (name == elected, name)):
        former = room.state().named(name)
        assert former is not None
        assert play.allocation("prepared", rebalance="none", recoveries=10, batch=[name]).verdict.passed
        assert play.gate("before_batch", batch=[name]).verdict.passed
        stops = play.gate("before_stop", batch=[name], hands_over=True, allocation="restrict")
        assert stops.verdict.passed
        assert name != room.elected()
        room.cluster.stop(name)
        room.clock.advance(1)
        assert room.health() == "yellow"
        room.cluster.start(room.spec(name, TO))
        joined = play.gate("joined", batch=[name], former_processes={name: former.ephemeral_id})
        assert joined.verdict.passed
        assert play.allocation("restored", part="batch").verdict.passed
    assert play.gate("after_upgrade").verdict.passed
    assert play.allocation("restored").verdict.passed
    assert room.ask("GET", "/_cluster/settings").body == before
    assert room.state().voting.exclusions == frozenset()
    assert room.ask("GET", "/logs/_count").body["count"] == 20
    assert {str(member.version) for member in room.state().members.values()} == {TO}


def test_a_missing_member_is_waited_for_and_a_wrong_version_refused(play: Play) -> None:
    last = MEMBERS[-1]
    play.room.cluster.stop(last)
    play.room.clock.advance(1)
    waits = play.gate("before_batch", batch=[MEMBERS[0]], wait=False)
    assert "member_missing" in codes(waits)
    play.room.start([last])
    assert "wrong_version" in codes(play.gate("after_upgrade", wait=False))


def test_a_replica_that_only_the_upgrade_can_place_is_expected_after_a_batch(play: Play) -> None:
    room = play.room
    last = next(name for name in MEMBERS if name != room.elected())
    room.cluster.stop(last)
    room.start([last], TO)
    room.index("mixed", more={"routing.allocation.include._name": last})
    assert room.ask("PUT", "/mixed/_settings", {"routing.allocation.include._name": None}).status == 200
    room.clock.advance(5)
    assert room.health() == "yellow"
    assert play.gate("after_batch", batch=[last]).verdict.passed


def test_a_member_is_drained_and_what_fits_nowhere_is_refused_with_the_deciders(play: Play) -> None:
    room, last = play.room, MEMBERS[-1]
    drained = play.allocation("drained", batch=[last])
    assert drained.verdict.passed
    assert drained.more["moved_bytes"] > 0
    assert not [copy for copy in room.state().copies if copy.member in room.state().ids([last])]
    assert play.allocation("undrained").changed
    room.index("everywhere", replicas=2)
    with pytest.raises(Refusal) as refused:
        play.allocation("drained", batch=[last])
    assert "same_shard on 2" in str(refused.value)
    assert room.ask("GET", "/_cluster/settings").body == {"persistent": {}, "transient": {}}


def test_an_archived_setting_goes_with_the_first_change_that_it_does_not_keep_away(play: Play) -> None:
    room = play.room
    room.configure(**{"compatibility.override_main_response_version": "false"})
    for name in MEMBERS:
        room.cluster.stop(name)
        room.start([name], TO)
    assert play.allocation("restricted").verdict.passed, "the server archives with the first change, which goes through"
    with pytest.raises(Refusal) as refused:
        play.allocation("restored", archived="refuse")
    assert "archived.compatibility" in str(refused.value)
    assert room.ask("PUT", "/_cluster/settings", {"persistent": {"cluster.metadata.owner": "a"}}).status == 400
    assert "archived_setting_removed" in codes(play.allocation("restored"))
    assert room.ask("GET", "/_cluster/settings").body == {"persistent": {}, "transient": {}}


def test_the_lock_in_the_cluster_is_taken_once(play: Play) -> None:
    store = ClusterLock(play.room.client)
    assert store.read() is None
    lock = Lock(run="night", who="a", since="then", renewed="now", seconds=60)
    held = store.write(lock, None)
    assert store.read() == held
    with pytest.raises(Refusal):
        ClusterLock(play.room.client).write(replace(lock, run="day"), None)
    store.remove(held)
    assert store.read() is None


def test_everything_that_gates_look_at_is_read(play: Play) -> None:
    room, client = play.room, play.room.client
    assert looks.observe_data_paths(client) == dict.fromkeys(MEMBERS, (OPENSEARCH.data_path,))
    disks = looks.observe_disks(client)
    assert [disk.member for disk in disks.disks] == MEMBERS
    assert disks.watermarks is not None
    assert looks.observe_tasks(client) == ()
    begun = room.ask(
        "POST",
        "/_reindex?wait_for_completion=false&requests_per_second=0.1",
        {"source": {"index": "logs"}, "dest": {"index": "copied"}},
    )
    (task,) = looks.observe_tasks(client)
    assert (task.id, task.kind) == (begun.body["task"], "reindex")
    room.ask("POST", f"/_tasks/{task.id}/_cancel")
    assert looks.observe_tasks(client) == ()
    room.ask("PUT", "/logs/_settings", {"index": {"number_of_replicas": 2}})
    assert looks.observe_recoveries(client).bytes > 0
    assert looks.observe_health(client, 20).status == "green"
    assert set(looks.observe_members(client, MEMBERS)) == set(MEMBERS)
    assert explain_moves(client, room.state(), room.state().copies)


def test_a_lost_answer_is_an_act_that_may_have_been_made(play: Play) -> None:
    room, seen = play.room, list[Request]()

    def cut(request: Request) -> None:
        seen.append(request)
        raise CutOff(made=False)

    client = client_of(room.cluster.handler(), room.clock, cut)
    with pytest.raises(Unreachable):
        client.get("/_cluster/health")
    assert len(seen) == 3, "the client asks again"
    with pytest.raises(Unreachable):
        client.post_once("/logs/_flush", 10)
    assert len(seen) == 4
    for name in MEMBERS:
        room.cluster.kill(name)
    with pytest.raises(Unreachable):
        room.client.get("/_cluster/health")


def test_a_request_that_waits_for_longer_than_its_limit_is_late(play: Play) -> None:
    for name in MEMBERS[:2]:
        play.room.cluster.kill(name)
    play.room.clock.advance(1)
    began = play.room.clock.now()
    with pytest.raises(Unreachable) as late:
        play.room.client.get("/_cluster/state/version", cluster_manager_timeout="10m")
    assert "30 s" in str(late.value)
    assert 30 <= play.room.clock.now() - began < 31


IP, NAME, HOST = (f"cluster.routing.allocation.exclude.{each}" for each in ("_ip", "_name", "_host"))


@pytest.mark.parametrize("version", ["8.19.4", "2.19.6"])
def test_a_drain_leaves_an_exclusion_by_another_attribute_in_force(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elasticsearch keeps only the exclusions in force that were changed last (elastic/elasticsearch#55815)."""
    room = Room(version=version)
    room.index(shards=4, replicas=0)
    play = Play(room, monkeypatch)
    settings = {IP: "10.0.0.0", NAME: ["gone"]}
    room.configure(**{NAME: ["gone"]})
    room.configure(**{IP: "10.0.0.0"})
    room.clock.advance(60)

    def holding() -> set[str]:
        return {name for shard in range(4) for name in room.places(shard=shard)}

    assert "m-0" not in holding()
    assert play.allocation("drained", batch=["m-2"]).verdict.passed
    assert not play.allocation("drained", batch=["m-2"]).changed
    assert holding() == {"m-1"}
    room.index("during", replicas=0)
    assert [*room.places("during")] == ["m-1"]
    undrained = play.allocation("undrained")
    assert (codes(undrained), undrained.changed) == ([], True)
    room.clock.advance(60)
    room.index("after", shards=3, replicas=0)
    assert "m-0" not in {*holding(), *(name for shard in range(3) for name in room.places("after", shard))}
    assert room.cluster.state.settings.persistent == settings


def test_an_exclusion_that_is_set_while_a_member_is_drained_is_named_when_it_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(version="8.19.4")
    play = Play(room, monkeypatch)
    room.configure(**{IP: "10.0.0.0"})
    play.allocation("drained", batch=["m-2"])
    room.configure(**{HOST: "elsewhere"})
    undrained = play.allocation("undrained")
    assert codes(undrained) == ["exclusion_not_in_force"]
    assert f"{HOST} was set to 'elsewhere'" in undrained.verdict.reasons[0].message
    assert room.cluster.state.settings.persistent == {IP: "10.0.0.0", HOST: "elsewhere"}


def test_the_settings_that_a_cluster_hides_until_it_has_recovered_are_not_taken_for_none() -> None:
    """An undo that is not seen would be replaced by the next one."""
    room = Room()
    room.configure(cluster__routing__rebalance__enable="none")
    there = looks.read_settings(room.client)
    for name in MEMBERS:
        room.cluster.kill(name)
        room.cluster.start(room.spec(name))
    while not room.cluster.state.nodes or NOT_RECOVERED not in room.cluster.state.blocks():
        room.clock.advance(0.05)
    assert room.ask("GET", "/_cluster/settings").body == {"persistent": {}, "transient": {}}
    with pytest.raises(Unreachable) as caught:
        looks.read_settings(room.client)
    assert "state not recovered" in str(caught.value)
    room.clock.advance(10.0)
    assert looks.read_settings(room.client) == there
