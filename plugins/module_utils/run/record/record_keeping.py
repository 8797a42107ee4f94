"""Reading and changing a record in any store. It is written only if it is still the version that was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from ...common.attempts import just_looked, until_unchanged
from ...common.errors import Refusal, refusal
from ...common.task import Outcome, Task
from ...common.timestamps import now_seconds, now_text, utc_now
from ...common.verdict import Reason, Verdict, combine, remark
from ..counts import Counts, counted_after, counted_before
from ..lock.held_lock import who
from ..lock.lock import Lock
from ..lock.lock_watch import holder_of
from ..pace import done_text, usual_absence, with_last
from ..start.approvals import PAUSED
from .batches import deed_of
from .conditions import FailureClass, StepState, after_step, step_progress
from .events import COUNTED, MOVES, EventKind, changes, happened, moves
from .milestones import conditions_of, dated
from .phases import UpgradeEvent
from .record import Record, batch_changed, begun, ended, going_on, started_again
from .record_reading import parse_record
from .remarks import judge_aborted, judge_kept_nowhere, judge_not_noted, judge_there
from .requests import replaced_by
from .settling import settled
from .size import record_text
from .waits import green_after, waited_for

ATTEMPTS = 10
"""Conflicts in a row before a change is given up. Others rarely write the record, so this is no coincidence."""

Change = Callable[["Record | None"], "Record | None"]

MOST = 900_000
"""The most bytes of a record: an API server takes 1 MiB in a ConfigMap (server source, ValidateConfigMap). The same
limit holds for files, so that a record can be moved into a ConfigMap."""

OF_THE_RECORD = ("kubernetes_", "phase_", "record_")
"""How the codes of causes start that keep a record from being written, but do not stop an upgrade."""


@dataclass(frozen=True)
class Kept:
    """A record as it was found."""

    text: str
    where: str
    """The place, for people, such as the name of a ConfigMap."""
    version: str = ""
    """The version that guards a write: only this one is replaced."""
    every: str = "it"
    """What is deleted with the record, in words for people."""
    uid: str = ""
    """The UID of the object that holds it, if the place has UIDs."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The annotations that people have made on the record, if the place has them."""

    def record(self) -> Record:
        """The record itself.

        Raises:
            Refusal: it cannot be read.
        """
        return parse_record(self.text, self.where, self.every)


@dataclass(frozen=True)
class News:
    """The new phase of an upgrade, and the message about it."""

    phase: str
    message: str
    another: bool = False
    """Whether the record is now that of another upgrade, for which no annotation of before approves anything."""


@dataclass(frozen=True)
class FoundRecords:
    """The records of a place by their names, and a remark for each that cannot be opened."""

    kept: Mapping[str, Kept] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=Verdict)


class RecordStore(Protocol):
    """The store of records."""

    def read(self, name: str) -> Kept | None:
        """The record of this name now, or None if there is none."""

    def write(self, name: str, text: str, summary: str, over: Kept | None, news: News | None = None) -> None:
        """Keep the text in place of the record that was read; `summary` is for people who look at the place.

        A place that can do so publishes `news`, which is given if the upgrade changes its phase.

        Raises:
            Conflict: the record is no longer the one that was read.
        """

    def find(self) -> FoundRecords:
        """All records of the place."""

    def remove(self, name: str, kept: Kept) -> None:
        """Remove the record that was read.

        Raises:
            Conflict: it is no longer the one that was read.
        """


class Nowhere:
    """No record is kept."""

    def read(self, name: str) -> Kept | None:
        """Always none."""

    def write(self, name: str, text: str, summary: str, over: Kept | None, news: News | None = None) -> None:
        """Nothing is kept."""

    def find(self) -> FoundRecords:
        """Always none."""
        return FoundRecords()

    def remove(self, name: str, kept: Kept) -> None:
        """Nothing is there."""


def read_records(store: RecordStore) -> tuple[dict[str, Record], Verdict]:
    """All records of a place by their names, and a remark for each that cannot be read: it holds only history."""
    return readable(store.find())


def readable(found: FoundRecords) -> tuple[dict[str, Record], Verdict]:
    """The records that were found by their names, and a remark for each that cannot be read."""
    records = dict[str, Record]()
    remarks = list(found.verdict.reasons)
    for name, kept in found.kept.items():
        try:
            records[name] = kept.record()
        except Refusal as error:
            remarks += unreadable(error)
    return records, Verdict(tuple(remarks))


def unreadable(error: Refusal) -> tuple[Reason, ...]:
    """The remarks about a record that cannot be read.

    Raises:
        Refusal: something else failed.
    """
    if any(reason.code != "record_not_readable" for reason in error.verdict.reasons):
        raise error
    return tuple(remark("record_not_readable", each.message, each.remedy) for each in error.verdict.reasons)


