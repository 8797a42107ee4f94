"""A cluster that a job of another scheduler upgrades: found again, never launched twice, cancelled, launched once more.

Both launchers ask through their real clients: AWX the stand-in of its documented API, and Kubernetes an API server in
memory. The end of a job, and that of its pod, is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.awx_job import AwxJobs
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launched import LaunchedUpgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launching import (
    JobState,
    Launch,
    LaunchedJob,
    label_of,
    name_of_job,
    standing,
)

from tests.awx.server import Job
from tests.sandbox.clock import Clock
from tests.sandbox.listening import Listening
from tests.unit.plugins.module_utils.fleet.schedulers import JOBS, OfAwx, OfKubernetes, Scheduler

DONE = {"upgrade_state": "done", "upgrade_changed": True, "upgrade_record": "stateful-upgrade-1"}
VARIABLES = {"target_version": "3.8.0", "upgrade_namespace": "search"}


@pytest.fixture(params=["awx", "kubernetes_job"])
def scheduler(request: pytest.FixtureRequest) -> Iterator[Scheduler]:
    if request.param == "kubernetes_job":
        found = OfKubernetes()
        found.prepare()
        yield found
        return
    with Listening(Clock()) as listening:
        there = OfAwx("")
        there.url = listening.serve(there.awx).url
        yield there


class Killed(BaseException):
    """The controller is gone."""


def upgrade(
    scheduler: Scheduler, folder: Folder, then: Callable[[str], None] | None = None, timeout: int = 60
) -> tuple[Cluster, LaunchedUpgrade]:
    """A run of the fleet; `then` gets the name of the newest job while the run waits for it."""

    class Waits(Clock):
        def sleep(self, seconds: float) -> None:
            self.advance(seconds)
            if then is not None and scheduler.names():
                then(scheduler.names()[-1])

    params = {"path": str(folder.path), "cluster": "north", "wait_timeout": timeout}
    task = Task(cluster_upgrade.CONTRACT.arguments(params), clock=Waits())
    cluster = folder.clusters(["north"])["north"]
    work = LaunchedUpgrade(task, folder, scheduler.launcher(), cluster)
    return work.run(VARIABLES), work


def ends(scheduler: Scheduler, statistics: Mapping[str, Any] = DONE) -> Callable[[str], None]:
    return lambda name: scheduler.end(name, "upgrade_cause" not in statistics, "Done.", **statistics)


def kill(_name: str) -> None:
    raise Killed


def test_a_job_upgrades_the_cluster_and_leaves_its_log(scheduler: Scheduler, folder: Folder) -> None:
    done, work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, done.record, work.changed) == ("done", "stateful-upgrade-1", True)
    assert folder.log_of("north").read_text() == "Done.\n"
    (name,) = scheduler.names()
    given = scheduler.given(name)
    assert given["upgrade_confirm"] == "p1"
    assert given["target_version"] == "3.8.0"
    assert folder.clusters(["north"])["north"] == done


def test_the_job_of_a_killed_run_is_found_again_and_not_launched_twice(scheduler: Scheduler, folder: Folder) -> None:
    with pytest.raises(Killed):
        upgrade(scheduler, folder, kill)
    assert folder.clusters(["north"])["north"].state == "upgrading"
    done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 1)


def test_the_job_of_a_killed_run_is_the_plan_of_its_cluster_while_it_runs(scheduler: Scheduler, folder: Folder) -> None:
    def planned(**more: str) -> Cluster | None:
        task = Task(cluster_upgrade.CONTRACT.arguments({"path": str(folder.path), "cluster": "north"}), clock=Clock())
        work = LaunchedUpgrade(task, folder, scheduler.launcher(), folder.clusters(["north"])["north"])
        return work.plan_of_running_job({**VARIABLES, **more})

    assert planned() is None, "nothing was launched"
    with pytest.raises(Killed):
        upgrade(scheduler, folder, kill)
    found, (name,) = planned(), scheduler.names()
    assert found is not None
    assert (found.state, found.digest, found.plan.split()[-6:]) == (
        "planned",
        "p1",
        ["upgrading", "it,", "and", "will", "be", "followed"],
    )
    assert name in found.plan
    assert planned(target_version="3.9.0") is None, "the job brings another version"
    scheduler.end(name, True, "Done.", **DONE)
    assert planned() is None, "it has ended"


def test_the_end_and_the_log_of_a_job_are_found_that_ended_while_no_run_was_there(
    scheduler: Scheduler, folder: Folder
) -> None:
    with pytest.raises(Killed):
        upgrade(scheduler, folder, kill)
    scheduler.end(scheduler.names()[0], True, "Done long ago.", **DONE)
    done, _work = upgrade(scheduler, folder)
    assert (done.state, len(scheduler.names())) == ("done", 1)
    assert folder.log_of("north").read_text() == "Done long ago.\n"


def test_a_run_that_was_killed_before_it_knew_its_job_finds_it(scheduler: Scheduler, folder: Folder) -> None:
    # The last file before the kill is the one that was written before the request.
    folder.put(Cluster("north", "upgrading", digest="p1", launch=Launch("p1", 0)))
    scheduler.launcher().launch(VARIABLES, "p1", 1)
    scheduler.end(scheduler.names()[0], True, "Done.", **DONE)
    done, _work = upgrade(scheduler, folder)
    assert (done.state, len(scheduler.names())) == ("done", 1)


def test_a_launch_whose_answer_is_lost_is_not_made_again(scheduler: Scheduler, folder: Folder) -> None:
    scheduler.lose_launch()
    done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 1)


def test_a_failed_job_is_the_failure_of_its_cluster_and_launched_again_by_the_next_run(
    scheduler: Scheduler, folder: Folder
) -> None:
    red = {"upgrade_state": "refused", "upgrade_cause": "It is red.", "upgrade_reasons": ["red"]}
    failed, _work = upgrade(scheduler, folder, ends(scheduler, red))
    assert (failed.state, failed.cause, failed.codes) == ("failed", "It is red.", ("red",))
    done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 2)


def test_a_job_that_failed_while_no_run_was_there_leaves_its_log_and_is_launched_again(
    scheduler: Scheduler, folder: Folder
) -> None:
    with pytest.raises(Killed):
        upgrade(scheduler, folder, kill)
    scheduler.end(scheduler.names()[0], False, "Red.", upgrade_cause="It is red.")

    def seen(name: str) -> None:
        assert folder.log_of("north").read_text() == "Red.\n"
        ends(scheduler)(name)

    done, _work = upgrade(scheduler, folder, seen)
    assert (done.state, len(scheduler.names())) == ("done", 2)


def test_an_old_success_is_no_success_of_a_new_launch(scheduler: Scheduler, folder: Folder) -> None:
    upgrade(scheduler, folder, ends(scheduler))
    done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 2)


def test_an_old_success_is_no_success_of_a_launch_that_was_noted_and_never_made(
    scheduler: Scheduler, folder: Folder
) -> None:
    upgrade(scheduler, folder, ends(scheduler))
    (old,) = scheduler.launcher().jobs({"p1"})
    folder.put(Cluster("north", "upgrading", digest="p1", launch=Launch("p1", old.number)))
    done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 2)


def test_a_job_that_has_left_no_statistics_is_not_known_to_be_done(scheduler: Scheduler, folder: Folder) -> None:
    def quiet(name: str) -> None:
        scheduler.end(name, True, "Done.")

    failed, _work = upgrade(scheduler, folder, quiet)
    assert (failed.state, failed.codes) == ("failed", ("fleet_job_unknown_end",))


def test_a_job_that_waits_for_its_next_pass_lets_the_cluster_wait(scheduler: Scheduler, folder: Folder) -> None:
    said = {"upgrade_state": "waiting", "upgrade_waiting_for": ["A member is away."]}
    waits, _work = upgrade(scheduler, folder, ends(scheduler, said))
    assert (waits.state, waits.cause) == ("waiting", "A member is away.")


def test_a_job_that_takes_too_long_goes_on_and_is_followed_by_the_next_run(
    scheduler: Scheduler, folder: Folder
) -> None:
    late, _work = upgrade(scheduler, folder, timeout=20)
    assert (late.state, late.codes) == ("failed", ("fleet_job_runs", "timed_out"))
    done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 1)


def cancel(scheduler: Scheduler, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The playbook fleet_cancel for this cluster."""
    monkeypatch.setattr(cluster_upgrade, "_launcher", lambda _task: scheduler.launcher())
    params = {"path": str(folder.path), "cluster": "north", "state": "cancelled", "launcher": "awx", "wait_timeout": 60}

    class Waits(Clock):
        def sleep(self, seconds: float) -> None:
            self.advance(seconds)
            if isinstance(scheduler, OfKubernetes):
                for path in [path for path in scheduler.api.objects if path.startswith(f"{JOBS}/")]:
                    del scheduler.api.objects[path]

    cluster_upgrade.run(Task(cluster_upgrade.CONTRACT.arguments(params), clock=Waits()))
    return folder.clusters(["north"])["north"]


