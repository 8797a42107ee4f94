"""A job that is deleted in AWX before the fleet has seen its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launched import LaunchedUpgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launching import JobState, LaunchedJob

from tests.sandbox.clock import Clock
from tests.sandbox.listening import Listening
from tests.unit.plugins.module_utils.fleet.schedulers import OfAwx


@pytest.fixture
def scheduler() -> Iterator[OfAwx]:
    with Listening(Clock()) as listening:
        there = OfAwx("")
        there.url = listening.serve(there.awx).url
        yield there


def upgrade(scheduler: OfAwx, folder: Folder, then: Callable[[], None]) -> Cluster:
    """A run of the fleet; `then` is what happens while it waits for its job."""

    class Waits(Clock):
        def sleep(self, seconds: float) -> None:
            self.advance(seconds)
            then()

    params = {"path": str(folder.path), "cluster": "north", "wait_timeout": 60}
    task = Task(cluster_upgrade.CONTRACT.arguments(params), clock=Waits())
    return LaunchedUpgrade(task, folder, scheduler.launcher(), folder.clusters(["north"])["north"]).run({})


def test_a_job_that_was_deleted_is_named_and_launched_anew(scheduler: OfAwx, folder: Folder) -> None:
    gone = upgrade(scheduler, folder, scheduler.awx.jobs.clear)
    assert (gone.state, gone.codes) == ("failed", ("fleet_job_gone",))
    assert gone.cause.startswith("Job 11 was deleted before its end was seen")
    assert "a new job continues" in gone.cause
    done = upgrade(scheduler, folder, lambda: scheduler.end("11", True, "Done.", upgrade_state="done"))
    assert (done.state, done.codes) == ("done", ())


def test_a_server_that_is_no_awx_deletes_no_job(scheduler: OfAwx, folder: Folder) -> None:
    """As the default backend of an ingress answers while AWX is replaced."""
    found = upgrade(scheduler, folder, lambda: setattr(scheduler.awx, "elsewhere", "default backend - 404"))
    assert (found.state, found.codes) == ("failed", ("awx_refuses",))


def test_a_deleted_job_has_nothing_to_read_or_to_cancel(scheduler: OfAwx) -> None:
    job, launcher = LaunchedJob("11", 11, "p1", JobState.RUNNING, "running"), scheduler.launcher()
    launcher.cancel(job)
    assert (launcher.look(job).state, launcher.log(job), launcher.statistics(job)) == (JobState.GONE, "", {})
    assert [method for method, _path in scheduler.awx.asked if method != "GET"] == []