def change_record(
    task: Task, store: RecordStore, name: str, change: Change, read: Kept | None = None
) -> tuple[Record | None, Record | None]:
    """The record before and after a pure change; if the change gives None, nothing is written.

    `read` is the record if it was just read. If another has written it since, it is read and changed again. In check
    mode nothing is written.

    Raises:
        Refusal: the record cannot be read or written.
    """

    look = just_looked(read, lambda: store.read(name))

    def attempt() -> tuple[Record | None, Record | None]:
        kept = look()
        before = kept.record() if kept is not None else None
        after = change(before)
        if after is None or after == before:
            return before, before
        after = dated(after)
        if not task.check_mode:
            task.still_wanted()
        summary = f"{after.phase.value}: {after.aim}, updated {after.updated}"
        with task.journal.doing(("write_record", name, {"phase": after.phase.value})):
            if not task.check_mode:
                store.write(name, record_text(after, MOST), summary, kept, _news(before, after))
        return before, after

    return until_unchanged(attempt, ATTEMPTS)


def _news(before: Record | None, after: Record) -> News | None:
    if before is not None and (before.phase, before.run) == (after.phase, after.run):
        return None
    said = f"The {after.title} is {after.phase.value}."
    return News(after.phase.value, f"{said} {after.reason}".strip(), before is not None and _is_another(before, after))


def _is_another(before: Record, after: Record) -> bool:
    """Whether these are the records of two upgrades. The start of one that is scheduled changes until it begins."""
    same_aim = (before.cluster, before.target_version, before.deed) == (after.cluster, after.target_version, after.deed)
    wanted = {"cluster_uuid": after.cluster, "target_version": after.target_version, "deed": after.deed}
    return not same_aim or (before.started != after.started and going_on(before, wanted) is None)


def unwritten(error: Refusal) -> Verdict:
    """The remark that a record was not written. No upgrade needs its record.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    cause = error.verdict.reasons[0]
    if not cause.code.startswith(OF_THE_RECORD):
        raise error
    return Verdict((remark("record_not_written", f"The record was not written. {cause.message}", cause.remedy),))


def show_records(
    store: RecordStore,
    seen: tuple[Mapping[str, Lock], Verdict],
    of_system: Callable[[Record], Mapping[str, Any]],
) -> Outcome:
    """All records of the place, and the locks that were seen there, with the verdict on reading the locks.

    `of_system` gives what the system of a record reads from it.
    """
    records, broken = read_records(store)
    locks, denied = seen
    shown = [
        {
            "name": name,
            **_whole(records[name]),
            "deployed": records[name].deployed,
            "aim": records[name].aim,
            **of_system(records[name]),
            **_replaced(records[name]),
            "lock": holder_of(locks.get(name)),
        }
        for name in sorted(records, key=lambda name: records[name].updated)
    ]
    unrecorded = [
        {"name": name, "lock": holder_of(lock)} for name, lock in sorted(locks.items()) if name not in records
    ]
    return Outcome(combine((denied, broken)), more={"records": shown + unrecorded})


def _replaced(record: Record) -> dict[str, Any]:
    other = replaced_by(record.events, record.request)
    return {"replaced_by": other.source} if other is not None else {}


def _whole(record: Record) -> dict[str, Any]:
    return {**record.as_result(), "conditions": [asdict(each) for each in conditions_of(record)]}


def begins_after(params: Mapping[str, Any], limit: str, at: int) -> bool:
    """Whether a batch is to start `at` or after the time in the option `limit`; 0 means no limit."""
    begins = params["state"] == "batch" and params["batch_state"] == "upgrading"
    return begins and bool(0 < params[limit] <= at)


def note(task: Task, store: RecordStore, read: Kept | None = None) -> Outcome:
    """Write a transition into the record of the run. `read` is the record if it was just read.

    Raises:
        Refusal: the record cannot be written, or the time of the run is over.
    """
    params, at = task.params, now_seconds()
    if begins_after(params, "deadline", at):
        raise refusal(
            "run_time_over",
            f"The time of the run is over, so batch {params['batch']} is not begun.",
            "Run again to continue: finished members are left alone. The limit is upgrade_run_timeout.",
        )
    if isinstance(store, Nowhere):
        _report_done(task, None)
        return Outcome(judge_kept_nowhere(params), more={"record": {}, "at": at})
    if not params["lock"]:
        raise refusal(
            "lock_missing",
            "A record is written by a run, and this task has no lock of one.",
            "Give the option lock, or keep no record (record_kept_in=none).",
        )
    try:
        before, after = change_record(task, store, params["lock"]["name"], _change(task), read)
    except Refusal as error:
        # The record is never needed, and one that cannot be read is not overwritten: a person may want to see it.
        verdict = combine((Verdict(unreadable(error)), judge_not_noted(params)))
        return Outcome(verdict, more={"record": {}, "at": at})
    _report_done(task, after)
    shown = [_shown(task, each) for each in (before, after)]
    more = {"record": shown[1], "at": at, "usual_seconds": usual_absence(after) if after is not None else None}
    if after is not None and params["state"] == "step":
        more["step"] = step_progress(after.conditions, params["step"], utc_now())
    missing = judge_there(params, task.run, before, after)
    for reason in missing.reasons:
        # The result of this task is not shown while the run continues.
        task.progress(f"{reason.message} {reason.remedy}")
    verdict = combine((missing, judge_aborted(params, after)))
    return Outcome(verdict, before != after, shown[0], shown[1], more=more)


def _shown(task: Task, record: Record | None) -> dict[str, Any]:
    """The record for the result. Every batch has one, so whole records would fill the controller's memory."""
    if record is None:
        return {}
    if task.params["state"] in ("batch", "step"):
        batches = tuple(each for each in record.batches if each.name == task.params["batch"])
        said = (each for each in record.events if not each.phase and each.kind not in (*COUNTED, *MOVES))
        less = replace(
            record, batches=batches, events=(*said, *record.history[-1:]), waited=(), counts=None, figures=None
        )
        return less.as_result()
    return _whole(record)


