"""Members come and go: who they are, and by which version they are let in."""

from __future__ import annotations

import pytest

from tests.sandbox.opensearch.rooms import FROM, THREE, TO, Room
from tests.sandbox.web import CutOff

LAST = "m-2"


def test_the_port_is_open_once_a_member_has_joined_and_closed_as_soon_as_it_is_told_to_stop() -> None:
    room = Room()
    gone: list[float] = []
    room.cluster.stop(LAST, lambda: gone.append(room.clock.now()))
    assert not room.cluster.ready(LAST)
    with pytest.raises(CutOff):
        room.ask("GET", "/", member=LAST)
    assert not gone
    room.clock.advance(1)
    assert gone
    room.cluster.start(room.spec(LAST))
    assert room.cluster.runs(LAST)
    assert not room.cluster.ready(LAST)
    room.clock.advance(6)
    assert room.cluster.ready(LAST)


def test_a_member_keeps_its_id_with_its_disk_and_is_another_process_each_time() -> None:
    room = Room()
    before = room.state().named(LAST)
    room.cluster.kill(LAST)
    room.start([LAST])
    after = room.state().named(LAST)
    room.cluster.kill(LAST)
    room.start([LAST], disk="another")
    fresh = room.state().named(LAST)
    assert before is not None
    assert after is not None
    assert fresh is not None
    assert before.id == after.id != fresh.id
    assert len({before.ephemeral_id, after.ephemeral_id, fresh.ephemeral_id}) == 3


def test_one_that_is_back_before_it_was_missed_is_another_process_all_the_same() -> None:
    room = Room()
    room.index(replicas=2)
    before = room.state().named(LAST)
    room.cluster.kill(LAST)
    room.cluster.start(room.spec(LAST))
    room.clock.advance(20)
    after = room.state().named(LAST)
    assert before is not None
    assert after is not None
    assert before.ephemeral_id != after.ephemeral_id
    assert room.health() == "green"


def test_an_older_member_is_let_in_until_all_are_of_the_new_major_version() -> None:
    room = Room()
    for name in THREE:
        room.cluster.stop(name)
        room.start([name], TO)
    room.cluster.stop(LAST)
    room.cluster.start(room.spec(LAST, FROM, "empty"))
    room.clock.advance(60)
    assert "higher major" in room.cluster.said(LAST)
    assert room.ask("GET", "/", member=LAST).body["cluster_uuid"] == "_na_"
    assert room.ask("GET", "/_cluster/health?timeout=1s", member=LAST).status == 503
    assert room.state().named(LAST) is None
    room.start([LAST], TO)
    assert room.state().named(LAST) is not None


def test_a_member_on_a_newer_disk_ends_at_its_start() -> None:
    room = Room()
    room.cluster.stop(LAST)
    room.start([LAST], TO)
    room.cluster.stop(LAST)
    room.start([LAST], FROM)
    assert not room.cluster.runs(LAST)
    assert "cannot downgrade" in room.cluster.said(LAST)


def test_members_that_are_too_far_apart_do_not_meet() -> None:
    room = Room(version="2.18.0")
    room.cluster.stop(LAST)
    room.start([LAST], TO, disk="empty")
    assert room.state().named(LAST) is None
    assert "not supported" in room.cluster.said(LAST)


def test_an_index_is_made_for_the_oldest_member_that_is_not_only_for_clients() -> None:
    room = Room({**THREE, "c-0": ()})
    for name in THREE:
        room.index(f"before-{name}")
        room.cluster.stop(name)
        room.start([name], TO)
    room.index("after")
    created = {name: str(index.created) for name, index in room.state().indices.items()}
    assert created == {"before-m-0": FROM, "before-m-1": FROM, "before-m-2": FROM, "after": TO}
    room.cluster.stop("c-0")
    room.start(["c-0"], FROM, disk="c-0-new")
    assert room.state().named("c-0") is None, "it is older than an index"


def test_a_silent_member_is_in_the_state_for_a_moment_and_its_answer_is_missing() -> None:
    room = Room()
    other = next(name for name in THREE if name != room.elected())
    room.cluster.kill(other)
    disks = room.ask("GET", "/_nodes/data:true/stats/fs").body
    assert disks["_nodes"]["failed"] == 1
    assert other in {node["name"] for node in room.ask("GET", "/_cluster/state/nodes").body["nodes"].values()}
    room.clock.advance(1)
    assert room.ask("GET", "/_nodes/data:true/stats/fs").body["_nodes"] == {"total": 2, "successful": 2, "failed": 0}


def test_members_are_picked_by_name_role_and_kind() -> None:
    room = Room({"m-0": ("cluster_manager",), "d-0": ("data", "ingest"), "c-0": ()})

    def picked(names: str) -> set[str]:
        return {node["name"] for node in room.ask("GET", f"/_nodes/{names}/_none").body["nodes"].values()}

    assert picked("_all") == {"m-0", "d-0", "c-0"}
    assert picked("data:true") == {"d-0"}
    assert picked("data:false") == {"m-0", "c-0"}
    assert picked("d-0,c-*") == {"d-0", "c-0"}
    assert picked("nobody") == set()
