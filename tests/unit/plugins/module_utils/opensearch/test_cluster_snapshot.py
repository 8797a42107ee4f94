"""The snapshot of an upgrade: taken once whatever happens to its run, proven, and the only one that is removed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import cluster_snapshot
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.background import judge_snapshots
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.cluster_snapshot import (
    attempt_due,
    outlived,
    wanted_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster_snapshot import OwnSnapshot

from tests.sandbox.opensearch.client import client_of
from tests.sandbox.opensearch.rooms import TO, Room
from tests.sandbox.web import Answer, CutOff, Pending, Request

Json = dict[str, Any]
STARTED, NAME = "2026-01-02T03:04:05Z", "upgrade-3.8.0-20260102t030405"
REPOSITORY = {"type": "fs", "settings": {"location": "/snapshots/backup", "max_snapshot_bytes_per_sec": "1kb"}}
BEFORE, LOST, BEHIND, DENIED = "before", "lost", "behind", "denied"


class Killed(BaseException):
    """The run is gone, at this very instruction."""


class Backup:
    """A cluster with a slow repository, and the part that takes a snapshot to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = Room(settings={"path.repo": "/snapshots"})
        self.room.index(shards=2)
        for number in range(20):
            self.room.ask("PUT", f"/logs/_doc/{number}", {"text": "x" * 500})
        assert self.room.ask("PUT", "/_snapshot/backup", REPOSITORY).status == 200
        self.taken: list[str] = []
        """The paths of the requests that made or removed a snapshot, as they came to the server."""
        self.fault: tuple[str, int] | None = None
        """The fault, and the number of the request that it strikes."""
        self.deletions_lost = False
        """Whether the answer to each deletion is lost, as if it took longer than it is waited for."""
        monkeypatch.setattr(cluster_snapshot, "connect", lambda *_options: client_of(self._answer, self.room.clock))

    def _answer(self, request: Request) -> Answer | Pending:
        acts = request.method in {"PUT", "DELETE"}
        kind = self.fault[0] if acts and self.fault and self.fault[1] == len(self.taken) else ""
        if self.deletions_lost and request.method == "DELETE":
            kind = LOST
        if kind == BEFORE:
            raise Killed
        if kind == DENIED:
            return Answer(403, {"error": {"type": "security_exception", "reason": "no permissions"}, "status": 403})
        answer = self.room.cluster.handler()(request)
        if acts:
            self.taken.append(f"{request.method} {request.path}")
        if kind == BEHIND:
            raise Killed
        if kind == LOST:
            raise CutOff(made=True)
        return answer

    def run(self, state: str = "present", *, check_mode: bool = False, **params: Any) -> Json:
        """One task of the part."""
        own: Json = {"snapshot": "backup", "target_version": TO, "state": state, "started": STARTED}
        given = {**cluster_snapshot.CONTRACT.arguments({}), **own, "wait_timeout": 60, "lock": None, **params}
        return perform(cluster_snapshot.run, Task(params=given, clock=self.room.clock, check_mode=check_mode))

    def shown(self, name: str = NAME) -> Json:
        """A snapshot as the server shows it."""
        found: Json = self.room.ask("GET", f"/_snapshot/backup/{name}").body["snapshots"][0]
        return found

    def names(self) -> list[str]:
        """All snapshots of the repository."""
        return [each["snapshot"] for each in self.room.ask("GET", "/_snapshot/backup/_all").body["snapshots"]]


@pytest.fixture
def backup(monkeypatch: pytest.MonkeyPatch) -> Backup:
    return Backup(monkeypatch)


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def said(result: Json) -> str:
    return " ".join(reason["message"] for reason in result["verdict"]["reasons"])


