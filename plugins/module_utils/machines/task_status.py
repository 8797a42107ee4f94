"""The status of an UpgradeTask, object or document, from the record of the upgrade that it has requested. Pure.

Its conditions are `Accepted` and, for each machine and for all of them together, `MachineUpToDate`. A task that was
aborted no longer has the latter: nothing works on its machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..common.reading import Json, listed, text
from ..common.timestamps import in_seconds
from ..common.words import shortened
from ..run.record.batches import PENDING, BatchRecord
from ..run.record.events import EventKind, of_kind, one_sentence
from ..run.record.phases import Phase, UpgradeEvent
from ..run.record.record import Record
from .judge.up_to_date import LONGEST, UP_TO_DATE, MachineProgress, UpToDate, all_moved, condition_in, whole_progress
from .observe.upgrade_tasks import TaskPhase

ACCEPTED = "Accepted"
DECLINED = ("invalid", "refused")
"""The states of a request that is declined."""
PHASES = {Phase.COMPLETED: TaskPhase.COMPLETE, Phase.ABORTED: TaskPhase.ABORT}
"""The phases of a task by that of its record; every other is Ongoing."""
_IN_PROGRESS = ("upgrading", "waiting")
_ENDS = (UpgradeEvent.PAUSED, UpgradeEvent.STOPPED, UpgradeEvent.ABORTED)


def status_of(record: Record, nodes: Sequence[str], kept: Json) -> dict[str, Any]:
    """The whole status; `nodes` are the Kubernetes nodes of the task, and `kept` is the status that it has.

    Raises:
        Unreadable: the status that it has cannot be read.
    """
    phase = PHASES.get(record.phase, TaskPhase.ONGOING)
    if phase is TaskPhase.ABORT:
        return ended_status(kept)
    machines = all_moved(_before(kept), list(_machines(record, nodes)))
    progress, message = whole_progress(machines)
    since = max((each.since for each in machines if each.progress is progress), default=record.updated)
    undrained = all(each.undrained for each in machines if each.progress is progress)
    whole = UpToDate("", progress, shortened(message, LONGEST), since, undrained).as_condition()
    return {
        "phase": phase.value,
        **({"run": record.run} if record.run else {}),
        "conditions": [*_others(kept, UP_TO_DATE), whole],
        "machines": [{"nodeName": each.machine, "conditions": [each.as_condition()]} for each in machines],
    }


def requested_status(record: Record) -> dict[str, Any] | None:
    """The status of the task that has requested the upgrade; None if its request names no machines.

    A document has no status of its own that is read again. All of this is in the record.
    """
    if record.request is None or not record.request.members:
        return None
    return status_of(record, record.request.members, {})


def ended_status(kept: Json) -> dict[str, Any]:
    """The status of a task that was aborted. Nothing works on its machines any more."""
    run = {"run": kept["run"]} if kept.get("run") else {}
    return {"phase": TaskPhase.ABORT.value, **run, "conditions": _others(kept, UP_TO_DATE), "machines": []}


def with_decision(kept: Json, state: str, message: str, at: str) -> dict[str, Any]:
    """The status once a request was accepted or declined, with all reasons; unchanged if that is known."""
    declined = state in DECLINED
    condition = {
        "type": ACCEPTED,
        "status": "False" if declined else "True",
        "reason": "Declined" if declined else ACCEPTED,
        "message": shortened(message, LONGEST) if declined else "",
    }
    before: Json = next((each for each in kept.get("conditions", ()) if each.get("type") == ACCEPTED), {})
    same = {name: before.get(name, "") for name in condition} == condition
    times = {"lastTransitionTime": before.get("lastTransitionTime", at) if same else at}
    return {**kept, "conditions": [{**condition, **times}, *_others(kept, ACCEPTED)]}


def _others(kept: Json, without: str) -> list[Json]:
    return [each for each in kept.get("conditions", ()) if each.get("type") != without]


def _before(kept: Json) -> dict[str, UpToDate]:
    found = (each for one in listed(kept, "machines", _of_machine, ()) for each in one)
    return {each.machine: each for each in found}


def _of_machine(item: Json) -> tuple[UpToDate, ...]:
    name = text(item, "nodeName")
    found = (condition_in(name, each) for each in listed(item, "conditions", dict, ()))
    return tuple(each for each in found if each is not None)


def _machines(record: Record, nodes: Sequence[str]) -> Iterator[UpToDate]:
    """Each machine as its last batch has left it, or the first that is not done: in a chain it is in several. One in no
    batch of a plan was on the target before."""
    batches: dict[str, BatchRecord] = {}
    for each in record.batches:
        batches |= {name: each for name in each.members if name not in batches or batches[name].state == "done"}
    for name in nodes:
        batch = batches.get(name)
        if batch is None:
            found = (MachineProgress.DONE, "It was on the target already.") if record.run else _WAITS
            yield UpToDate(name, *found, in_seconds(record.started))
        else:
            yield _of_batch(record, batch, name)


_WAITS = (MachineProgress.WAITING, "")


def _of_batch(record: Record, planned: BatchRecord, name: str) -> UpToDate:
    """The progress of a machine in its batch. One that is planned anew is as its last try has left it."""
    batch = planned.tries[-1] if planned.state == PENDING and planned.tries else planned
    at = in_seconds(batch.ended or batch.started or record.started)
    paused, reason = _end_of(record, batch.run)
    if batch.state == "done":
        return UpToDate(name, MachineProgress.DONE, "", at)
    if batch.state == "failed":
        changed = of_kind(record.events, EventKind.CHANGED)
        drained = any(each.about == f"Node {name}" and (each.last or each.at) >= planned.begun for each in changed)
        said = (reason if drained else f"Stopped before its drain. {reason}").rstrip()
        if paused and not drained:
            return UpToDate(name, MachineProgress.IN_PROGRESS, said, at)
        return UpToDate(name, MachineProgress.FAILED, said, at, undrained=not drained)
    if batch.state in _IN_PROGRESS:
        return UpToDate(name, MachineProgress.IN_PROGRESS, reason, at)
    return UpToDate(name, *_WAITS, in_seconds(record.started))


def _end_of(record: Record, run: str) -> tuple[bool, str]:
    """Whether a run has paused the upgrade, and the reason with which it ended; none while it is at work."""
    if run in ("", record.run):
        return record.phase is Phase.PAUSED, record.reason
    for last in [each for each in record.history if each.run == run and each.kind in _ENDS][-1:]:
        return last.kind == UpgradeEvent.PAUSED, one_sentence(last.message)
    return False, ""
