"""Jobs of another scheduler that upgrade a cluster, and how one is found again. Pure.

A launch is noted in the fleet's record before it is made, with the number of the newest job at that time. So the job of
a run that was killed in between is the one with a higher number and the same consent, and is never launched twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any, Protocol

from ..common.errors import refusal

LONGEST_NAME = 63
"""Characters of the name of a Job, since its pods have it as a label (batch/v1, `job-name`)."""
_UNFIT = re.compile(r"[^a-z0-9]+")
_MARK = 6


class JobState(Enum):
    """The state of a job."""

    RUNNING = "running"
    """It has not ended; it may also be waiting to start."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    GONE = "gone"
    """It was deleted, so its end is not known."""


@dataclass(frozen=True)
class LaunchedJob:
    """A job, as its scheduler shows it."""

    name: str
    """Its name, or its id in AWX."""
    number: int
    """Its number in the order of launches of the same cluster and consent."""
    digest: str
    """The digest of the plan that it has consent to."""
    state: JobState
    said: str
    """The words of its scheduler for its state."""


@dataclass(frozen=True)
class Launch:
    """A launch, as the record of the fleet has it."""

    digest: str
    """The consent of the job."""
    after: int
    """The number of the newest job with this consent before the launch; 0 if there was none."""
    job: str = ""
    """The name of the job; empty until the scheduler has answered."""
    ended: bool = False
    """Whether a run of the fleet has recorded the end of the job."""
    variables: str = ""
    """The mark of the variables of the job (`mark_of`)."""


def mark_of(variables: Mapping[str, Any]) -> str:
    """A digest of the variables, which does not reveal them."""
    return sha256(json.dumps(variables, sort_keys=True, default=str).encode()).hexdigest()


class Launcher(Protocol):
    """A scheduler for one cluster. A method raises Unreachable without an answer, and Refusal for any other error."""

    title: str
    """The word for a job in sentences, before its name."""

    def examine(self) -> None:
        """Raise a Refusal if no job could be launched now. Nothing is launched."""

    def jobs(self, consents: Collection[str]) -> Sequence[LaunchedJob]:
        """The jobs of this cluster with one of these consents, and its other running jobs if they can be recognized."""

    def launch(self, variables: Mapping[str, Any], digest: str, number: int) -> LaunchedJob:
        """Launch a job with these variables. `number` is higher than those of all jobs with this consent."""

    def look(self, job: LaunchedJob) -> LaunchedJob:
        """The job as it is now. One that is gone counts as cancelled where that is how a job is cancelled."""

    def log(self, job: LaunchedJob) -> str:
        """Its output; empty if there is none, or no longer any."""

    def statistics(self, job: LaunchedJob) -> Mapping[str, Any]:
        """The custom statistics of its run; empty if it has left none."""

    def cancel(self, job: LaunchedJob) -> None:
        """Ask for its end."""


def standing(launch: Launch | None, digest: str, jobs: Collection[LaunchedJob]) -> LaunchedJob | None:
    """The job that counts: one that runs, else the ended one of a launch whose end is not recorded; None without any.

    Raises:
        Refusal: a running job carries out another plan of the cluster.
    """
    running = [each for each in jobs if each.state is JobState.RUNNING]
    for each in running:
        if each.digest != digest:
            raise refusal(
                "fleet_job_of_other_plan",
                f"The job {each.name} of this cluster still runs, and carries out the plan {each.digest},"
                f" while {digest} is wanted.",
                "Wait until it has ended, or end it with the playbook fleet_cancel, and run again.",
            )
    if launch is None or launch.ended or launch.digest != digest:
        return max(running, key=_place, default=None)
    return max(running or [each for each in jobs if is_of(launch, each)], key=_place, default=None)


def is_of(launch: Launch, job: LaunchedJob) -> bool:
    """Whether a job was made by this launch."""
    return job.digest == launch.digest and job.number > launch.after


def newest_number(digest: str, jobs: Collection[LaunchedJob]) -> int:
    """The number of the newest job with this consent; 0 without any."""
    return max((each.number for each in jobs if each.digest == digest), default=0)


def _place(job: LaunchedJob) -> int:
    return job.number


def name_of_job(cluster: str, digest: str, number: int) -> str:
    """The name of a Kubernetes Job: always valid, and the same for the same cluster, consent and attempt.

    A name that had to be changed gets a digest of the whole name, so that two clusters never share a Job.
    """
    end = f"-{digest}-{number}"
    return f"{label_of(cluster, LONGEST_NAME - len('upgrade-') - len(end), 'upgrade-')}{end}"


def label_of(cluster: str, longest: int = LONGEST_NAME, before: str = "") -> str:
    """The name of a cluster as a label value of Kubernetes, or as a part of a name, behind `before`."""
    fit = _UNFIT.sub("-", cluster.lower()).strip("-")
    if fit == cluster and len(fit) <= longest:
        return f"{before}{fit}"
    mark = sha256(cluster.encode()).hexdigest()[:_MARK]
    return f"{before}{fit[: longest - _MARK - 1].strip('-') or 'cluster'}-{mark}"
