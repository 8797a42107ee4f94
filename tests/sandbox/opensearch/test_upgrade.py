"""Three combined members in memory are upgraded from 2.19.6 to 3.8.0, as the product sees them."""

from __future__ import annotations

from tests.sandbox.opensearch.rooms import ENABLE, FROM, THREE, TO, Room


def test_three_members_are_upgraded_one_by_one() -> None:
    room = Room(zones="abc")
    room.index(shards=2)
    before = room.state()
    assert room.health() == "green"
    for name in THREE:
        room.ask("PUT", "/_cluster/settings", {"persistent": {ENABLE: "primaries"}})
        room.cluster.stop(name)
        away = room.ask("GET", "/_cluster/health?wait_for_nodes=2&timeout=9s").body
        assert (away["status"], away["number_of_nodes"]) == ("yellow", 2)
        assert room.state().named(name) is None
        room.start([name], TO)
        assert room.cluster.ready(name)
        room.ask("PUT", "/_cluster/settings", {"persistent": {ENABLE: None}})
        assert room.ask("GET", "/_cluster/health?wait_for_status=green&timeout=30s").status == 200
    after = room.state()
    assert {str(member.version) for member in before.members.values()} == {FROM}
    assert {str(member.version) for member in after.members.values()} == {TO}
    assert after.members.keys() == before.members.keys(), "the ids are on the disks"
    assert {m.ephemeral_id for m in after.members.values()}.isdisjoint(m.ephemeral_id for m in before.members.values())
    assert after.uuid == before.uuid
    assert after.voting.committed == frozenset(after.members)