def test_it_is_taken_followed_and_proven_before_the_first_batch(backup: Backup) -> None:
    planned = backup.run("planned", started="")
    assert codes(planned) == ["snapshot_planned"]
    assert "all indices" in said(planned)
    assert backup.names() == []
    done = backup.run()
    assert (codes(done), done["changed"]) == (["snapshot_taken"], True)
    assert f"backup/{NAME} holds 1 indices with 2 shards and the global state" in said(done)
    assert [each["action"] for each in done["actions"]] == ["took_snapshot"]
    (waited,) = done["waited"]
    assert waited["seconds"] > 5
    found = backup.shown()
    assert (found["state"], found["include_global_state"], found["indices"]) == ("SUCCESS", True, ["logs"])
    assert found["metadata"]["upgrade.stateful"]["upgrade"] == STARTED
    again = backup.run()
    assert (codes(again), again["changed"]) == (["snapshot_taken"], False)
    assert len(backup.taken) == 1


def test_a_wait_goes_on_as_long_as_shards_are_done(backup: Backup) -> None:
    for index in range(6):
        backup.room.index(f"more-{index}")
        for number in range(10 * (index + 1)):
            backup.room.ask("PUT", f"/more-{index}/_doc/{number}", {"text": "x" * 400})
    started = backup.room.clock.now()
    done = backup.run(wait_timeout=10)
    assert codes(done) == ["snapshot_taken"], said(done)
    assert backup.room.clock.now() - started > 20


def test_a_single_pass_starts_it_and_a_later_one_finds_it(backup: Backup) -> None:
    first = backup.run(wait=False)
    assert (first["verdict"]["state"], codes(first)) == ("waiting", ["snapshot_being_taken"])
    assert "0 of 2 shards done, 0 B of " in said(first)
    backup.room.clock.advance(60)
    assert codes(backup.run(wait=False)) == ["snapshot_taken"]
    assert len(backup.taken) == 1


@pytest.mark.parametrize("fault", [BEFORE, BEHIND])
def test_a_killed_run_has_started_it_once(backup: Backup, fault: str) -> None:
    backup.fault = (fault, 0)
    with pytest.raises(Killed):
        backup.run()
    backup.fault = None
    # That of the upgrade is no hindrance for the gate of the plan, which waits for any other one.
    running = judge_snapshots(backup.room.state(), "backup")
    assert (running.passed, judge_snapshots(backup.room.state()).passed) == (True, fault == BEFORE)
    assert codes(backup.run("planned")) == ["snapshot_planned"]
    assert codes(backup.run(run="next")) == ["snapshot_taken"]
    assert backup.taken == [f"PUT /_snapshot/backup/{NAME}"]


def test_a_lost_answer_does_not_start_another_one(backup: Backup) -> None:
    backup.fault = (LOST, 0)
    done = backup.run()
    assert codes(done) == ["snapshot_taken"], said(done)
    assert backup.names() == [NAME]


@pytest.mark.parametrize("wait", [True, False])
def test_one_that_lacks_a_shard_refuses_the_first_batch_until_it_is_deleted(backup: Backup, wait: bool) -> None:
    backup.room.cluster.snapshots.failing = {"logs"}
    refused = backup.run(wait=wait)
    backup.room.clock.advance(60)
    for result in (refused if wait else backup.run(wait=False), backup.run("planned"), backup.run()):
        assert (codes(result), result["failed"]) == (["snapshot_incomplete"], True)
        assert "No space left on device" in said(result)
        assert f"DELETE _snapshot/backup/{NAME}" in result["msg"]
    backup.room.cluster.snapshots.failing = set()
    assert backup.room.ask("DELETE", f"/_snapshot/backup/{NAME}").status == 200
    assert codes(backup.run()) == ["snapshot_taken"]


def test_one_whose_member_goes_is_no_way_back(backup: Backup) -> None:
    backup.run(wait=False)
    holder = next(name for name, state in backup.room.places().items() if state.endswith("*"))
    backup.room.cluster.stop(holder)
    backup.room.clock.advance(60)
    assert codes(backup.run()) == ["snapshot_incomplete"]


