"""One member more for the time of an upgrade: it is made once and goes without a trace, also after a kill."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import (
    extra_member,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.extra import MARK
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.extra_case import (
    EXTRA,
    FROM,
    HERE,
    NOTHING,
    TO,
    Killed,
    Room,
    actions,
    codes,
    only_replicas,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

from tests.sandbox.kubernetes.kinds import PODS, STATEFUL_SETS


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(monkeypatch)


def test_the_member_joins_on_the_new_version_and_goes_without_a_trace(room: Room) -> None:
    made = room.run()
    assert (codes(made), made["changed"], made["member"]) == ([], True, EXTRA)
    assert "added_member" in actions(made)
    nodes = {each["name"]: each["version"] for each in room.ask("GET", "/_nodes")["nodes"].values()}
    assert nodes[EXTRA] == TO
    assert {version for name, version in nodes.items() if name != EXTRA} == {FROM}, "no other pod was replaced"
    again = room.run()
    assert (codes(again), again["changed"]) == ([], False)
    gone = room.run("absent")
    assert (codes(gone), gone["changed"]) == ([], True)
    assert [each for each in actions(gone) if each in ("removed_member", "deleted_claim", "unmarked")] == [
        "removed_member",
        "deleted_claim",
        "unmarked",
    ]
    assert room.left() == NOTHING
    assert not room.run("absent")["changed"]


def test_shards_on_the_member_move_away_before_it_goes(room: Room) -> None:
    room.run()
    # A replica of a primary on the new version starts only on members of that version.
    for name in ("opensearch-data-0", "opensearch-data-1"):
        room.kubernetes.ask("DELETE", f"/api/v1/namespaces/{HERE}/pods/{name}")
        room.clock.advance(60.0)
        assert room.kubernetes.until(lambda: room.health() == "green")
    room.ask("PUT", "/more", {"settings": {"number_of_shards": 6, "number_of_replicas": 1}})
    assert room.kubernetes.until(lambda: room.health() == "green")
    assert EXTRA in room.holders("more")
    gone = room.run("absent")
    assert codes(gone) == []
    assert room.left() == NOTHING


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_run_that_is_killed_at_any_act_leaves_nothing_that_the_next_one_does_not_find(
    monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    whole = Room(monkeypatch)
    if state == "absent":
        whole.run()
    before = whole.writes
    whole.run(state)
    acts = whole.writes - before
    assert acts >= 4
    for act in range(acts):
        room = Room(monkeypatch)
        if state == "absent":
            room.run()
        room.kill_at = room.writes + act
        with contextlib.suppress(Killed):
            room.run(state)
        room.kill_at = None
        if state == "present":
            made = room.run(run="day")
            assert (act, codes(made), room.names(PODS).count(EXTRA)) == (act, [], 1)
            assert room.pool()["spec"]["replicas"] == 3, "it is made once"
        room.settle("dusk")
        assert (act, codes(room.run("absent", run="dusk"))) == (act, [])
        assert (act, room.left()) == (act, NOTHING)


def test_check_mode_changes_nothing(room: Room) -> None:
    before = room.writes
    planned = room.run(check_mode=True)
    assert (codes(planned), planned["changed"], room.writes) == ([], True, before)
    assert room.left() == NOTHING
    room.run()
    before = room.writes
    assert room.run("absent", check_mode=True)["changed"]
    assert room.writes == before


def test_all_that_stands_in_the_way_is_named_at_once_and_nothing_is_touched(room: Room) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"data-{EXTRA}"}}
    room.api.put_there(
        f"/api/v1/namespaces/{HERE}/persistentvolumeclaims/data-{EXTRA}",
        {**claim, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
    )
    before = room.writes
    assert codes(room.run("planned")) == ["extra_member_claim_there"]
    assert codes(room.run()) == ["extra_member_claim_there"]
    voting = room.run("planned", pool="opensearch-managers")
    assert codes(voting) == ["extra_member_votes"]
    assert room.writes == before
    assert room.pool()["spec"]["replicas"] == 2


def test_rights_that_its_removal_needs_are_named_in_the_plan(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def denied(_client: Any, namespace: str, rights: Any, **_seen: bool) -> Verdict:
        assert namespace == HERE
        asked.extend((right.verb, right.resource) for right in rights)
        return Verdict((refused("kubernetes_rights", "It may not delete persistentvolumeclaims.", "Allow it."),))

    monkeypatch.setattr(extra_member, "missing_rights", denied)
    before = room.writes
    assert codes(room.run("planned")) == ["kubernetes_rights"]
    assert asked == [("get", "persistentvolumeclaims"), ("delete", "persistentvolumeclaims")]
    assert room.writes == before


def test_a_member_that_does_not_come_up_is_told_and_removed(room: Room) -> None:
    room.kubernetes.faults.crash_loop(HERE, EXTRA)
    failed = room.run()
    assert failed["verdict"]["state"] == "refused"
    assert EXTRA in failed["msg"]
    assert codes(room.run("absent")) == []
    assert room.left() == NOTHING


def test_a_single_pass_waits_until_its_time_is_over(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.kubernetes.faults.never_ready(HERE, EXTRA)
    first = room.run(wait=False)
    assert first["verdict"]["state"] == "waiting"
    later = utc_now() + timedelta(seconds=121)
    monkeypatch.setattr(extra_member, "utc_now", lambda: later)
    assert room.run(wait=False, run="day")["verdict"]["state"] == "refused"


def test_a_number_of_replicas_that_another_has_changed_is_left_alone(room: Room) -> None:
    room.run()
    room.kubernetes.apply([{**only_replicas(room.pool(), 4)}])
    assert codes(room.run()) == ["extra_member_changed_by_another"]
    left = room.run("absent")
    assert (codes(left), left["verdict"]["state"]) == (["extra_member_changed_by_another"], "passed")
    assert room.pool()["spec"]["replicas"] == 4
    assert not room.run("absent")["changed"]


@pytest.mark.parametrize("older", [False, True])
def test_the_member_of_another_cluster_of_the_namespace_is_left_alone(
    room: Room, monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    """It may be that of a run which has failed and will continue, so nobody holds its lock."""
    room.run()
    room.ask("PUT", "/more", {"settings": {"number_of_shards": 6, "number_of_replicas": 0}})
    assert room.kubernetes.until(lambda: room.health() == "green")
    if older:
        annotations = room.pool()["metadata"]["annotations"]
        mark = json.loads(annotations[MARK])
        mark.pop("cluster", None)
        annotations[MARK] = json.dumps(mark)
        room.kubernetes.server.store.put(
            STATEFUL_SETS, {**room.pool(), "metadata": {**room.pool()["metadata"], "annotations": annotations}}
        )
    before = room.left()
    with monkeypatch.context() as of_another:
        of_another.setattr(extra_member, "connect", lambda *_options: Servers())
        settled = room.run("absent", run="of another cluster")
    assert (codes(settled), settled["changed"]) == ([], False)
    assert room.left() == before
    # Its own cluster takes it away, once no shard is there that only the new version can hold.
    room.ask("DELETE", "/more")
    assert codes(room.run("absent")) == []
    assert room.left() == NOTHING
