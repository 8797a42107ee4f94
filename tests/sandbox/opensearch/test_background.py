"""Work that runs during an upgrade: snapshots, long tasks, and documents that are written."""

from __future__ import annotations

import pytest

from tests.sandbox.opensearch.rooms import ENABLE, THREE, TO, Room

REPOSITORY = {"type": "fs", "settings": {"location": "/snapshots/slow", "max_snapshot_bytes_per_sec": "1kb"}}


@pytest.fixture
def room() -> Room:
    room = Room(settings={"path.repo": "/snapshots"})
    room.index()
    for number in range(20):
        room.ask("PUT", f"/logs/_doc/{number}", {"text": "x" * 1000})
    return room


def test_a_snapshot_lasts_for_as_long_as_its_bytes_take(room: Room) -> None:
    assert room.ask("PUT", "/_snapshot/slow", REPOSITORY).status == 200
    assert room.ask("PUT", "/_snapshot/slow/night", {"indices": "logs"}).body == {"accepted": True}
    (snapshot,) = room.state().snapshots
    primary = room.state().members[next(c.member for c in room.state().copies if c.primary) or ""]
    assert (snapshot.name, snapshot.unfinished) == ("slow/night", (("logs", 0, primary.id),))
    room.clock.advance(10)
    assert room.state().snapshots
    assert room.ask("DELETE", "/_snapshot/slow").status == 400
    room.clock.advance(30)
    assert room.state().snapshots == ()
    assert room.ask("GET", "/_snapshot/slow/night").body["snapshots"][0]["state"] == "SUCCESS"


def test_a_snapshot_is_partial_where_its_member_goes(room: Room) -> None:
    room.ask("PUT", "/_snapshot/slow", REPOSITORY)
    room.ask("PUT", "/_snapshot/slow/night", {"indices": "logs"})
    room.cluster.stop(next(name for name, state in room.places().items() if state.endswith("*")))
    room.clock.advance(2)
    assert room.ask("GET", "/_snapshot/slow/night").body["snapshots"][0]["state"] == "PARTIAL"
    assert room.ask("DELETE", "/_snapshot/slow/night").status == 200
    assert room.ask("DELETE", "/_snapshot/slow").status == 200
    assert room.ask("PUT", "/_snapshot/slow/night").status == 404


def test_a_repository_has_to_be_where_all_members_may_write(room: Room) -> None:
    refused = room.ask("PUT", "/_snapshot/other", {"type": "fs", "settings": {"location": "/elsewhere"}})
    assert (refused.status, refused.body["error"]["type"]) == (500, "repository_exception")


def test_a_task_ends_with_the_member_that_coordinates_it(room: Room) -> None:
    body = {"source": {"index": "logs"}, "dest": {"index": "copied"}}
    target = "/_reindex?wait_for_completion=false&requests_per_second=0.001"
    begun = room.ask("POST", target, body, member="m-1").body["task"]
    assert begun in room.ask("GET", "/_tasks?actions=*reindex&detailed=true").text
    room.cluster.kill("m-1")
    room.clock.advance(1)
    assert room.ask("GET", "/_tasks?actions=*reindex", member="m-0").body == {"nodes": {}}


def test_what_is_written_all_along_is_there_after_an_upgrade(room: Room) -> None:
    written = 0
    for name in THREE:
        room.configure(**{ENABLE: "primaries"})
        room.cluster.stop(name)
        for _step in range(80):
            room.clock.advance(0.1)
            if _step == 20:
                room.cluster.start(room.spec(name, TO))
            answer = room.ask("PUT", f"/logs/_doc/w{written}", {"number": written})
            assert answer.status == 201
            written += 1
        room.configure(**{ENABLE: None})
        assert room.ask("GET", "/_cluster/health?wait_for_status=green&timeout=30s").status == 200
    assert room.ask("GET", "/logs/_count").body["count"] == 20 + written


def test_a_write_waits_until_a_primary_is_there_or_its_time_is_over(room: Room) -> None:
    room.index("lone", replicas=0)
    (holder,) = room.places("lone")
    room.cluster.stop(holder)
    room.clock.advance(1)
    refused = room.ask("PUT", "/lone/_doc/1?timeout=2s", {"a": 1})
    assert (refused.status, refused.body["error"]["type"]) == (503, "unavailable_shards_exception")
    assert room.ask("POST", "/lone/_search", {}).status == 503
    assert room.ask("POST", "/lone,logs/_search", {}).body["_shards"] == {
        "total": 2,
        "successful": 1,
        "skipped": 0,
        "failed": 0,
    }
    room.cluster.start(room.spec(holder))
    assert room.ask("PUT", "/lone/_doc/1?timeout=30s", {"a": 1}).status == 201
