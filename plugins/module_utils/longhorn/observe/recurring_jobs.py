"""The recurring jobs of Longhorn, each with the CronJob that starts it, as observed and as one look at them.

longhorn-manager 1.12 makes one CronJob for each RecurringJob, with its name (`newCronJob` in
`controller/recurring_job_controller.go`). It compares the spec that it would write with the one that it noted last, and
not with that of the CronJob (`checkAndUpdateCronJob`): so `spec.suspend`, which it never sets, stays as another has set
it. When the RecurringJob changes, it writes the whole CronJob anew, without `spec.suspend` and without the annotations
of others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from ...common.reading import Json, flag, listed, part, text, text_map, texts, within
from ...kubernetes.answers import all_of
from ...kubernetes.client import KubernetesClient
from ...run.undo.undo_annotation import UNDO
from .kinds import CRON_JOBS, JOB_OF_CRON_JOB, RECURRING_JOBS, path_of
from .state import Longhorn, RecurringWork


@dataclass(frozen=True)
class StartedJobs:
    """A CronJob of a recurring job: what it starts, and whether it may."""

    name: str
    suspended: bool
    running: tuple[str, ...]
    """The Jobs that it has started and that have not ended."""
    carries_undo: bool


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

    Raises:
        Refusal: an answer cannot be had or understood, or no Longhorn is in this namespace.
    """
    seen = look(client, namespace)
    jobs = all_of("RecurringJob", client.list(path_of(namespace, RECURRING_JOBS)), recurring_work)
    items = client.list(path_of(namespace, CRON_JOBS), JOB_OF_CRON_JOB)
    return replace(seen, jobs=with_cron_jobs(jobs, all_of("CronJob", items, started_jobs)))
