"""Recurring jobs (`controller/recurring_job_controller.go`), and the CronJobs of Kubernetes that start them.

The CronJobs are the worst that Kubernetes may do: a run starts as soon as it is due, and one that was missed while the
CronJob was suspended, or while another run was at work, starts as soon as it may (`concurrencyPolicy: Forbid`). After
each suspension one run starts that its controller has begun before it saw it; the CronJob's status does not name it
(`sync` and `syncCronJob` in `pkg/controller/cronjob/cronjob_controllerv2.go` of Kubernetes).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.description import OLD_IMAGE
from tests.sandbox.longhorn.kinds import (
    BACKUPS,
    CRON_JOBS,
    GROUP,
    GROUP_LABEL,
    JOB_LABEL,
    JOB_OF_CRON_JOB,
    JOBS,
    NAMESPACE,
    RECURRING_JOBS,
    VOLUMES,
)
from tests.sandbox.longhorn.objects import Objects

APPLIED = f"{GROUP}/last-applied-cronjob-spec"
LOOK_AGAIN = 1.0
MINUTE = 60.0
LAGS = (1.0, 5.0, 9.0)
"""Seconds after which a run starts although its CronJob was suspended: those of the first suspension, and so on."""
NAMED, POD = 1.0, 3.0
"""Seconds from the creation of a Job until its CronJob names it, and until its pod works."""


class RecurringJobs:
    """Writes a CronJob anew when the spec is another one than it noted last, and looks at nothing else of it."""

    def __init__(self, shared: Shared) -> None:
        self._objects = shared.objects
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == RECURRING_JOBS and gone:
            self._objects.delete(CRON_JOBS, item["metadata"]["name"])
        elif kind == RECURRING_JOBS:
            self.queue.add(item["metadata"]["name"])

    def _look(self, name: str) -> None:
        job = self._objects.get(RECURRING_JOBS, name)
        if job is None:
            return
        spec = _spec_of(name, job)
        notes = {APPLIED: json.dumps(spec, sort_keys=True)}
        present = self._objects.get(CRON_JOBS, name)
        if present is None:
            owner = {"apiVersion": f"{GROUP}/v1beta2", "kind": "RecurringJob", "name": name}
            metadata: Json = {"name": name, "annotations": notes, "labels": {JOB_OF_CRON_JOB: name}}
            metadata["ownerReferences"] = [{**owner, "uid": job["metadata"]["uid"]}]
            self._objects.create(CRON_JOBS, {"metadata": metadata, "spec": spec})
        elif (present["metadata"].get("annotations") or {}).get(APPLIED) != notes[APPLIED]:

            def write(item: Json) -> None:
                item["metadata"]["annotations"] = notes
                item["spec"] = spec

            self._objects.change(CRON_JOBS, name, write)


def _spec_of(name: str, job: Json) -> Json:
    container = {"name": name, "image": OLD_IMAGE, "command": ["true"]}
    template: Json = {"metadata": {"labels": {JOB_OF_CRON_JOB: name}}}
    template["spec"] = {"containers": [container], "restartPolicy": "OnFailure"}
    spec = {"schedule": job["spec"]["cron"], "concurrencyPolicy": "Forbid"}
    return {**spec, "jobTemplate": {"spec": {"backoffLimit": 3, "template": template}}}


class CronJobs:
    """Kubernetes' own controllers of CronJobs and Jobs, for recurring jobs. A run makes a backup of each volume.

    The controller makes a Job, and names it in the status of its CronJob later, unless that was suspended since.
    """

    def __init__(self, shared: Shared) -> None:
        self._objects = shared.objects
        self.queue = shared.queue(self._look)
        self.started: list[str] = []
        """The runs that have started, in their order."""
        self.lags: Sequence[float] = LAGS
        """See `LAGS`; empty: every suspension is seen at once."""
        self._suspensions = 0
        self._suspended: dict[str, int] = {}
        """The CronJobs that are suspended, each with the number of that suspension."""
        self._missed: set[str] = set()
        self._known: set[str] = set()
        self._at_work: dict[str, str] = {}
        """The run of each CronJob that is at work."""
        self._backups: dict[str, list[str]] = {}
        """The backups of each run that is at work, once its pod runs."""
        shared.objects.listeners.append(self._seen)

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        name = item["metadata"]["name"]
        if kind == JOBS and gone:
            self._at_work = {job: run for job, run in self._at_work.items() if run != name}
        if kind != CRON_JOBS:
            return
        if gone:
            self._known.discard(name)
        elif name not in self._known:
            self._known.add(name)
            self._later(name)
        if gone or not item["spec"].get("suspend"):
            self._suspended.pop(name, None)
        elif name not in self._suspended:
            self._suspended[name] = number = self._suspensions
            self._suspensions += 1
            if self.lags:
                # A run was due just when the CronJob was suspended.
                self._objects.clock.later(self.lags[number % len(self.lags)], lambda: self._late(name, number))
        self.queue.add(name)

    def _late(self, name: str, number: int) -> None:
        if self._suspended.get(name) == number and name not in self._at_work:
            self._missed.discard(name)
            self._start(name)

    def _later(self, name: str) -> None:
        item = self._objects.get(CRON_JOBS, name)
        if item is not None:
            minutes = item["spec"]["schedule"].partition(" ")[0].removeprefix("*/")
            self._objects.clock.later(int(minutes) * MINUTE, lambda: self._periodic(name))

    def _periodic(self, name: str) -> None:
        if name in self._known:
            self.due(name)
            self._later(name)

    def due(self, name: str) -> None:
        """A run is due now: it starts as soon as it may."""
        self._missed.add(name)
        self.queue.add(name)

    def _look(self, name: str) -> None:
        item = self._objects.get(CRON_JOBS, name)
        if item is None:
            return
        if name in self._at_work:
            self._watch(name, self._at_work[name])
        elif name in self._missed and not item["spec"].get("suspend"):
            self._missed.discard(name)
            self._start(name)

    def _start(self, name: str) -> None:
        cron_job = self._objects.get(CRON_JOBS, name)
        if cron_job is None:
            return
        run = f"{name}-{len(self.started) + 1}"
        self.started.append(run)
        self._at_work[name] = run
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": name, "uid": cron_job["metadata"]["uid"]}
        metadata = {"name": run, "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}
        self._objects.create(JOBS, {"metadata": metadata, "spec": cron_job["spec"]["jobTemplate"]["spec"]})
        self._objects.clock.later(NAMED, lambda: self._name(name, run))
        self._objects.clock.later(POD, lambda: self._work(name, run))

    def _name(self, name: str, run: str) -> None:
        if name not in self._suspended and self._at_work.get(name) == run:
            active = [{"apiVersion": "batch/v1", "kind": "Job", "name": run, "namespace": NAMESPACE}]
            self._objects.status(CRON_JOBS, name, lambda status: status.update(active=active))

    def _work(self, name: str, run: str) -> None:
        """The pod of a run works."""
        if self._at_work.get(name) != run:
            return
        self._backups[run] = []
        for volume in volumes_of(self._objects.get(RECURRING_JOBS, name), list(self._objects.all(VOLUMES))):
            called = f"{run}-{volume['metadata']['name']}"
            metadata = {"name": called, "labels": {"backup-volume": volume["metadata"]["name"]}}
            self._objects.create(BACKUPS, {"metadata": metadata, "spec": {"snapshotName": called}})
            self._backups[run].append(called)
        self.queue.add(name, LOOK_AGAIN)

    def _watch(self, name: str, run: str) -> None:
        backups = [self._objects.get(BACKUPS, each) or {} for each in self._backups.get(run, ())]
        if run in self._backups and all(each.get("status", {}).get("state") == "Completed" for each in backups):
            del self._backups[run], self._at_work[name]
            done = {"type": "Complete", "status": "True"}
            self._objects.status(JOBS, run, lambda status: status.update(conditions=[done]))
            self._objects.status(CRON_JOBS, name, lambda status: status.update(active=[]))
            self._forget(name, run)
        else:
            self.queue.add(name, LOOK_AGAIN)

    def _forget(self, name: str, last: str) -> None:
        """Delete the Jobs that have ended before (`successfulJobsHistoryLimit: 1`)."""
        for each in list(self._objects.all(JOBS)):
            if name in owners_of(each) and each["metadata"]["name"] != last and has_ended(each):
                self._objects.delete(JOBS, each["metadata"]["name"])


def owners_of(job: Json) -> set[str]:
    """The CronJobs that own a Job, by name."""
    owners = job["metadata"].get("ownerReferences") or []
    return {each["name"] for each in owners if each["kind"] == "CronJob"}


def has_ended(job: Json) -> bool:
    """Whether a Job is complete or has failed."""
    said = job.get("status", {}).get("conditions") or []
    return any(each["type"] in {"Complete", "Failed"} and each["status"] == "True" for each in said)


def at_work(objects: Objects) -> set[str]:
    """The recurring jobs of which a Job has not ended, whatever the status of their CronJobs says."""
    return {name for job in objects.all(JOBS) if not has_ended(job) for name in owners_of(job)}


def volumes_of(job: Json | None, volumes: list[Json]) -> list[Json]:
    """The attached volumes on which a recurring job works (`StartVolumeJobs`)."""
    if job is None:
        return []
    wanted = {f"{JOB_LABEL}{job['metadata']['name']}", *(f"{GROUP_LABEL}{each}" for each in job["spec"]["groups"])}
    attached = [each for each in volumes if each.get("status", {}).get("state") == "attached"]
    return [each for each in attached if wanted & (each["metadata"].get("labels") or {}).keys()]
