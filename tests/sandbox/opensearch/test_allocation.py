"""The rules by which copies get their places, one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.opensearch.model import COMBINED, Durations
from tests.sandbox.opensearch.rooms import ENABLE, THREE, TO, Room

TWO = {f"m-{number}": COMBINED for number in range(2)}
FOUR = {f"m-{number}": COMBINED for number in range(4)}
EXCLUDE = "cluster.routing.allocation.exclude._name"


def primary(room: Room, index: str = "logs", shard: int = 0) -> str:
    return next(name for name, state in room.places(index, shard).items() if state.endswith("*"))


def replicas(room: Room, index: str = "logs", shard: int = 0) -> list[str]:
    return sorted(name for name, state in room.places(index, shard).items() if not state.endswith("*"))


def explained(room: Room, index: str, *, is_primary: bool = False, **more: Any) -> dict[str, Any]:
    body = {"index": index, "shard": 0, "primary": is_primary, **more}
    return dict(room.ask("POST", "/_cluster/allocation/explain", body).body)


def deciders(answer: dict[str, Any]) -> dict[str, list[str]]:
    found = {each["node_name"]: each.get("deciders", []) for each in answer["node_allocation_decisions"]}
    return {name: [each["decider"] for each in said] for name, said in found.items()}


def test_copies_are_spread_and_two_of_a_shard_are_never_on_one_member() -> None:
    room = Room()
    room.index(shards=3, replicas=1)
    copies = room.state().copies
    assert {copy.state for copy in copies} == {"STARTED"}
    counts = [sum(copy.member == member for copy in copies) for member in room.state().members]
    assert counts == [2, 2, 2]
    room.index("everywhere", replicas=3)
    assert room.health() == "yellow"
    assert deciders(explained(room, "everywhere")) == {name: ["same_shard"] for name in THREE}


def test_a_zone_holds_no_second_copy_while_another_zone_has_none() -> None:
    room = Room(FOUR, zones="ab")
    room.index(shards=4, replicas=1)
    zones = {name: "ab"[number % 2] for number, name in enumerate(FOUR)}
    for shard in range(4):
        assert {zones[name] for name in room.places("logs", shard)} == {"a", "b"}
    for name in ("m-1", "m-3"):
        room.cluster.stop(name)
    room.clock.advance(120)
    assert room.health() == "green", "of one zone alone all its members may have copies"


@pytest.mark.parametrize(
    ("value", "states"),
    [
        ("all", ["STARTED*", "STARTED"]),
        ("primaries", ["STARTED*"]),
        ("new_primaries", ["STARTED*"]),
        ("none", []),
    ],
)
def test_the_restriction_keeps_copies_of_new_indices_away(value: str, states: list[str]) -> None:
    room = Room()
    room.configure(**{ENABLE: value})
    settings = {"number_of_shards": 1, "number_of_replicas": 1}
    room.ask("PUT", "/new?timeout=1s", {"settings": settings})
    room.clock.advance(5)
    assert sorted(room.places("new").values(), reverse=True) == sorted(states, reverse=True)
    assert room.health() == ("green" if value == "all" else "yellow")
    room.ask("PUT", "/own?timeout=1s", {"settings": {**settings, "routing.allocation.enable": "all"}})
    room.clock.advance(5)
    assert len(room.places("own")) == 2, "the index overrides the cluster"


def test_under_the_restriction_a_replica_waits_and_a_returning_primary_does_not() -> None:
    room = Room()
    room.index(replicas=1)
    room.configure(**{ENABLE: "none"})
    first, (second,) = primary(room), replicas(room)
    for name in (first, second):
        room.cluster.stop(name)
        room.clock.advance(1)
        room.start([name])
        assert len(room.places()) == 1
    assert room.state().copies
    room.configure(**{ENABLE: None})
    room.clock.advance(2)
    assert room.health() == "green"


def test_a_replica_takes_over_and_the_newest_of_several_before_3_9() -> None:
    room = Room()
    room.index(replicas=2)
    first = primary(room)
    upgraded = next(name for name in replicas(room) if name != room.elected())
    room.cluster.stop(upgraded)
    room.clock.advance(1)
    room.start([upgraded], TO)
    room.cluster.stop(first)
    room.clock.advance(1)
    assert primary(room) == upgraded
    assert room.health() == "yellow"
    room.start([first])
    assert room.health() == "yellow"
    assert "node_version" in deciders(explained(room, "logs"))[first], "no replica goes to an older member"
    assert {copy.unassigned_reason for copy in room.state().copies if not copy.member} == {"NODE_LEFT"}
    room.cluster.stop(first)
    room.clock.advance(1)
    room.start([first], TO)
    assert first in replicas(room)


def test_the_oldest_replica_takes_over_with_segment_replication() -> None:
    room = Room()
    room.index(replicas=2, more={"replication.type": "SEGMENT"})
    first = primary(room)
    upgraded, other = sorted(replicas(room))
    room.cluster.stop(upgraded)
    room.start([upgraded], TO)
    room.cluster.stop(first)
    room.clock.advance(1)
    assert primary(room) == other


def test_a_single_copy_is_red_without_its_member_and_back_with_it() -> None:
    room = Room()
    room.index(replicas=0)
    room.ask("PUT", "/logs/_doc/1", {"a": 1})
    lone = primary(room)
    room.cluster.stop(lone)
    room.clock.advance(1)
    assert room.health() == "red"
    assert explained(room, "logs", is_primary=True)["can_allocate"] == "no_valid_shard_copy"
    room.start([lone])
    assert room.health() == "green"
    assert room.ask("GET", "/logs/_doc/1").body["_source"] == {"a": 1}


def test_a_single_copy_is_lost_with_its_disk() -> None:
    room = Room()
    room.index(replicas=0)
    lone = primary(room)
    room.cluster.stop(lone)
    room.start([lone], disk="empty")
    room.clock.advance(600)
    assert room.health() == "red"


def test_a_copy_that_missed_a_write_does_not_become_the_primary() -> None:
    room = Room(TWO)
    room.index(replicas=1)
    first, (second,) = primary(room), replicas(room)
    survivor = room.elected()
    other = second if survivor == first else first
    room.cluster.stop(other)
    room.clock.advance(1)
    room.ask("PUT", "/logs/_doc/1", {"a": 1})
    room.configure(**{ENABLE: "primaries"})
    room.start([other])
    copies = room.cluster.state.indices["logs"].shards[0]
    room.cluster.state.nodes[next(c.node for c in copies if c.node) or ""].disk.stores.clear()
    room.cluster.kill(survivor)
    room.start([survivor])
    room.clock.advance(5)
    assert room.health() == "red"


def test_a_departed_member_is_waited_for_before_its_copies_are_made_again_elsewhere() -> None:
    room = Room()
    room.index(replicas=1)
    (gone,) = replicas(room)
    room.cluster.stop(gone)
    room.clock.advance(1)
    health = room.ask("GET", "/_cluster/health").body
    assert (health["unassigned_shards"], health["delayed_unassigned_shards"]) == (1, 1)
    answer = explained(room, "logs")
    assert answer["can_allocate"] == "allocation_delayed"
    assert answer["configured_delay_in_millis"] == 60_000
    assert 0 < answer["remaining_delay_in_millis"] < 60_000
    room.clock.advance(50)
    assert room.health() == "yellow"
    room.clock.advance(15)
    assert room.health() == "green"


def test_a_delay_of_the_index_or_of_the_cluster_counts() -> None:
    room = Room(version=TO)
    room.index(replicas=1, more={"unassigned.node_left.delayed_timeout": "5s"})
    room.index("slow", replicas=1)
    room.configure(**{"cluster.routing.allocation.unassigned.node_left.delayed_timeout": "1h"})
    member = next(name for name in THREE if name in room.places() and name in room.places("slow"))
    room.cluster.stop(member)
    room.clock.advance(300)
    assert len(room.places()) == 2
    assert len(room.places("slow")) == 1


def test_an_excluded_member_is_drained_and_stays_empty() -> None:
    room = Room()
    room.index(shards=6, replicas=1)
    room.configure(**{EXCLUDE: "m-2", "cluster.routing.rebalance.enable": "none"})
    seen = {copy.state for copy in room.state().copies}
    assert "RELOCATING" in seen
    room.clock.advance(10)
    assert {name for shard in range(6) for name in room.places("logs", shard)} == {"m-0", "m-1"}
    room.configure(**{EXCLUDE: None})
    room.clock.advance(60)
    assert {name for shard in range(6) for name in room.places("logs", shard)} == {"m-0", "m-1"}


def test_what_fits_nowhere_else_stays_and_is_explained() -> None:
    room = Room()
    room.index(replicas=2)
    room.configure(**{EXCLUDE: "m-2"})
    room.clock.advance(10)
    assert "m-2" in room.places()
    answer = explained(room, "logs", is_primary=primary(room) == "m-2", current_node="m-2")
    assert (answer["can_remain_on_current_node"], answer["can_move_to_other_node"]) == ("no", "no")
    assert deciders(answer) == {"m-0": ["same_shard"], "m-1": ["same_shard"]}


def test_recoveries_wait_for_their_turn() -> None:
    room = Room(TWO, durations=Durations(copied=20.0))
    room.configure(**{"cluster.routing.allocation.node_concurrent_recoveries": "1"})
    room.index(shards=6, replicas=0)
    room.ask("PUT", "/logs/_settings", {"index": {"number_of_replicas": 1}})
    at_once = room.ask("GET", "/_cluster/health").body["initializing_shards"]
    assert at_once == 2, "one into each member"
    room.clock.advance(200)
    assert room.health() == "green"
    assert room.ask("GET", "/_recovery?active_only=true").body == {}


def test_replicas_follow_the_number_of_members() -> None:
    room = Room()
    room.index("auto", more={"auto_expand_replicas": "0-all"})
    assert len(room.places("auto")) == 3
    room.cluster.stop(next(name for name in THREE if name != room.elected()))
    room.clock.advance(1)
    assert room.health() == "green"
    assert len(room.places("auto")) == 2


def test_a_full_disk_gets_no_replica_and_one_above_the_high_watermark_is_left() -> None:
    room = Room()
    room.index(replicas=1)
    (holder,) = replicas(room)
    room.cluster.resize(next(name for name in THREE if name not in room.places()), available=1)
    room.clock.advance(Durations().disks)
    watermarks = "cluster.routing.allocation.disk.watermark"
    room.configure(**{f"{watermarks}.low": "1%"})
    cancel = {"index": "logs", "shard": 0, "node": room.cluster.members[holder].id}
    room.ask("POST", "/_cluster/reroute", {"commands": [{"cancel": cancel}]})
    room.clock.advance(5)
    answer = deciders(explained(room, "logs"))
    assert all("disk_threshold" in said for said in answer.values())
    room.configure(**{f"{watermarks}.low": None})
    room.ask("POST", "/_cluster/reroute")
    room.clock.advance(5)
    assert replicas(room) == [holder]


def test_an_index_removed_while_a_member_is_away_is_gone_from_its_disk_too() -> None:
    room = Room()
    room.index(replicas=2)
    room.cluster.stop("m-2")
    room.ask("DELETE", "/logs?timeout=5s")
    room.start(["m-2"])
    assert room.cluster.disks["data-m-2"].stores == {}


def test_filters_of_an_index_are_heeded() -> None:
    room = Room()
    room.index("pinned", replicas=2, more={"routing.allocation.exclude._name": "m-2"})
    assert set(room.places("pinned")) == {"m-0", "m-1"}
    assert deciders(explained(room, "pinned"))["m-2"] == ["filter"]
    room.index("pair", replicas=1, more={"routing.allocation.include._name": "m-1,m-2"})
    assert set(room.places("pair")) == {"m-1", "m-2"}
    room.index("nowhere", replicas=0, more={"routing.allocation.require._name": "m-1,m-2"})
    assert set(room.places("nowhere")) == set()
    room.index("both", replicas=0, more={"routing.allocation.require._name": "m-*,*-2"})
    assert set(room.places("both")) == {"m-2"}


def test_no_member_takes_more_copies_than_the_cluster_lets_it_have() -> None:
    room = Room()
    room.index(shards=2, replicas=1)
    room.ask("PUT", "/_cluster/settings", {"persistent": {"cluster.routing.allocation.total_shards_per_node": 2}})
    room.index("more", shards=3, replicas=0)
    counts = [sum(copy.member == member for copy in room.state().copies) for member in room.state().members]
    assert counts == [2, 2, 2]
    (left,) = (copy.shard for copy in room.state().copies if copy.member is None)
    assert deciders(explained(room, "more", is_primary=True, shard=left)) == {name: ["shards_limit"] for name in THREE}
