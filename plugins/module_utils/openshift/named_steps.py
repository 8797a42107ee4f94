"""The seventeen named steps of a managed upgrade, and how far a record shows that each has come. Pure.

They are those of managed-upgrade-operator (`pkg/upgraders/osdupgrader.go`), by their names and in their order. The run
itself takes other steps, so each of these has a function that reads the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..common.words import unique
from ..run.record.batches import BatchRecord
from ..run.record.conditions import NOT_BEGUN, Condition, StepState
from ..run.record.record import Record
from ..run.steps import KNOWN
from .course import SILENCES, UpgradeCourse, begun_at, done_at


@dataclass(frozen=True)
class Progress:
    """The progress of a step that has begun."""

    since: str
    done: str = ""
    """The time at which it was completed; empty before."""
    said: str = ""
    """Words on what it waits for, or on what it was."""


@dataclass(frozen=True)
class NamedStep:
    """One step."""

    name: str
    progress: Callable[[UpgradeCourse], Progress | None]
    """None before it has begun, and where the upgrade has nothing for it to do."""
    needless: str = ""
    """The cause if an upgrade has nothing for it to do."""


@dataclass(frozen=True)
class NamedProgress:
    """A step of the table that has begun, or that was passed over."""

    name: str
    progress: Progress


def steps_of(record: Record) -> list[NamedProgress]:
    """The steps that have started, in the order of the table. An earlier one that has nothing to do is completed.

    One that is left out is a check that the upgrade skips, and is not shown.
    """
    course, steps = UpgradeCourse(record), [each for each in STEPS if each.name not in record.skipped]
    found = [each.progress(course) for each in steps]
    last = max((place for place, each in enumerate(found) if each is not None), default=-1)
    last = len(steps) - 1 if course.is_completed else last
    shown = list[NamedProgress]()
    time = course.completed or record.updated
    for step, progress in reversed(list(zip(steps[: last + 1], found, strict=False))):
        if progress is not None:
            time = progress.since
            shown.append(NamedProgress(step.name, progress))
        elif course.begun:
            shown.append(NamedProgress(step.name, Progress(time, time, step.needless)))
    return _stopped(shown[::-1], record.cause)


def _stopped(shown: Sequence[NamedProgress], reason: str) -> list[NamedProgress]:
    """The steps, of which the one under way has the reason for which the upgrade has stopped, if it has."""
    under_way = next((each for each in shown if not each.progress.done), None)
    return [
        replace(each, progress=replace(each.progress, said=reason or each.progress.said)) if each is under_way else each
        for each in shown
    ]


def with_own_steps(record: Record) -> list[NamedProgress]:
    """The steps that have started, with those of the user, each after the last step that had started before it."""
    found = steps_of(record)
    for each in record.conditions if record.run else ():
        progress = _taken((each,))
        if progress is not None and each.type not in OF_RUN:
            place = max((at for at, one in enumerate(found, 1) if one.progress.since <= progress.since), default=0)
            found.insert(place, NamedProgress(each.type, progress))
    return found


def conditions_of_steps(record: Record) -> list[Condition]:
    """All steps with their states, also those that have not begun and those that are left out."""
    shown = {each.name: each.progress for each in steps_of(record)}
    return [_condition(each.name, shown.get(each.name), record) for each in STEPS]


def _condition(name: str, progress: Progress | None, record: Record) -> Condition:
    if progress is None:
        word = StepState.SKIPPED.value if name in record.skipped else NOT_BEGUN
        return Condition(name, "False", word, "", "", "", "", "")
    since, done, state = progress.since, progress.done, StepState.COMPLETED if progress.done else StepState.IN_PROGRESS
    times = (since, done, done or record.updated, done or since)
    return Condition(name, str(bool(done)), state.value, progress.said, *times)


def _taken(conditions: Sequence[Condition]) -> Progress | None:
    """The progress of steps of the run."""
    if not conditions:
        return None
    since, left = min(each.start_time for each in conditions), [each for each in conditions if each.status != "True"]
    done = "" if left else max(each.complete_time for each in conditions)
    said = " ".join(each.message for each in (left or conditions) if each.message)
    return Progress(since, done, said)


def _of_run(*names: str) -> Callable[[UpgradeCourse], Progress | None]:
    """The progress of the steps of the run by these names."""
    return lambda course: _taken(course.conditions(*names))


def _at(time: str) -> Progress | None:
    """The progress of a step that takes no time."""
    return Progress(time, time) if time else None


TASKS_AFTER = "upgrade_tasks_after"
OF_RUN = frozenset({TASKS_AFTER, *(each.name for each in KNOWN)})
"""The steps of a run that are not the user's: the named steps stand for them."""
_PROCEDURES = _of_run("file_integrity", TASKS_AFTER)


def _started_notification(course: UpgradeCourse) -> Progress | None:
    if not course.begun:
        return None
    sent = course.noticed("started")
    done = sent or course.checked
    return Progress(course.begun, done, NOT_SENT if done and not sent else "")


def _delayed_check(course: UpgradeCourse) -> Progress | None:
    start = course.record.start
    if start is None:
        return None
    late = f"late since {start.delayed}, it was to start at {start.at}" if start.delayed else ""
    if course.begun:
        return Progress(course.checked, course.checked, late) if course.checked else None
    return Progress(start.delayed, "", late) if late else None


def _upgradeable(course: UpgradeCourse) -> Progress | None:
    return _at(course.checked) if course.is_minor else None


