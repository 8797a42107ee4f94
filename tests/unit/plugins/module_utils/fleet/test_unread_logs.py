"""A job whose log cannot be read: how its cluster ended is known without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launched import LOG_PATIENCE, LaunchedUpgrade

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.objects import Json, Refused
from tests.unit.plugins.module_utils.fleet.schedulers import PODS, OfKubernetes

DONE = {"upgrade_state": "done", "upgrade_changed": True}
DAY = 86400
Upgraded = tuple[Cluster, list[str], float]
"""The cluster, the lines of the task, and the seconds that it took."""


@pytest.fixture
def scheduler() -> OfKubernetes:
    found = OfKubernetes()
    found.prepare()
    return found


def upgrade(scheduler: OfKubernetes, folder: Folder, log: Callable[[Json, str, bool], list[str]]) -> Upgraded:
    """A job that ends well while the run waits for it, with a second pod, and with this log."""
    said: list[str] = []

    class Waits(Clock):
        def sleep(self, seconds: float) -> None:
            self.advance(seconds)
            (name,) = scheduler.names()
            scheduler.end(name, True, "Done.", **DONE)
            pod = {**scheduler.api.objects[f"{PODS}/{name}-x"], "metadata": {"labels": {"job-name": name}}}
            scheduler.api.put_there(f"{PODS}/{name}-a", pod)
            scheduler.api.server.logs = log

    params = {"path": str(folder.path), "cluster": "north", "wait_timeout": DAY}
    task = Task(cluster_upgrade.CONTRACT.arguments(params), clock=Waits(), voice=Lines(said.append))
    began = task.clock.now()
    cluster = folder.clusters(["north"])["north"]
    ended = LaunchedUpgrade(task, folder, scheduler.launcher(), cluster).run({"target_version": "3.8.0"})
    return ended, said, task.clock.now() - began


@pytest.mark.parametrize("code", [400, 404, 500, 503])
def test_a_log_that_cannot_be_read_decides_nothing(scheduler: OfKubernetes, folder: Folder, code: int) -> None:
    def log(_pod: Json, _container: str, _previous: bool) -> list[str]:
        raise Refused(code, "", "the kubelet is away")

    done, said, seconds = upgrade(scheduler, folder, log)
    assert (done.state, done.codes, done.log) == ("done", (), "")
    (name,) = scheduler.names()
    unread = f"north: the log of Job {name} could not be read, and is not kept: "
    assert [line.startswith(unread) for line in said].count(True) == 1
    assert seconds <= LOG_PATIENCE + 10


def test_a_pod_whose_log_cannot_be_read_is_left_out(scheduler: OfKubernetes, folder: Folder) -> None:
    def log(pod: Json, _container: str, _previous: bool) -> list[str]:
        if pod["metadata"]["name"].endswith("-x"):
            return ["Done."]
        raise Refused(500, "", "the kubelet is away")

    done, _said, _seconds = upgrade(scheduler, folder, log)
    assert done.state == "done"
    kept = sorted(folder.log_of("north").read_text().splitlines())
    assert kept[0] == "Done."
    assert kept[1].startswith(f"The log of pod {scheduler.names()[0]}-a could not be read: ")


def test_a_task_that_is_no_longer_wanted_waits_for_no_log(
    scheduler: OfKubernetes, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_task: Task, stoppable: bool = False) -> None:
        raise Refusal.because("orphaned", "The controller is gone.", "Run again.")

    def log(_pod: Json, _container: str, _previous: bool) -> list[str]:
        monkeypatch.setattr(Task, "may_look", gone)
        raise Refused(503, "", "the kubelet is away")

    with pytest.raises(Refusal, match="controller is gone"):
        upgrade(scheduler, folder, log)
    assert folder.clusters(["north"])["north"].state == "upgrading"