def test_a_cancelled_fleet_ends_the_job_of_a_killed_run(
    scheduler: Scheduler, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Killed):
        upgrade(scheduler, folder, kill)
    found = cancel(scheduler, folder, monkeypatch)
    assert (found.state, found.codes) == ("failed", ("fleet_job_cancelled",))
    if isinstance(scheduler, OfAwx):
        assert [each.status for each in scheduler.awx.jobs] == ["canceled"]
    else:
        assert scheduler.names() == []
    assert folder.is_cancelled()
    # A run that still goes on begins no further cluster.
    params = {"path": str(folder.path), "cluster": "north"}
    held = cluster_upgrade.run(Task(cluster_upgrade.CONTRACT.arguments(params)))
    assert held.more["cluster"]["cause"] == "The fleet was cancelled."


def cancelled_at_its_end(folder: Folder, monkeypatch: pytest.MonkeyPatch, **result: Any) -> Cluster:
    """The cluster of a killed run whose job at AWX ends with this result when it is cancelled."""
    with Listening(Clock()) as listening:
        scheduler = OfAwx("")
        scheduler.url = listening.serve(scheduler.awx).url
        with pytest.raises(Killed):
            upgrade(scheduler, folder, kill)
        scheduler.awx.before_cancel = lambda job: job.end("successful", "Done.", **result)
        found = cancel(scheduler, folder, monkeypatch)
    assert found.launch is not None
    assert found.launch.ended
    return found


