"""A member that lags behind answers from what it has applied, and sends other requests to the elected manager."""

from __future__ import annotations

import pytest

from tests.sandbox.opensearch.rooms import THREE, Room


def _lagging(room: Room) -> str:
    """A member that lags behind from now on."""
    name = next(each for each in THREE if each != room.elected())
    room.cluster.lags(name)
    return name


def _another(room: Room, *but: str) -> str:
    return next(each for each in THREE if each not in (*but, room.elected()))


def _names(room: Room, path: str, member: str) -> set[str]:
    return {node["name"] for node in room.ask("GET", path, member=member).body["nodes"].values()}


def test_a_member_that_lags_asks_those_that_it_knows() -> None:
    room = Room()
    late = _lagging(room)
    gone = _another(room, late)
    room.cluster.stop(gone)
    room.clock.advance(5)
    answer = room.ask("GET", "/_nodes/_all/_none", member=late).body
    assert answer["_nodes"] == {**answer["_nodes"], "total": 3, "failed": 1}
    assert gone in _names(room, "/_cluster/state/nodes?local=true", late)
    assert gone not in _names(room, "/_cluster/state/nodes", late), "the elected manager answers"
    room.cluster.keeps_up(late)
    assert room.ask("GET", "/_nodes/_all/_none", member=late).body["_nodes"]["total"] == 2
    assert gone not in _names(room, "/_cluster/state/nodes?local=true", late)


def test_a_new_process_is_missing_where_it_is_not_known_yet() -> None:
    room = Room()
    late = _lagging(room)
    again = _another(room, late)
    room.cluster.stop(again)
    room.start([again])
    assert again not in _names(room, "/_nodes/_all/_none", late)
    assert again in _names(room, "/_nodes/_all/_none", room.elected())


def test_copies_and_settings_are_those_of_before() -> None:
    room = Room()
    room.index(replicas=1)
    late = _lagging(room)
    room.cluster.kill(_another(room, late))
    room.clock.advance(5)
    room.ask("PUT", "/_cluster/settings", {"persistent": {"cluster.routing.allocation.enable": "none"}})
    assert room.ask("GET", "/_cluster/settings?local=true", member=late).body["persistent"] == {}
    assert room.ask("GET", "/_cluster/settings", member=late).body["persistent"] != {}
    assert room.ask("GET", "/_cluster/health?local=true", member=late).body["number_of_nodes"] == 3
    assert room.ask("GET", "/_cluster/health", member=late).body["number_of_nodes"] == 2


def test_the_elected_manager_does_not_lag_and_one_that_is_elected_ceases_to() -> None:
    room = Room()
    room.cluster.lags(room.elected())
    assert room.cluster.members[room.elected()].applied is None
    for name in THREE:
        room.cluster.lags(name)
    room.cluster.kill(room.elected())
    room.clock.advance(5)
    assert room.cluster.members[room.elected()].applied is None


def test_a_member_that_knows_another_elected_manager_waits() -> None:
    room = Room()
    other = [each for each in THREE if each != room.elected()]
    for name in other:
        room.cluster.lags(name)
    room.cluster.kill(room.elected())
    room.clock.advance(5)
    (late,) = [each for each in other if each != room.elected()]
    assert room.ask("GET", "/_cluster/state/nodes?cluster_manager_timeout=1s", member=late).status == 503
    room.cluster.keeps_up(late)
    assert room.ask("GET", "/_cluster/state/nodes", member=late).status == 200


@pytest.mark.parametrize(
    ("version", "old_settings", "old_state"),
    [("8.19.4", False, False), ("9.0.0", True, False), ("9.2.0", True, True)],
)
def test_newer_members_of_elasticsearch_read_more_by_themselves(
    version: str, old_settings: bool, old_state: bool
) -> None:
    room = Room(version=version)
    late = _lagging(room)
    room.ask("PUT", "/_component_template/note", {"template": {}})
    room.ask("PUT", "/_cluster/settings", {"persistent": {"cluster.routing.allocation.enable": "none"}})
    templates = room.ask("GET", "/_component_template", member=late).body["component_templates"]
    found = room.ask("GET", "/_cluster/settings", member=late).body["persistent"]
    assert (templates == [], found == {}) == (old_settings, old_settings)
    known = [room.ask("GET", "/_cluster/state/version", member=each).body["version"] for each in (late, room.elected())]
    assert (known[0] < known[1]) == old_state
