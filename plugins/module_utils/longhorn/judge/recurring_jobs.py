"""Holding recurring jobs off while a node is changed, and letting them go again. Pure.

Longhorn has no pause for a recurring job, so the CronJob that starts it is suspended, with the undo on it. A job that
has started by then is waited for. So is one that starts since: the controller of CronJobs decides by its cache, which
may not have the suspension yet (`QUIET`). When a CronJob resumes, Kubernetes starts one missed run, however many were
missed (`concurrencyPolicy: Forbid`, no `startingDeadlineSeconds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial

from ...common.verdict import Reason, Verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.state import Longhorn, RecurringWork, Volume
from .stages import BEGINNINGS, EARLY, NEED_QUIET, Act, SwitchStage, SwitchStep, WantedSwitch
from .volumes import exposed

SYSTEM_BACKUP = "system-backup"
"""The task that can back up every volume, whatever its labels (`volume-backup-policy`)."""

QUIET = 10.0
"""Seconds for which a CronJob has to be seen suspended before an engine moves or an instance manager is replaced.

Kubernetes names no bound for the age of a controller's cache, which is mostly below a second. This is the time within
which a controller manager that reaches no API server gives up (`--leader-elect-renew-deadline`, 10 s by default)."""

SETTLES = "recurring_jobs_settle"
"""The code of the wait for this time."""

Judged = Callable[[Longhorn, WantedSwitch], SwitchStep]
_OVER = frozenset({SwitchStage.FINALIZING, SwitchStage.COMPLETED})


def works_on(job: RecurringWork, volume: Volume) -> bool:
    """Whether a job works on a volume: by its own label, by that of a group (`StartVolumeJobs` of 1.12), or on all."""
    return job.task == SYSTEM_BACKUP or job.name in volume.jobs or not job.groups.isdisjoint(volume.job_groups)


def jobs_at(seen: Longhorn, node: str) -> tuple[RecurringWork, ...]:
    """The jobs that work on a v2 volume with an engine, a replica or a workload on the node.

    Detached volumes count: with the setting `allow-recurring-job-while-volume-detached` a job attaches them.
    """
    there = {*seen.volumes_on.get(node, ()), *exposed(seen, node)}
    return tuple(each for each in seen.jobs if any(works_on(each, volume) for volume in there))


def to_let_go(seen: Longhorn, kept: Collection[str]) -> tuple[RecurringWork, ...]:
    """The jobs that a run holds off, except for those that work on volumes of a node among `kept`.

    A run that continues keeps the jobs of all nodes that are left, also where none is begun: a pass may have ended
    between holding a job off and the node's first change, and the next one would start over for ever.
    """
    needed = {each.name for name in kept for each in jobs_at(seen, name)}
    return tuple(each for each in seen.jobs if each.carries_undo and each.name not in needed)


def _is_begun(seen: Longhorn, node: str) -> bool:
    known = seen.nodes.get(node)
    return bool(known and known.mark) or seen.upgrades.are_at(node)


def with_jobs_held(judged: Judged) -> Judged:
    """The judge of a node's state, with its recurring jobs held off from before its first act until its end."""
    return partial(_step, judged)


def _step(judged: Judged, seen: Longhorn, wanted: WantedSwitch) -> SwitchStep:
    found, node = judged(seen, wanted), wanted.node
    if not wanted.image or found.stage is SwitchStage.ERROR:
        # A node that is only emptied keeps its jobs. After a failure the end of the run lets them go.
        return found
    if found.stage in _OVER:
        return _let_go(seen, node) or found
    if not (found.acts or _is_begun(seen, node)):
        return found
    return _hold(seen, wanted, found)


def _let_go(seen: Longhorn, node: str) -> SwitchStep | None:
    """The step until no job is held off any more, except for other nodes that are under way."""
    others = [name for name in seen.nodes if name != node and name not in seen.emptied and _is_begun(seen, name)]
    held = to_let_go(seen, others)
    if not held:
        return None
    acts = tuple(Act("release_job", each.name, node) for each in held)
    return SwitchStep(SwitchStage.FINALIZING, acts, Verdict((jobs_return(held),)))


def jobs_return(held: Collection[RecurringWork]) -> Reason:
    """The wait for a look at jobs that were just let go."""
    names = enumerate_few(each.name for each in held)
    return waiting("recurring_jobs_return", f"Recurring jobs are resumed: {names}.", about=names)


def _hold(seen: Longhorn, wanted: WantedSwitch, found: SwitchStep) -> SwitchStep:
    """The step with the jobs of the node held off. Before an instance manager is replaced, none may run."""
    node = wanted.node
    # One upgrade of several nodes needs the jobs of all of them held off from its start.
    places = dict.fromkeys((node, *(one for act in found.acts for one in act.nodes)))
    known = dict.fromkeys(each for name in places for each in jobs_at(seen, name))
    jobs = [each for each in known if each.cron_job or each.running]
    early = found.stage in EARLY or any(each.kind in BEGINNINGS for each in found.acts)
    resumed = [each for each in jobs if each.carries_undo and not each.suspended]
    if early and resumed:
        return SwitchStep(SwitchStage.ERROR, (), Verdict(tuple(_resumed(each, node) for each in resumed)))
    loose = [each for each in jobs if each.cron_job and not each.suspended and each not in resumed]
    acts = tuple(Act("hold_job", each.name, node) for each in loose)
    if not early:
        return replace(found, acts=(*acts, *found.acts))
    if loose:
        said = (
            f"Recurring jobs are suspended while node {node} is changed: {enumerate_few(each.name for each in loose)}."
        )
        return SwitchStep(found.stage, acts, Verdict((waiting("recurring_jobs_wait", said, about=node),)))
    running = tuple(reason for each in jobs for reason in _running(seen, each, node))
    unquiet = [each.name for each in jobs if each.held and each.name not in wanted.quiet]
    if not running and unquiet and any(each.kind in NEED_QUIET for each in found.acts):
        return SwitchStep(found.stage, (), Verdict((_settles(unquiet),)))
    return SwitchStep(found.stage, (), Verdict(running)) if running else found


def _settles(names: Collection[str]) -> Reason:
    named = enumerate_few(names)
    said = f"Kubernetes may still start recurring jobs that were suspended less than {QUIET:g} s ago: {named}."
    return waiting(SETTLES, said, about=named)


def _running(seen: Longhorn, job: RecurringWork, node: str) -> Iterator[Reason]:
    for name in job.running:
        said = (
            f"Job {name} of recurring job {job.name} ({job.task}) works on volumes of node {node}, and has not ended."
        )
        remedy = f"Let it end, or stop it: kubectl delete job -n {seen.namespace} {name}."
        yield waiting("recurring_job_runs", said, remedy, about=name)


def _resumed(job: RecurringWork, node: str) -> Reason:
    return refused(
        "recurring_job_resumed",
        f"The run suspended CronJob {job.name} to change node {node}, and someone has resumed it since (spec.suspend).",
        f"It is left as it is. Find out who needs recurring job {job.name} now; once it may wait, run again.",
    )