def test_a_job_that_ends_as_it_is_cancelled_counts_as_it_has_ended(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cancelled_at_its_end(folder, monkeypatch, **DONE)
    assert (found.state, found.cause, found.record) == ("done", "", "stateful-upgrade-1")


def test_a_cancelled_cluster_is_noted_although_its_job_has_ended_without_a_result(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cancelled_at_its_end(folder, monkeypatch)
    assert (found.state, found.codes) == ("failed", ("fleet_job_unknown_end",))


def test_a_job_of_the_template_that_was_launched_without_variables_is_none_of_the_fleet(folder: Folder) -> None:
    with Listening(Clock()) as listening:
        scheduler = OfAwx("")
        scheduler.url = listening.serve(scheduler.awx).url
        for written in ("---", "---\nupgrade_namespace: search\n", "[]"):
            scheduler.awx.jobs.append(Job(len(scheduler.awx.jobs) + 11, 7, {}, "running", written=written))
        done, _work = upgrade(scheduler, folder, ends(scheduler))
    assert (done.state, len(scheduler.names())) == ("done", 4)


def test_a_cancellation_that_awx_refuses_fails(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    with Listening(Clock()) as listening:
        scheduler = OfAwx("")
        scheduler.url = listening.serve(scheduler.awx).url
        with pytest.raises(Killed):
            upgrade(scheduler, folder, kill)

        def refuse(job: Job) -> None:
            job.end("successful")
            monkeypatch.setattr(AwxJobs, "_is_cancellable", lambda _self, _job: True)

        scheduler.awx.before_cancel = refuse
        with pytest.raises(Refusal, match="405"):
            cancel(scheduler, folder, monkeypatch)


def test_a_running_fleet_sees_that_its_job_was_cancelled(
    scheduler: Scheduler, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(_name: str) -> None:
        cancel(scheduler, folder, monkeypatch)

    ended, _work = upgrade(scheduler, folder, cancelled)
    assert (ended.state, ended.codes) == ("failed", ("fleet_job_cancelled",))


def test_a_task_that_is_no_longer_wanted_leaves_the_record_as_it_is(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = OfKubernetes()
    scheduler.prepare()

    def orphaned(_name: str) -> None:
        monkeypatch.setattr(Task, "may_look", gone)

    def gone(_task: Task, stoppable: bool = False) -> None:
        raise Refusal.because("orphaned", "The controller is gone.", "Run again.")

    with pytest.raises(Refusal, match="controller is gone"):
        upgrade(scheduler, folder, orphaned)
    assert folder.clusters(["north"])["north"].state == "upgrading"


JOB = LaunchedJob("11", 11, "p1", JobState.RUNNING, "running")


def test_a_job_of_another_plan_that_runs_is_named() -> None:
    with pytest.raises(Refusal, match="The job 11 of this cluster still runs, and carries out the plan p1, while p2"):
        standing(None, "p2", [JOB])


@pytest.mark.parametrize(
    ("cluster", "name"),
    [
        ("north", "upgrade-north-p1f429d12444-3"),
        ("North_1", "upgrade-north-1-901c2c-p1f429d12444-3"),
        ("n" * 60, f"upgrade-{'n' * 33}-fb886b-p1f429d12444-3"),
    ],
)
def test_a_name_of_a_job_is_valid_and_its_own(cluster: str, name: str) -> None:
    found = name_of_job(cluster, "p1f429d12444", 3)
    assert found == name
    assert len(found) <= 63
    assert len(label_of(cluster * 3)) <= 63


def test_what_a_launcher_needs_is_refused_before_anybody_consents(folder: Folder) -> None:
    scheduler = OfKubernetes()
    with pytest.raises(Refusal, match=r"CronJob stateful-upgrade in namespace upgrades .* is not there"):
        scheduler.launcher().examine()
    scheduler.prepare()
    scheduler.launcher().examine()
    assert scheduler.names() == []
    path = f"{JOBS.replace('jobs', 'cronjobs')}/stateful-upgrade"
    scheduler.api.objects[path]["spec"]["suspend"] = False
    with pytest.raises(Refusal, match="is not suspended"):
        scheduler.launcher().examine()


def test_a_job_of_awx_that_runs_is_found_behind_hundreds_of_later_ones(folder: Folder) -> None:
    """One job template may serve all clusters of a fleet."""
    with Listening(Clock()) as listening:
        awx = OfAwx("")
        awx.url = listening.serve(awx.awx).url
        later = [Job(12 + number, 7, {"upgrade_confirm": f"q{number}"}, "successful") for number in range(300)]
        awx.awx.jobs += [Job(11, 7, {"upgrade_confirm": "p1"}, "running"), *later]
        folder.put(Cluster("north", "upgrading", digest="p1", launch=Launch("p1", 10, job="11")))
        done, _work = upgrade(awx, folder, lambda _newest: ends(awx)("11"))
        assert (done.state, len(awx.names())) == ("done", 301)
