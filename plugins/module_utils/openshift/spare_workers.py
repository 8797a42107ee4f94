"""The states `expanded` and `reduced`, and their part of the plan: spare workers while an upgrade of OpenShift lasts.

Each worker MachineSet, which is that of a zone, gets a copy with one machine. Each look makes those that are missing,
so that the next run completes what a killed one has left half done. The label and the mark of a copy are its undo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ..common.errors import Conflict, Denied, Refusal
from ..common.task import Outcome, Task, passed_or_raise
from ..common.timestamps import timestamp_of, utc_now
from ..common.verdict import State, Verdict, combine, remark
from ..common.words import counted, enumerate_few
from ..draining.observe.kept_pods import kept_pods, pods_on
from ..kubernetes.answers import is_not_found
from ..kubernetes.client import KubernetesClient, connect
from ..run.lock.lock_watch import writer_of
from .act.changes import Acts
from .judge.spare_workers import (
    Wanted,
    copy_of,
    judge_gone,
    judge_there,
    judge_wanted,
    possible,
    spare_nodes,
    wanted_sets,
)
from .observe.kinds import SPARE
from .observe.look import Looking
from .observe.machine_state import Machines
from .observe.machines import look_at_machines
from .observe.state import OpenShift

BETWEEN_LOOKS = 10.0
"""Seconds between two looks: a machine takes minutes."""
STOP = "stop"
NOTHING = Machines((), ())


@dataclass(frozen=True)
class SparePlan:
    """The spare workers of a plan."""

    verdict: Verdict = field(default_factory=Verdict)
    coming: Mapping[str, int] = field(default_factory=dict)
    """By pool, the spare Kubernetes nodes that the run adds to those that are there."""
    there: int = 0
    """The spare Kubernetes nodes that are there."""
    adds: tuple[str, ...] = ()
    """The words for what is added, and removed at the end."""
    patterns: tuple[str, ...] = ()
    """The pools that consent covers."""

    @property
    def interruptions(self) -> int:
        """The most times that the machine config operator can take one before a Kubernetes node of a batch."""
        return self.there + sum(self.coming.values())


def planned(task: Task, seen: OpenShift, chain: Sequence[str]) -> SparePlan:
    """The spare workers that a run makes and removes. Once an upgrade to a version of the chain is under way it makes
    none."""
    left = [name for name, each in seen.nodes.items() if each.is_spare]
    said = f"Spare Kubernetes nodes are in no batch: {enumerate_few(left)}."
    notes = (remark("spare_workers_there", said, "The run removes them at its end."),) if left else ()
    if not task.params["extra_workers"]:
        return SparePlan(Verdict(notes), there=len(left))
    client, patterns = connect(task.params["kubernetes"]), tuple(task.params["extra_worker_pools"])
    found = task.ask(lambda: _found(client))
    if seen.version.commenced_of(chain):
        return SparePlan(Verdict(notes), {}, len(left), _words(len(found.ours)), patterns)
    wanted = wanted_sets(found, seen, patterns)
    # Without the rights nothing is known, and the preflight names them.
    judged = _judged(task, wanted, found) if found is not NOTHING else Verdict()
    fit = possible(wanted, found)
    there = {each.labels.get(SPARE) for each in seen.nodes.values()}
    coming = Counter(each.pool for each in fit if each.name not in there)
    return SparePlan(Verdict((*judged.reasons, *notes)), coming, len(left), _words(len(fit)), patterns)


def _words(count: int) -> tuple[str, ...]:
    return (counted(count, "spare MachineSet"),) if count else ()


def _judged(task: Task, wanted: Sequence[Wanted], found: Machines) -> Verdict:
    required = task.params["capacity_policy"] == STOP
    return judge_wanted(wanted, found, task.params["extra_worker_pools"], required=required)


def _found(client: KubernetesClient) -> Machines:
    """The MachineSets and machines; `NOTHING` for a user who has no right to see them, or where there are none."""
    try:
        return look_at_machines(client)
    except Denied:
        return NOTHING
    except Refusal as error:
        if not is_not_found(error):
            raise
        return NOTHING


def expand(task: Task, chain: Sequence[str]) -> Outcome:
    """Make the spare sets that are missing, and wait until each has a Kubernetes node that takes pods."""
    client, patterns = connect(task.params["kubernetes"]), task.params["extra_worker_pools"]
    looking, acts = Looking(client), Acts(task, client)

    def again() -> Verdict:
        seen = looking.look()
        if seen.version.commenced_of(chain):
            return Verdict()
        found = look_at_machines(client)
        wanted = wanted_sets(found, seen, patterns)
        judged = _judged(task, wanted, found)
        passed_or_raise(judged)
        fit = possible(wanted, found)
        for each in fit:
            there = found.named(each.name)
            if there is not None:
                acts.judge_maker(there)
            else:
                with suppress(Conflict):
                    acts.add(copy_of(each, writer_of(task)))
        missing = _in_time(task, judge_there(seen, fit, found), fit, found)
        return judged if task.check_mode else combine((judged, missing))

    _found, verdict = _slowly(task).wait(again, lambda judged: judged, stoppable=True)
    return Outcome(verdict, bool(task.journal.as_result()))


def _in_time(task: Task, verdict: Verdict, fit: Collection[Wanted], found: Machines) -> Verdict:
    """The verdict of a single pass, whose time began when the first set was made."""
    marks = [there.mark for each in fit if (there := found.named(each.name)) is not None and there.mark is not None]
    if task.params["wait"] or verdict.state is not State.WAITING or not marks:
        return verdict
    seconds = (utc_now() - min(timestamp_of(each.writer.at) for each in marks)).total_seconds()
    return verdict.without_waiting() if seconds > task.params["wait_timeout"] else verdict


def reduce(task: Task) -> Outcome:
    """Remove every spare set that runs have made, and wait until its machine and its Kubernetes node are gone.

    A user without the rights has made none: only a run that is to make some fails without them.
    """
    client = connect(task.params["kubernetes"])
    looking, acts = Looking(client), Acts(task, client)
    if not task.params["extra_workers"] and task.ask(lambda: _found(client)) is NOTHING:
        return Outcome(Verdict())

    def again() -> Verdict:
        found = look_at_machines(client)
        for each in found.ours:
            if not each.going:
                with suppress(Conflict):
                    acts.remove(each)
        nodes = looking.look().nodes
        there = spare_nodes(found, nodes)
        since = {name: nodes[name].closed_since for name in there}
        judged = judge_gone(found, nodes, kept_pods(client, pods_on(client, there), since))
        # Nothing is changed in check mode, so nothing would come of waiting.
        return Verdict() if task.check_mode else judged

    _judged, verdict = _slowly(task).wait(again, lambda judged: judged)
    return Outcome(verdict, bool(task.journal.as_result()))


def _slowly(task: Task) -> Task:
    """The same task with the time between two looks that fits machines."""
    return replace(task, params={**task.params, "wait_sleep": max(BETWEEN_LOOKS, float(task.params["wait_sleep"]))})
