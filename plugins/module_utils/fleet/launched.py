"""A cluster is upgraded by a job of another scheduler: it is found or launched, followed, and its result recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.errors import Refusal, Unreachable, refusal
from ..common.task import Task
from ..common.timestamps import now_text, timestamp_of, utc_now
from ..common.verdict import State, Verdict, waiting
from ..common.waiting import Patience
from .fleet_record import DONE, FAILED, PLANNED, UPGRADING, WAITING, Cluster
from .folder import Folder
from .launching import JobState, Launch, LaunchedJob, Launcher, is_of, mark_of, newest_number, standing

UNANSWERED = 60.0
"""Seconds for which a job is searched for if its launch got no answer."""
LOG_PATIENCE = 30.0
"""Seconds for which the output of a job is asked for. It decides nothing, so the cluster does not wait for it."""
GONE = "orphaned"
"""The code of a task whose controller is gone. The job continues, and the next run finds it."""


class LaunchedUpgrade:
    """The upgrade of one cluster by a job. Each step is written to the folder before the next one."""

    def __init__(self, task: Task, folder: Folder, launcher: Launcher, cluster: Cluster) -> None:
        self._task, self._folder, self._launcher = task, folder, launcher
        self._cluster = cluster
        self.changed = False
        """Whether a job was launched or cancelled, or has changed something."""

    def run(self, variables: Mapping[str, Any]) -> Cluster:
        """The cluster at the end of its job. Any failure counts as a failure of the cluster.

        Raises:
            Refusal: this task is no longer wanted.
        """
        try:
            job = self._job(variables)
            job = self._followed(job)
            ended = self._taken(job)
        except Refusal as error:
            ended = self._failed(error)
        self._folder.put(ended)
        return ended

    def plan_of_running_job(self, variables: Mapping[str, Any]) -> Cluster | None:
        """The plan that a job is carrying out with these variables, if the record has its launch.

        A cluster whose lock that job holds has no other plan until the job has ended.
        """
        launch = self._cluster.launch
        if launch is None or launch.ended or launch.variables != mark_of(variables):
            return None
        for job in self._asked():
            if job.state is JobState.RUNNING and is_of(launch, job):
                said = f"{self._launcher.title} {job.name} is upgrading it, and will be followed"
                return Cluster(self._cluster.name, PLANNED, digest=launch.digest, plan=said)
        return None

    def cancel(self) -> Cluster:
        """The cluster, after all of its running jobs were cancelled and have ended."""
        running, over = [each for each in self._asked() if each.state is JobState.RUNNING], list[LaunchedJob]()
        for job in running:
            self._keep(job)
            self._task.act("job_cancelled", job.name, partial(self._launcher.cancel, job))
            if not self._task.check_mode:
                over.append(self._followed(job))
                self._keep(over[-1])
        if not running or self._task.check_mode:
            return self._cluster
        self._take_end()
        self.changed = True
        named = ", ".join(each.name for each in running)
        ended = self._ended(FAILED, f"{self._launcher.title} {named} was cancelled.", "fleet_job_cancelled")
        # One may have come to its end before it was cancelled.
        try:
            for job in over:
                ended = self._taken(job) if job.state is JobState.SUCCEEDED else ended
        except Refusal as error:
            ended = self._failed(error)
        self._folder.put(ended)
        return ended

    def _asked(self) -> list[LaunchedJob]:
        """The jobs of this cluster. The job of the last launch may have another consent and still be running."""
        launch = self._cluster.launch
        consents = {self._cluster.digest, launch.digest if launch else ""} - {""}
        return [*self._task.ask(lambda: self._launcher.jobs(consents))]

    def _job(self, variables: Mapping[str, Any]) -> LaunchedJob:
        """The job that counts; a new one is launched if there is none, or if the last one has failed."""
        digest = self._cluster.digest
        jobs = self._asked()
        job = standing(self._cluster.launch, digest, jobs)
        if job is not None and job.state in (JobState.RUNNING, JobState.SUCCEEDED):
            self._task.progress(f"{self._cluster.name}: {self._launcher.title} {job.name} is found again.")
            launch = self._cluster.launch
            found = launch if launch and is_of(launch, job) else Launch(digest, job.number - 1)
            self._note_if_possible(replace(found, job=job.name, variables=mark_of(variables)))
            return job
        if job is not None:
            self._keep(job)
        launch = Launch(digest, newest_number(digest, jobs), variables=mark_of(variables))
        self._note(launch)
        job = self._launch(variables, launch)
        self._note_if_possible(replace(launch, job=job.name))
        self.changed = True
        self._task.progress(f"{self._cluster.name}: {self._launcher.title} {job.name} is launched.")
        return job

    def _launch(self, variables: Mapping[str, Any], launch: Launch) -> LaunchedJob:
        """A new job. If the answer is lost, the job is searched for, and never launched a second time."""
        made: list[LaunchedJob] = []

        def ask() -> None:
            made.append(self._launcher.launch(variables, launch.digest, launch.after + 1))

        try:
            self._task.act("job_launched", self._cluster.name, ask)
        except Unreachable as error:
            unanswered = " ".join(each.message for each in error.verdict.reasons)
            lost = waiting("fleet_launch_unanswered", f"It is not known whether a job was launched: {unanswered}")

            def look() -> LaunchedJob | None:
                jobs = self._launcher.jobs({launch.digest})
                return next((each for each in jobs if is_of(launch, each)), None)

            found, verdict = self._task.wait_apart(
                look, lambda seen: Verdict((lost,) if seen is None else ()), Patience(UNANSWERED, 2.0)
            )
            if found is None:
                raise Refusal(*verdict.reasons) from error
            return found
        return made[0]

    def _followed(self, job: LaunchedJob) -> LaunchedJob:
        """The job at its end.

        Raises:
            Refusal: it did not end in time, and is still running.
        """
        title = f"{self._cluster.name}: {self._launcher.title} {job.name}"

        def judge(seen: LaunchedJob) -> Verdict:
            runs = seen.state is JobState.RUNNING
            return Verdict((waiting("fleet_job_runs", f"{title} has not ended: it is {seen.said}."),) if runs else ())

        ended, verdict = self._task.wait(lambda: self._launcher.look(job), judge)
        if verdict.state is State.REFUSED:
            raise Refusal(*verdict.reasons)
        return ended

    def _taken(self, job: LaunchedJob) -> Cluster:
        """The cluster, with the result and the output of the job. If reading them fails, the next run does it."""
        self._keep(job)
        called = f"{self._launcher.title} {job.name}"
        said = self._task.ask(lambda: self._launcher.statistics(job))
        self._take_end()
        if job.state is JobState.GONE:
            raise refusal(
                "fleet_job_gone",
                f"{called} was deleted before its end was seen, so it is not known how its run has ended.",
                "Run again: a new job continues where that one was, and changes nothing if the cluster is done.",
            )
        if job.state is JobState.CANCELLED:
            return self._ended(FAILED, f"{called} was cancelled: it is {job.said}.", "fleet_job_cancelled")
        self.changed = self.changed or bool(said.get("upgrade_changed", True))
        codes = [str(each) for each in said.get("upgrade_reasons") or ()]
        if said.get("upgrade_record"):
            self._cluster = replace(self._cluster, record=str(said["upgrade_record"]))
        if job.state is JobState.FAILED:
            return self._ended(FAILED, str(said.get("upgrade_cause") or f"{called} has ended: {job.said}."), *codes)
        if "upgrade_state" not in said:
            raise refusal(
                "fleet_job_unknown_end",
                f"{called} has succeeded, but its run has left no statistics, so it is not known whether the"
                " cluster is done.",
                "Run again. If this lasts, set the callback stats_file as extensions/gitops/fleet does.",
            )
        waits = said["upgrade_state"] == "waiting"
        cause = " ".join(map(str, said.get("upgrade_waiting_for") or ())) if waits else ""
        return self._ended(WAITING if waits else DONE, cause, *codes)

    def _keep(self, job: LaunchedJob) -> None:
        """Keep the output of a job in the folder of the fleet, if it still has any that can be read.

        Raises:
            Refusal: this task is no longer wanted.
        """
        try:
            found, _verdict = self._task.wait_apart(
                lambda: self._launcher.log(job), lambda _log: Verdict(), Patience(LOG_PATIENCE, 2.0)
            )
        except Refusal as error:
            if is_gone(error):
                raise
            said = " ".join(each.message for each in error.verdict.deciding() if each.code != "timed_out")
            title = f"{self._launcher.title} {job.name}"
            self._task.progress(f"{self._cluster.name}: the log of {title} could not be read, and is not kept: {said}")
            return
        if found and self._is_written(lambda: self._folder.keep_log(self._cluster.name, found)):
            self._cluster = replace(self._cluster, log=str(self._folder.log_of(self._cluster.name)))

    def _take_end(self) -> None:
        launch = self._cluster.launch
        self._cluster = replace(self._cluster, launch=replace(launch, ended=True) if launch else None)

    def _note(self, launch: Launch) -> None:
        self._cluster = replace(self._cluster, state=UPGRADING, launch=launch)
        self._folder.put(self._cluster)

    def _note_if_possible(self, launch: Launch) -> None:
        """Note a launch that the next run would find without its note. The job is followed even on a full disk."""
        self._is_written(lambda: self._note(launch))

    def _is_written(self, write: Callable[[], None]) -> bool:
        """Whether this could be written. If not, a warning says so, since the job decides how its cluster ends."""
        try:
            write()
        except Refusal as error:
            self._task.warn(f"{self._cluster.name}: {error.verdict.reasons[0].message}")
            return False
        return True

    def _failed(self, error: Refusal) -> Cluster:
        """The cluster that has failed with this.

        Raises:
            Refusal: this task is no longer wanted.
        """
        if is_gone(error):
            raise error
        return self._ended(FAILED, *failure_of(error))

    def _ended(self, state: str, cause: str, *codes: str) -> Cluster:
        cluster = self._cluster
        seconds = (utc_now() - timestamp_of(cluster.began)).total_seconds() if cluster.began else 0.0
        return replace(
            cluster,
            state=state,
            cause=cause,
            codes=tuple(codes),
            ended=now_text(),
            seconds=seconds,
        )


def is_gone(error: Refusal) -> bool:
    """Whether this task is no longer wanted, which says nothing about the job."""
    return any(each.code == GONE for each in error.verdict.deciding())


def failure_of(error: Refusal) -> tuple[str, ...]:
    """The cause and the codes of a cluster that has failed with this."""
    reasons = error.verdict.deciding()
    return (" ".join(each.sentence() for each in reasons), *(each.code for each in reasons))
