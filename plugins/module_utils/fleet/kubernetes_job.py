"""A cluster is upgraded by a Kubernetes Job, made from a suspended CronJob as `kubectl create job --from` makes one.

The CronJob has all that every cluster shares: image, account, volumes, and Secrets by their names. The Job adds the
variables of the cluster, which are no secrets, and the consent.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..common.errors import Refusal, refusal
from ..common.reading import Json
from ..kubernetes.answers import NameTaken, reading, reading_object
from ..kubernetes.client import KubernetesClient
from ..kubernetes.paths import CORE, in_namespace
from .given_values import given_text
from .launching import JobState, LaunchedJob, label_of, name_of_job

BATCH = "/apis/batch/v1"
CLUSTER, DIGEST, ATTEMPT = (f"upgrade.stateful/fleet-{name}" for name in ("cluster", "consent", "attempt"))
"""The labels of a Job, by which it is found again."""
CONTAINER = "upgrade"
"""The container that runs the playbook, if the pod has several."""
CONSENT, SYSTEM = "upgrade_confirm", "SYSTEM"
_LINES = 100_000
"""Lines of a log that are kept, the last ones."""


class KubernetesJobs:
    """The Jobs of one cluster of the fleet, in the namespace of the CronJob."""

    title = "Job"

    def __init__(self, client: KubernetesClient, namespace: str, template: str, cluster: str, playbook: str) -> None:
        """`template` is the name of the CronJob, and `playbook` the name of the playbook without its collection."""
        self._client, self._namespace, self._template = client, namespace, template
        self._cluster, self._playbook = cluster, playbook

    def examine(self) -> None:
        """See `Launcher`."""
        self._client.post(self._path(), self._manifest({}, "p0", 0), dry_run=True)

    def jobs(self, consents: Collection[str]) -> Sequence[LaunchedJob]:
        """See `Launcher`."""
        found = self._client.list_as(self._path(), _job, f"{CLUSTER}={label_of(self._cluster)}")
        return [each for each in found if each.digest in consents or each.state is JobState.RUNNING]

    def launch(self, variables: Mapping[str, Any], digest: str, number: int) -> LaunchedJob:
        """See `Launcher`. If a Job of this name exists, this launch or that of another fleet has made it."""
        manifest = self._manifest({**variables, CONSENT: digest}, digest, number)
        try:
            made = self._client.post(self._path(), manifest)
        except NameTaken:
            made = self._client.get(self._path(manifest["metadata"]["name"])) or {}
        return _read(made)

    def look(self, job: LaunchedJob) -> LaunchedJob:
        """See `Launcher`."""
        found = self._client.get(self._path(job.name))
        gone = LaunchedJob(job.name, job.number, job.digest, JobState.CANCELLED, "deleted")
        return gone if found is None else _read(found)

    def log(self, job: LaunchedJob) -> str:
        """See `Launcher`. A Job whose pod had to leave its Kubernetes node has had several pods.

        A pod whose log cannot be read is left out, with a line that says so.

        Raises:
            Refusal: there is none that can be read.
        """
        lines, unread = list[str](), list[Refusal]()
        for pod in self._pods(job):
            name = str(pod["metadata"]["name"])
            if (pod.get("status") or {}).get("phase") in (None, "Pending"):
                continue
            try:
                found = self._client.log(self._namespace, name, self._container(pod["spec"])["name"], _LINES)
            except Refusal as error:
                unread.append(error)
                found = [f"The log of pod {name} could not be read: {error.verdict.reasons[0].message}"]
            lines += found
        if unread and len(lines) == len(unread):
            raise unread[-1]
        return "\n".join(lines)

    def statistics(self, job: LaunchedJob) -> Mapping[str, Any]:
        """See `Launcher`. They are the message of the last pod, see the callback stats_file."""
        for pod in reversed(self._pods(job)):
            with reading_object("pod", pod):
                for each in (pod.get("status") or {}).get("containerStatuses") or ():
                    ended = (each.get("state") or {}).get("terminated") or {}
                    if each["name"] == self._container(pod["spec"])["name"] and (found := _data(ended.get("message"))):
                        return found
        return {}

    def cancel(self, job: LaunchedJob) -> None:
        """See `Launcher`. The Job is deleted after its pods, each of which gets a SIGTERM first."""
        found = self._client.get(self._path(job.name))
        if found is not None:
            uid = str(found["metadata"]["uid"])
            self._client.delete(self._path(job.name), uid, propagation="Foreground")

    def _path(self, name: str = "", resource: str = "jobs") -> str:
        return in_namespace(BATCH, self._namespace, resource, name)

    def _pods(self, job: LaunchedJob) -> list[dict[str, Any]]:
        """The pods of a Job, the first one first."""
        found = self._client.list(in_namespace(CORE, self._namespace, "pods"), f"job-name={job.name}")
        return sorted(found, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))

    def _container(self, spec: Json) -> dict[str, Any]:
        containers: Sequence[dict[str, Any]] = spec["containers"]
        named = [each for each in containers if each["name"] == CONTAINER]
        return named[0] if named else containers[0]

    def _manifest(self, variables: Mapping[str, Any], digest: str, number: int) -> dict[str, Any]:
        """The Job. Its variables are an argument, where Kubernetes would expand `$(NAME)`, so each $ is doubled."""
        cron = self._client.get(self._path(self._template, "cronjobs"))
        if cron is None:
            raise self._unfit("is not there", f"Apply extensions/gitops/fleet to the namespace {self._namespace}")
        with reading(f"about CronJob {self._template}"):
            if not cron["spec"].get("suspend"):
                raise self._unfit("is not suspended, so it starts runs of its own", "Set its suspend to true")
            job = json.loads(json.dumps(cron["spec"]["jobTemplate"]))
            pod = job["spec"]["template"]
            container = self._container(pod["spec"])
            if not container.get("args"):
                raise self._unfit("has no args to which variables could be added", "Give args that run the playbook")
            given = given_text(variables).replace("$", "$$")
            container["args"] = [*container["args"], "-e", given]
            container["env"] = [*self._environment(container)]
            labels = {CLUSTER: label_of(self._cluster), DIGEST: digest, ATTEMPT: str(number)}
            about = job.get("metadata") or {}
            metadata = {
                "name": name_of_job(self._cluster, digest, number),
                "labels": {**(about.get("labels") or {}), **labels},
                "annotations": {**(about.get("annotations") or {}), "cronjob.kubernetes.io/instantiate": "manual"},
            }
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job["spec"]}

    def _environment(self, container: Json) -> Iterator[Json]:
        """The variables of its environment, with the playbook of the fleet in place of that of the CronJob."""
        for each in container.get("env") or ():
            yield {"name": SYSTEM, "value": self._playbook} if each["name"] == SYSTEM else each

    def _unfit(self, what: str, remedy: str) -> Refusal:
        return refusal(
            "job_template_unfit",
            f"The CronJob {self._template} in namespace {self._namespace} (upgrade_fleet_template) {what}.",
            f"{remedy}, or correct upgrade_fleet_template and upgrade_fleet_namespace.",
        )


def _read(item: Json) -> LaunchedJob:
    with reading_object("Job", item):
        return _job(item)


def _job(item: Json) -> LaunchedJob:
    metadata, conditions = item["metadata"], (item.get("status") or {}).get("conditions") or ()
    true = {str(each["type"]): each for each in conditions if each["status"] == "True"}
    state, said = JobState.RUNNING, "active"
    if metadata.get("deletionTimestamp"):
        said = "being deleted"
    elif "Complete" in true:
        state, said = JobState.SUCCEEDED, "complete"
    elif failed := true.get("Failed"):
        state, said = JobState.FAILED, f"failed ({failed.get('reason') or 'without a reason'})"
    labels = metadata.get("labels") or {}
    number = int(labels.get(ATTEMPT) or 0)
    return LaunchedJob(str(metadata["name"]), number, str(labels.get(DIGEST) or ""), state, said)


def _data(message: Any) -> Mapping[str, Any]:
    """The statistics in the message of a pod; empty if this collection did not write it."""
    try:
        found = json.loads(message or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
