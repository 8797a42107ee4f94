"""A fleet whose folder is on a full disk: upgrades go on, and what cannot be written is said."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launched import LaunchedUpgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.process import Played

from tests.sandbox.clock import Clock
from tests.unit.plugins.module_utils.fleet.schedulers import OfKubernetes

DONE: dict[str, Any] = {"upgrade_state": "done", "upgrade_changed": True}


class Disk:
    """The disk of the folder. Files of the fleet that are written while it is full fail, logs as well."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        monkeypatch.setattr(tempfile, "mkstemp", self._if_room(tempfile.mkstemp))
        monkeypatch.setattr(Path, "write_text", self._if_room(Path.write_text))

    def _if_room(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def write_if_room(*given: Any, **named: Any) -> Any:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(*given, **named)

        return write_if_room


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def scheduler() -> OfKubernetes:
    found = OfKubernetes()
    found.prepare()
    return found


def options(folder: Folder, **more: Any) -> dict[str, Any]:
    return cluster_upgrade.CONTRACT.arguments(
        {"path": str(folder.path), "cluster": "north", "wait_timeout": 60, **more}
    )


def upgrade(
    scheduler: OfKubernetes, folder: Folder, launched: Callable[[], object], ends: Callable[[], object]
) -> tuple[Cluster, list[str]]:
    """A run of the fleet, whose job ends well; the cluster and the warnings."""
    warnings: list[str] = []

    class Waits(Clock):
        def sleep(self, seconds: float) -> None:
            self.advance(seconds)
            scheduler.end(scheduler.names()[-1], True, "Done.", **DONE)
            ends()

    made = scheduler.launcher()
    launch = made.launch

    def launching(*given: Any) -> Any:
        try:
            return launch(*given)
        finally:
            launched()

    pytest.MonkeyPatch().setattr(made, "launch", launching)
    task = Task(options(folder), clock=Waits(), warn=warnings.append)
    cluster = folder.clusters(["north"])["north"]
    return LaunchedUpgrade(task, folder, made, cluster).run({"target_version": "3.8.0"}), warnings


def test_a_job_is_followed_to_its_end_without_notes_and_without_its_log(
    scheduler: OfKubernetes, folder: Folder, disk: Disk
) -> None:
    keep = Folder.keep_log

    def full() -> None:
        disk.is_full = True

    def kept(this: Folder, cluster: str, text: str) -> None:
        try:
            keep(this, cluster, text)
        finally:
            disk.is_full = False

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Folder, "keep_log", kept)
        done, warnings = upgrade(scheduler, folder, full, lambda: None)
    assert (done.state, done.codes, done.log) == ("done", (), "")
    assert folder.clusters(["north"])["north"] == done
    assert [each.startswith("north: The record of the fleet cannot be written to ") for each in warnings] == [True] * 2


def test_an_end_that_cannot_be_written_is_said_and_taken_by_the_next_run(
    scheduler: OfKubernetes, folder: Folder, disk: Disk
) -> None:
    def full() -> None:
        disk.is_full = True

    with pytest.raises(Refusal, match=r"No space left on device\. The upgrade of north has ended, and it is done\."):
        upgrade(scheduler, folder, lambda: None, full)
    disk.is_full = False
    assert folder.clusters(["north"])["north"].state == "upgrading"
    done, _warnings = upgrade(scheduler, folder, lambda: None, lambda: None)
    assert (done.state, len(scheduler.names())) == ("done", 1)


def test_a_cluster_is_not_failed_because_its_end_could_be_written_only_the_second_time(
    scheduler: OfKubernetes, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, refused = Folder.put, list[str]()

    def once(this: Folder, cluster: Cluster) -> None:
        if cluster.ended and not refused:
            refused.append(cluster.state)
            raise refusal("fleet_record_unwritten", "The disk is full.", "Free space.")
        put(this, cluster)

    monkeypatch.setattr(Folder, "put", once)
    with pytest.raises(Refusal, match="The disk is full"):
        upgrade(scheduler, folder, lambda: None, lambda: None)
    assert (refused, folder.clusters(["north"])["north"].state) == (["done"], "upgrading")


def test_a_process_whose_end_cannot_be_written_is_known_to_be_done(
    folder: Folder, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_given: Any) -> Played:
        disk.is_full = True
        return Played(0, DONE, "Done.")

    monkeypatch.setattr(cluster_upgrade, "play", play)
    with pytest.raises(Refusal, match="The upgrade of north has ended, and it is done"):
        cluster_upgrade.run(Task(options(folder)))


def test_a_process_that_cannot_be_started_is_a_failed_cluster(
    folder: Folder, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_given: Any) -> Played:
        raise refusal("cluster_process_failed", "The playbook opensearch cannot be run.", "See the disk.")

    monkeypatch.setattr(cluster_upgrade, "play", play)
    ended = cluster_upgrade.run(Task(options(folder))).more["cluster"]
    assert (ended["state"], ended["codes"]) == ("failed", ["cluster_process_failed"])
    assert folder.clusters(["north"])["north"].cause == "The playbook opensearch cannot be run. See the disk."


def test_a_fleet_is_cancelled_on_a_full_disk_as_well(folder: Folder, disk: Disk) -> None:
    disk.is_full = True
    folder.cancel()
    assert folder.is_cancelled()