def _health_before(course: UpgradeCourse) -> Progress | None:
    """Operators and Kubernetes nodes are asked by the plan, and alerts by steps of the run."""
    start = course.record.start
    if course.begun:
        asked = _taken(course.conditions("alerts", "nodes")) or _at(course.checked)
        return _with_alerts(asked, course.conditions("alerts"))
    if start is None or not start.checked:
        return None
    found = (
        f"the early look has found: {' '.join(start.findings)}" if start.findings else "the early look found nothing"
    )
    return Progress(start.checked, "", found)


def _commence(course: UpgradeCourse) -> Progress | None:
    since = begun_at(course.control_plane)
    return Progress(since, course.commenced) if since else None


def _control_plane(course: UpgradeCourse) -> Progress | None:
    since, done = course.commenced, done_at(course.control_plane)
    return Progress(since, done, "" if done else course.late(course.control_plane)) if since else None


def _control_window_removed(course: UpgradeCourse) -> Progress | None:
    return _at(done_at(course.control_plane)) if course.has_windows else None


def _worker_window(course: UpgradeCourse) -> Progress | None:
    if not course.has_windows:
        return None
    since = begun_at(course.workers)
    if course.is_completed and not since:
        return Progress(course.rolled, course.rolled, NO_WORKERS)
    return _at(since)


def _workers(course: UpgradeCourse) -> Progress | None:
    since = begun_at(course.workers)
    if not since:
        return None
    left = LEFT if course.left else ""
    said = ", ".join(filter(None, (*_by_pool(course.workers), left, course.late(course.workers))))
    return Progress(since, course.workers_done, said)


def _by_pool(workers: Sequence[BatchRecord]) -> Iterator[str]:
    """How many Kubernetes nodes are done; where there are several pools, of each."""
    pools = unique(each.pools for each in workers)
    for pool in pools:
        own = [each for each in workers if each.pools == pool]
        whole = {name for each in own for name in each.members}
        # In a chain one may be in several batches.
        left = {name for each in own if each.state != "done" for name in each.members}
        of = f"{' and '.join(pool)}: " if len(pools) > 1 else ""
        yield f"{of}{len(whole - left)} of {len(whole)} Kubernetes nodes"


def _worker_window_removed(course: UpgradeCourse) -> Progress | None:
    return _at(course.rolled) if course.has_windows else None


def _health_after(course: UpgradeCourse) -> Progress | None:
    if not course.rolled:
        return None
    asked = _taken(course.conditions("alerts_after", "nodes_after"))
    following = _PROCEDURES(course) or _completed_notification(course)
    done = course.completed or (following.since if following else "")
    found = Progress(course.rolled, done, (asked.said if asked else "") or course.record.health)
    return _with_alerts(found, course.conditions("alerts_after"))


def _with_alerts(progress: Progress | None, asked: Sequence[Condition]) -> Progress | None:
    """The progress of a health check, which says so once it is completed without the step that asks for alerts."""
    if progress is None or not progress.done or asked:
        return progress
    return replace(progress, said="; ".join(filter(None, (progress.said, NO_ALERTS))))


def _completed_notification(course: UpgradeCourse) -> Progress | None:
    sent = course.noticed("completed")
    if sent or not course.completed:
        return _at(sent)
    return Progress(course.completed, course.completed, NOT_SENT)


NOT_SENT = "noted in the record; no notice was sent (upgrade_webhook)"
NO_ALERTS = "alerts were not looked at (upgrade_prometheus_url)"
NO_SILENCES = "no silence was asked for (upgrade_alertmanager_url)"
NO_WORKERS = "no Kubernetes node was left"
LEFT = "the others are gone, or a person has paused their MachineConfigPool"
BEFORE = "the control plane was upgraded before"
STEPS = (
    NamedStep("SendStartedNotification", _started_notification),
    NamedStep("UpgradeDelayedCheck", _delayed_check, "it was not late"),
    NamedStep("IsUpgradeable", _upgradeable, "the minor version stays"),
    NamedStep("PreUpgradeHealthCheck", _health_before),
    NamedStep("ExternalDependencyAvailabilityCheck", _of_run("dependencies"), "none was given (upgrade_dependencies)"),
    NamedStep("EnsureExtraUpgradeWorkers", _of_run("capacity"), "no capacity was to be added"),
    NamedStep("CreateControlPlaneMaintWindow", _of_run(SILENCES), NO_SILENCES),
    NamedStep("CommenceUpgrade", _commence, BEFORE),
    NamedStep("ControlPlaneUpgraded", _control_plane, BEFORE),
    NamedStep("RemoveControlPlaneMaintWindow", _control_window_removed, NO_SILENCES),
    NamedStep("CreateWorkerMaintWindow", _worker_window, NO_SILENCES),
    NamedStep("AllWorkersUpgraded", _workers, NO_WORKERS),
    NamedStep("RemoveExtraScaledNodes", _of_run("capacity_after"), "no capacity was added"),
    NamedStep("RemoveMaintWindow", _worker_window_removed, NO_SILENCES),
    NamedStep("PostUpgradeHealthCheck", _health_after),
    NamedStep("PostUpgradeProcedures", _PROCEDURES, "none was asked for (upgrade_tasks_after, upgrade_fedramp)"),
    NamedStep("SendCompletedNotification", _completed_notification),
)
"""All steps, in their order."""
