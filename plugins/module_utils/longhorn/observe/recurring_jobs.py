"""The recurring jobs of Longhorn, each with the CronJob that starts it, as observed and as one look at them.

longhorn-manager 1.12 makes one CronJob for each RecurringJob, with its name (`newCronJob` in
`controller/recurring_job_controller.go`). It compares the spec that it would write with the one that it noted last, and
not with that of the CronJob (`checkAndUpdateCronJob`): so `spec.suspend`, which it never sets, stays as another has set
it. When the RecurringJob changes, it writes the whole CronJob anew, without `spec.suspend` and without the annotations
of others.

The status of a CronJob does not name every Job of it. Its controller makes a Job first, and then writes the status over
the version of its cache, which is refused once `spec.suspend` was written; from then on it leaves the CronJob before it
would name that Job (`sync` and `syncCronJob` in `pkg/controller/cronjob/cronjob_controllerv2.go` of Kubernetes). So
the Jobs themselves are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from ...common.reading import Json, flag, listed, part, text, text_map, texts, within
from ...kubernetes.answers import all_of
from ...kubernetes.client import KubernetesClient
from ...kubernetes.conditions import UNKNOWN, conditions
from ...run.undo.undo_annotation import UNDO
from .kinds import CRON_JOBS, JOB_OF_CRON_JOB, JOBS, RECURRING_JOBS, path_of
from .listing import all_objects
from .state import Longhorn, RecurringWork


@dataclass(frozen=True)
class StartedJobs:
    """A CronJob of a recurring job: what it starts, and whether it may."""

    name: str
    suspended: bool
    running: tuple[str, ...]
    """The Jobs that its status names as not ended."""
    carries_undo: bool


@dataclass(frozen=True)
class OwnedJob:
    """A Job."""

    name: str
    owners: frozenset[str]
    """The names of the CronJobs that own it. A CronJob that was made anew has the Jobs of the one before it, too."""
    ended: bool
    """Whether it is complete or has failed. One of which no pod was made yet has not ended."""


def recurring_work(name: str, item: Json) -> RecurringWork:
    """A RecurringJob, without what its CronJob says."""
    spec = part(item, "spec", {})
    return RecurringWork(name, text(spec, "task", ""), frozenset(texts(spec, "groups", ())))


def started_jobs(name: str, item: Json) -> StartedJobs:
    """A CronJob of a recurring job. A field that is missing has the default of the API server."""
    notes = within(item, "metadata", lambda data: text_map(data, "annotations"))
    return StartedJobs(
        name=name,
        suspended=flag(part(item, "spec"), "suspend", default=False),
        running=tuple(sorted(listed(part(item, "status", {}), "active", lambda each: text(each, "name", ""), ()))),
        carries_undo=UNDO in notes,
    )


def owned_job(name: str, item: Json) -> OwnedJob:
    """A Job. It has ended once it is complete or has failed (`IsJobFinished` of Kubernetes)."""
    owners = within(
        item,
        "metadata",
        lambda data: listed(data, "ownerReferences", lambda each: (text(each, "kind"), text(each, "name")), ()),
    )
    said = conditions(part(item, "status", {}))
    ended = any(said.get(each, UNKNOWN).true for each in ("Complete", "Failed"))
    return OwnedJob(name, frozenset(owner for kind, owner in owners if kind == "CronJob"), ended)


def with_jobs(jobs: Collection[RecurringWork], owned: Collection[OwnedJob]) -> tuple[RecurringWork, ...]:
    """The recurring jobs, each with all of its Jobs that have not ended."""
    at_work = [each for each in owned if not each.ended]
    named = {work.name: {each.name for each in at_work if work.name in each.owners} for work in jobs}
    return tuple(replace(work, running=tuple(sorted({*work.running, *named[work.name]}))) for work in jobs)


def with_cron_jobs(jobs: Collection[RecurringWork], started: Collection[StartedJobs]) -> tuple[RecurringWork, ...]:
    """The recurring jobs, each with what its CronJob says. A CronJob whose RecurringJob is gone counts as one, too."""
    known: Mapping[str, RecurringWork] = {each.name: each for each in jobs}
    found = {
        each.name: replace(
            known.get(each.name, RecurringWork(each.name)),
            cron_job=True,
            suspended=each.suspended,
            running=each.running,
            carries_undo=each.carries_undo,
        )
        for each in started
    }
    return tuple(each for _name, each in sorted({**known, **found}.items()))


def look_with_jobs(
    look: Callable[[KubernetesClient, str], Longhorn], client: KubernetesClient, namespace: str
) -> Longhorn:
    """Longhorn now, with its recurring jobs. They are read last, so one that has started since is seen.

    Of these the Jobs are last: one that its CronJob does not name yet, or never will, is seen.

    Raises:
        Refusal: an answer cannot be had or understood, or no Longhorn is in this namespace.
    """
    seen = look(client, namespace)
    jobs = all_of("RecurringJob", all_objects(client, namespace, RECURRING_JOBS), recurring_work)
    items = client.list(path_of(namespace, CRON_JOBS), JOB_OF_CRON_JOB)
    known = with_cron_jobs(jobs, all_of("CronJob", items, started_jobs))
    # The template of these Jobs has no labels (`newCronJob`), so all Jobs of the namespace are asked for.
    return replace(seen, jobs=with_jobs(known, all_of("Job", client.list(path_of(namespace, JOBS)), owned_job)))