def _report_done(task: Task, record: Record | None) -> None:
    if task.params["state"] == "batch" and task.params["batch_state"] == "done":
        task.voice.done(done_text(task.params["results"], record))


def _change(task: Task) -> Change:
    params, at = task.params, now_text()
    if params["plan"] and params["state"] != "begun":
        # The run has written it before, so someone has removed it since.
        paused = params["summary"] if PAUSED in params["codes"] else ""
        return lambda record: _next(task)(record or started_again(params["plan"], task.run, who(), at, paused))
    return _next(task)


def _next(task: Task) -> Change:
    params, at = task.params, now_text()
    if params["state"] == "begun":
        return lambda previous: _outside_batches(
            with_last(begun(previous, params["plan"], task.run, who(), at), previous), task, "the start", counted_before
        )
    if params["state"] == "settled":
        return lambda record: record and settled(record, params["acts"], task.run, at, left=params["summary"])
    if params["state"] == "step":
        at = params.get("noted_at") or at
        how_far = StepState(params["step_state"])
        failure = FailureClass(params["step_failure"]) if params["step_failure"] else None
        return lambda record: (
            record
            and replace(
                record,
                conditions=after_step(record.conditions, params["step"], how_far, params["summary"], at, failure),
                updated=at,
            )
        )
    if params["state"] == "batch":
        how = (params["batch_state"], at, params["results"], params["waited"], params["summary"])
        return lambda record: _seen(batch_changed(record, params["batch"], *how), params)
    return lambda record: _outside_batches(
        _seen(ended(_of_deed(record, params["plan"]), UpgradeEvent(params["event"]), params["summary"], at), params),
        task,
        "the end",
        counted_after,
    )


def _of_deed(record: Record | None, plan: Mapping[str, Any] | None) -> Record | None:
    """The record, unless the run has left it alone at its start: one of an upgrade, while it had nothing to restart."""
    return record if record is None or not plan or record.deed is deed_of(plan) else None


def _outside_batches(
    record: Record | None,
    task: Task,
    during: str,
    counted_at: Callable[[Counts | None, Mapping[str, Any], str], Counts | None],
) -> Record | None:
    """The record with what this task, and the tasks that it reports, counted and waited for outside the batches."""
    if record is None:
        return None
    counts = counted_at(record.counts, task.params["counted"], record.updated)
    waited = [*task.params["waited"], *task.waited.as_result()]
    return waited_for(replace(record, counts=counts), during, waited)


def _seen(record: Record | None, params: Mapping[str, Any]) -> Record | None:
    """The record with the acts of the tasks so far, the health that they have found, and the codes of their reasons."""
    if record is None:
        return None
    members = {name for each in record.batches if each.name == params["batch"] for name in each.members}
    moved = [*moves(params["acts"], params["results"], members, record.run, record.updated)]
    went = min((each.at for each in moved if each.kind == EventKind.WENT), default="")
    noted = {"health": params["health"], "health_away": params["health_away"], "went": went}
    found = {name: value for name, value in noted.items() if value}
    batches = tuple(replace(each, **found) if each.name == params["batch"] else each for each in record.batches)
    seen = replace(record, batches=batches, codes=tuple(params["codes"])).with_events(
        *changes(params["acts"], record.run, record.person), *moved
    )
    if params["health"] and not params["batch"]:
        seen = seen.with_events(happened(EventKind.HEALTH, record.updated, record.run, message=params["health"]))
    return green_after(seen, params["green_seconds"], params["batch"] or "")