def test_all_faults_of_a_repository_stand_in_the_plan_and_nothing_is_taken(backup: Backup) -> None:
    settings = {"location": "/snapshots/old", "readonly": True}
    backup.room.ask("PUT", "/_snapshot/old", {"type": "fs", "settings": settings})
    for state in ("planned", "present"):
        assert codes(backup.run(state, snapshot="old")) == ["snapshot_repository_read_only"]
        unknown = backup.run(state, snapshot="bakcup")
        assert codes(unknown) == ["snapshot_repository_unknown"]
        assert "backup, old" in unknown["msg"]
        backup.room.cluster.snapshots.shut_out = {"m-1"}
        unfit = backup.run(state)
        assert codes(unfit) == ["snapshot_repository_unfit"]
        assert "m-1" in said(unfit)
        backup.room.cluster.snapshots.shut_out = set()
    both = backup.run("planned", snapshot="old", recorded=False)
    assert codes(both) == ["snapshot_repository_read_only", "snapshot_without_record"]
    assert codes(backup.run(started="")) == ["snapshot_without_record"]
    assert backup.taken == []


def test_one_that_another_has_started_is_waited_for(backup: Backup) -> None:
    backup.room.ask("PUT", "/_snapshot/backup/nightly", {"indices": "logs"})
    waits = backup.run(wait=False)
    assert (waits["verdict"]["state"], backup.taken) == ("waiting", [])
    assert "comes after backup/nightly" in said(waits)
    assert codes(backup.run()) == ["snapshot_taken"]
    assert backup.names() == ["nightly", NAME]


def test_one_of_that_name_without_the_mark_of_the_upgrade_is_refused(backup: Backup) -> None:
    backup.room.ask("PUT", f"/_snapshot/backup/{NAME}?wait_for_completion=true", {"indices": "logs"})
    for state in ("planned", "present"):
        assert codes(backup.run(state)) == ["snapshot_not_own"]
    backup.room.ask("DELETE", f"/_snapshot/backup/{NAME}")
    backup.run()
    assert codes(backup.run(snapshot_indices=["logs"])) == ["snapshot_not_own"]


def test_in_check_mode_nothing_is_written(backup: Backup) -> None:
    backup.room.cluster.snapshots.shut_out = {"m-1"}
    assert codes(backup.run("planned", check_mode=True, started="")) == ["snapshot_planned"]
    assert backup.taken == []


def test_the_older_ones_of_upgrades_go_once_the_new_one_is_proven(backup: Backup) -> None:
    for day in (1, 2, 3):
        assert codes(backup.run(started=f"2025-01-0{day}T00:00:00Z")) == ["snapshot_taken"]
    backup.room.ask("PUT", "/_snapshot/backup/upgrade-of-mine?wait_for_completion=true", {"indices": "logs"})
    backup.room.cluster.snapshots.failing = {"logs"}
    assert codes(backup.run(snapshot_keep=1)) == ["snapshot_incomplete"]
    assert len(backup.names()) == 5
    backup.room.cluster.snapshots.failing = set()
    backup.room.ask("DELETE", f"/_snapshot/backup/{NAME}")
    done = backup.run(snapshot_keep=2)
    assert codes(done) == ["snapshot_taken"]
    assert [each["target"][-16:] for each in done["actions"]] == [
        "-20260102t030405",
        "-20250101t000000",
        "-20250102t000000",
    ]
    assert backup.names() == ["upgrade-3.8.0-20250103t000000", "upgrade-of-mine", NAME]
    assert backup.run(snapshot_keep=2)["changed"] is False


@pytest.mark.parametrize("fault", [BEFORE, BEHIND])
def test_a_kill_at_a_removal_leaves_the_new_one_and_the_rest_to_the_next_run(backup: Backup, fault: str) -> None:
    backup.run(started="2025-01-01T00:00:00Z")
    backup.run(started="2025-01-02T00:00:00Z")
    backup.fault = (fault, 3)
    with pytest.raises(Killed):
        backup.run(snapshot_keep=1)
    backup.fault = None
    assert NAME in backup.names()
    assert codes(backup.run(snapshot_keep=1)) == ["snapshot_taken"]
    assert backup.names() == [NAME]


