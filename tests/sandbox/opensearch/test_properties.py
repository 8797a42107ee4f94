"""Properties of servers and about what is read of them, whatever happens to a cluster, and in whatever order."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sandbox.opensearch.filter_path import filtered
from tests.sandbox.opensearch.load import Load
from tests.sandbox.opensearch.model import COMBINED
from tests.sandbox.opensearch.rooms import ENABLE, FROM, TO, Room
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.voting import has_majority

LAYOUT = {**{f"m-{number}": COMBINED for number in range(3)}, "d-0": ("data",), "c-0": ()}
EXCLUDE = "cluster.routing.allocation.exclude._name"
EXCLUSIONS = "/_cluster/voting_config_exclusions"
NAMES = st.sampled_from(sorted(LAYOUT))
INDICES = st.sampled_from(["a", "b", "c"])
PATHS = "routing_table.indices.*.shards,metadata.indices.*.settings,metadata.indices.*.in_sync_allocations,nodes"


class Written(Room):
    """A cluster, and what it has acknowledged."""

    def __init__(self) -> None:
        super().__init__(LAYOUT)
        self.acknowledged: set[tuple[str, str]] = set()


Step = Callable[[Written], None]


def _start(name: str, version: str) -> Step:
    def step(room: Written) -> None:
        if not room.cluster.runs(name):
            room.cluster.start(room.spec(name, version))

    return step


def _stop(name: str) -> Step:
    return lambda room: room.cluster.stop(name)


def _kill(name: str) -> Step:
    return lambda room: room.cluster.kill(name)


def _lose(name: str) -> Step:
    """Its disk with it, where no single copy is on it and others vote."""

    def step(room: Written) -> None:
        if name == "d-0" and not _has_lone_copy(room, name):
            room.cluster.kill(name)
            room.cluster.remove_disk(f"data-{name}")

    return step


def _has_lone_copy(room: Written, name: str) -> bool:
    node = room.cluster.members[name].id
    if room.cluster.state.manager is None:
        return True
    for index in room.cluster.state.indices.values():
        for copies in index.shards.values():
            others = [copy for copy in copies if copy.started and copy.node != node]
            if not others or any(not copy.started for copy in copies if copy.primary):
                return True
    return False


def _settings(enable: str | None, exclude: str | None) -> Step:
    body = {"persistent": {ENABLE: enable, EXCLUDE: exclude}}
    return lambda room: _ask(room, "PUT", "/_cluster/settings?cluster_manager_timeout=1s", body)


def _ask(room: Room, method: str, target: str, body: object = None) -> None:
    """Every answer has a code that servers give."""
    if any(room.cluster.ready(name) for name in LAYOUT):
        assert room.ask(method, target, body).status in {200, 201, 400, 404, 408, 500, 503}


def _make(name: str, shards: int, replicas: int) -> Step:
    body = {"settings": {"number_of_shards": shards, "number_of_replicas": replicas}}
    return lambda room: _ask(room, "PUT", f"/{name}?timeout=1s&cluster_manager_timeout=1s", body)


def _write(name: str, identity: int) -> Step:
    def step(room: Written) -> None:
        if name in room.cluster.state.indices and any(room.cluster.ready(each) for each in LAYOUT):
            answer = room.ask("PUT", f"/{name}/_doc/{identity}?timeout=1s", {"number": identity})
            if answer.status in {200, 201}:
                room.acknowledged.add((name, str(identity)))

    return step


def _exclude(name: str) -> Step:
    return lambda room: _ask(room, "POST", f"{EXCLUSIONS}?node_names={name}&timeout=1s")


def _include() -> Step:
    return lambda room: _ask(room, "DELETE", f"{EXCLUSIONS}?wait_for_removal=false")


def _pass(seconds: float) -> Step:
    return lambda room: room.clock.advance(seconds)


STEPS = st.one_of(
    st.builds(_start, NAMES, st.sampled_from([FROM, TO])),
    st.builds(_start, NAMES, st.just(TO)),
    st.builds(_stop, NAMES),
    st.builds(_kill, NAMES),
    st.builds(_lose, NAMES),
    st.builds(
        _settings,
        st.sampled_from([None, "all", "primaries", "none"]),
        st.sampled_from([None, "m-0", "d-0,m-1"]),
    ),
    st.builds(_make, INDICES, st.integers(1, 3), st.integers(0, 3)),
    st.builds(_write, INDICES, st.integers(0, 9)),
    st.builds(_exclude, NAMES),
    st.builds(_include),
    st.builds(_pass, st.sampled_from([0.05, 0.3, 2.0, 6.0, 90.0])),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_every_state_is_read_and_no_acknowledged_document_is_lost(steps: list[Step]) -> None:
    room = Written()
    for step in steps:
        step(room)
        room.clock.advance(0.1)
        _holds(room)
    _recovers(room)


def _holds(room: Written) -> None:
    """What is true at every time."""
    state = room.cluster.state
    if state.manager is not None:
        assert state.manager.alive
        assert state.manager.manages
    if state.manager is None or not any(room.cluster.ready(name) for name in LAYOUT):
        return
    there = [node.id for node in state.nodes.values() if node.alive and node.manages]
    if all(node.alive for node in state.nodes.values()):
        assert has_majority(state.committed, there)
        seen = room.state()
        assert seen.elected in seen.members
    for index in state.indices.values():
        for shard, copies in index.shards.items():
            assert sum(copy.primary for copy in copies) == 1, (index.name, shard)
            assert len(copies) == index.replicas + 1
    _are_counted(state)
    _are_answered(room)


def _are_counted(state: State) -> None:
    """Counts that are kept up are those of a count from scratch."""
    afresh = Load()
    afresh.follow(state.indices)
    for name in ("every", "into", "out_of", "primaries", "states"):
        assert +getattr(state.counted, name) == +getattr(afresh, name), name


def _are_answered(room: Written) -> None:
    """Parts of an answer that are kept are those of an answer that is made now."""
    whole = room.ask("GET", "/_cluster/state?cluster_manager_timeout=1s")
    if whole.status == 200:
        wanted = room.ask("GET", f"/_cluster/state?cluster_manager_timeout=1s&filter_path={PATHS}")
        assert json.loads(wanted.text) == json.loads(json.dumps(filtered(whole.body, PATHS)))


def _are_tidied(state: State) -> None:
    """No member keeps files of a shard that is started elsewhere."""
    for node in state.data_nodes:
        for uuid, shard in node.disk.stores:
            copies = next(index for index in state.indices.values() if index.uuid == uuid).shards[shard]
            assert any(node.id in copy.places or not copy.started for copy in copies), (node.name, shard)


def _recovers(room: Written) -> None:
    """With all members on their disks again everything is there."""
    for _round in range(2):
        room.clock.advance(60)
        there = {node.name for node in room.cluster.state.nodes.values()}
        for name in LAYOUT:
            if name not in there or not room.cluster.runs(name):
                # One of the old version may have been shut out since the others are of the new one.
                room.cluster.kill(name)
                room.cluster.start(room.spec(name, TO))
    room.clock.advance(60)
    _ask(room, "DELETE", f"{EXCLUSIONS}?wait_for_removal=false")
    room.configure(**{ENABLE: None, EXCLUDE: None})
    room.clock.advance(300)
    _are_tidied(room.cluster.state)
    seen = room.state()
    assert set(LAYOUT) == {member.name for member in seen.members.values()}
    assert not [copy for copy in seen.copies if copy.primary and not copy.started]
    for name, identity in room.acknowledged:
        assert room.ask("GET", f"/{name}/_doc/{identity}").status == 200, (name, identity)
