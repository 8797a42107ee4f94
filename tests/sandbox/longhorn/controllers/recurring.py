"""Recurring jobs (`controller/recurring_job_controller.go`), and the CronJobs of Kubernetes that start them.

The CronJobs are the worst that Kubernetes may do: a run starts as soon as it is due, and one that was missed while the
CronJob was suspended, or while another run was at work, starts as soon as it may (`concurrencyPolicy: Forbid`).
"""

from __future__ import annotations

import json

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
    NAMESPACE,
    RECURRING_JOBS,
    VOLUMES,
)

APPLIED = f"{GROUP}/last-applied-cronjob-spec"
LOOK_AGAIN = 1.0
MINUTE = 60.0


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
    """Kubernetes' own controller of CronJobs, for those of recurring jobs. A run makes a backup of each volume."""

    def __init__(self, shared: Shared) -> None:
        self._objects = shared.objects
        self.queue = shared.queue(self._look)
        self.started: list[str] = []
        """The runs that have started, in their order."""
        self._missed: set[str] = set()
        self._known: set[str] = set()
        self._backups: dict[str, list[str]] = {}
        """The backups of each run that is at work."""
        shared.objects.listeners.append(self._seen)

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        name = item["metadata"]["name"]
        if kind != CRON_JOBS:
            return
        if gone:
            self._known.discard(name)
        elif name not in self._known:
            self._known.add(name)
            self._later(name)
        self.queue.add(name)

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
        at_work = item.get("status", {}).get("active") or []
        if at_work:
            self._watch(name, at_work[0]["name"])
        elif name in self._missed and not item["spec"].get("suspend"):
            self._missed.discard(name)
            self._start(name)

    def _start(self, name: str) -> None:
        run = f"{name}-{len(self.started) + 1}"
        self.started.append(run)
        active = [{"apiVersion": "batch/v1", "kind": "Job", "name": run, "namespace": NAMESPACE}]
        self._objects.status(CRON_JOBS, name, lambda status: status.update(active=active))
        self._backups[run] = []
        for volume in volumes_of(self._objects.get(RECURRING_JOBS, name), list(self._objects.all(VOLUMES))):
            called = f"{run}-{volume['metadata']['name']}"
            metadata = {"name": called, "labels": {"backup-volume": volume["metadata"]["name"]}}
            self._objects.create(BACKUPS, {"metadata": metadata, "spec": {"snapshotName": called}})
            self._backups[run].append(called)
        self.queue.add(name, LOOK_AGAIN)

    def _watch(self, name: str, run: str) -> None:
        backups = [self._objects.get(BACKUPS, each) or {} for each in self._backups.get(run, ())]
        if all(each.get("status", {}).get("state") == "Completed" for each in backups):
            self._backups.pop(run, None)
            self._objects.status(CRON_JOBS, name, lambda status: status.update(active=[]))
        else:
            self.queue.add(name, LOOK_AGAIN)


def volumes_of(job: Json | None, volumes: list[Json]) -> list[Json]:
    """The attached volumes on which a recurring job works (`StartVolumeJobs`)."""
    if job is None:
        return []
    wanted = {f"{JOB_LABEL}{job['metadata']['name']}", *(f"{GROUP_LABEL}{each}" for each in job["spec"]["groups"])}
    attached = [each for each in volumes if each.get("status", {}).get("state") == "attached"]
    return [each for each in attached if wanted & (each["metadata"].get("labels") or {}).keys()]