def test_one_that_cannot_be_removed_stops_nothing(backup: Backup) -> None:
    backup.run(started="2025-01-01T00:00:00Z")
    backup.fault = (DENIED, 2)
    done = backup.run(snapshot_keep=1)
    assert (done["verdict"]["state"], codes(done)) == ("passed", ["snapshot_taken", "snapshot_left"])
    assert "upgrade-3.8.0-20250101t000000 of an earlier upgrade is still there. " in said(done)
    assert len(backup.names()) == 2


def test_one_whose_removal_was_not_answered_in_time_is_looked_at_again(backup: Backup) -> None:
    backup.run(started="2025-01-01T00:00:00Z")
    backup.deletions_lost = True
    done = backup.run(snapshot_keep=1)
    assert (done["verdict"]["state"], codes(done)) == ("passed", ["snapshot_taken"])
    assert backup.names() == [NAME]


def test_the_newest_whole_one_and_those_of_others_never_go() -> None:
    wanted = wanted_of("backup", TO, STARTED, "here", ())
    own = [
        OwnSnapshot("new", "SUCCESS", "here", "2026"),
        OwnSnapshot("broken", "PARTIAL", "here", "2025-09"),
        OwnSnapshot("running", "IN_PROGRESS", "here", "2025-08"),
        OwnSnapshot("old", "SUCCESS", "here", "2025"),
        OwnSnapshot("lacking", "SUCCESS", "here", "2024", failed=1),
        OwnSnapshot("others", "SUCCESS", "there", "2023"),
        OwnSnapshot("unmarked", "SUCCESS"),
    ]
    assert [each.name for each in outlived(own, wanted, 1)] == ["lacking", "old", "broken"]
    assert [each.name for each in outlived(own, wanted, 2)] == ["lacking", "broken"]
    assert outlived(own, wanted, 0) == []


@pytest.mark.parametrize(
    ("states", "run", "due"),
    [
        ({}, "b", 1),
        ({1: ("PARTIAL", "a")}, "a", 1),
        ({1: ("PARTIAL", "a")}, "b", 2),
        ({1: ("PARTIAL", "a")}, "", 2),
        ({1: ("PARTIAL", "")}, "b", 1),
        ({1: ("IN_PROGRESS", "a")}, "b", 1),
        ({1: ("SUCCESS", "a")}, "b", 1),
        ({1: ("PARTIAL", "a"), 2: ("FAILED", "b")}, "c", 3),
        ({2: ("SUCCESS", "b")}, "c", 2),
        ({1: ("PARTIAL", "a"), 2: ("PARTIAL", "b"), 3: ("PARTIAL", "c")}, "d", 3),
    ],
)
def test_another_run_takes_another_one_up_to_the_third(states: dict[int, tuple[str, str]], run: str, due: int) -> None:
    wanted = wanted_of("backup", TO, STARTED, "here", ())
    names = {number: f"{NAME}-{number}" if number > 1 else NAME for number in states}
    own = {
        names[number]: OwnSnapshot(names[number], state, "here", STARTED, of, "*")
        for number, (state, of) in states.items()
    }
    assert attempt_due(wanted, own, run).attempt == due


def test_one_of_another_upgrade_is_no_attempt() -> None:
    wanted = wanted_of("backup", TO, STARTED, "here", ())
    for other in (("there", STARTED, "*"), ("here", "2025", "*"), ("here", STARTED, "logs")):
        cluster, upgrade, asked = other
        found = OwnSnapshot(NAME, "PARTIAL", cluster, upgrade, "a", asked)
        assert attempt_due(wanted, {NAME: found}, "b").attempt == 1
