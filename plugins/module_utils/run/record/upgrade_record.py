"""The work of the module `upgrade_record`: what was planned, and its progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from ...common.arguments import CONNECTIONS, RECORD, WAIT
from ...common.attempts import just_looked, until_unchanged
from ...common.errors import Denied, Refusal, Unreachable
from ...common.task import Contract, Outcome, Task
from ...common.timestamps import now_seconds, now_text, timestamp_of, utc_now
from ...common.verdict import Verdict, combine, remark
from ...common.voice import Lines
from ...common.waiting import Patience, wait_for
from ...kubernetes.client import connect
from ...kubernetes.rights import judge_namespace
from ..lock.lease import list_locks
from ..lock.lock import Lock
from ..start.request import REQUEST_KUBERNETES, REQUESTED, requested_in
from ..start.say import STATES, may_begin, say
from ..start.schedule import closed
from ..start.upgrade_request import unchanged
from .answers import read_by_system, reporting
from .batches import BATCH_STATES
from .conditions import FailureClass, StepState
from .kept_in import store_of
from .phases import ENDINGS, Phase
from .record import Record
from .record_keeping import ATTEMPTS, Kept, Nowhere, RecordStore, begins_after, note, readable, show_records, unwritten
from .remarks import judge_not_noted
from .trying import LONGEST, TRIED, Next, Try, class_of

OVER = (Phase.COMPLETED, Phase.FAILED, Phase.ABORTED)
"""Phases in which no run works on an upgrade."""
OWN = ("read", "begun", "step", "batch", "ended", "settled", "absent")
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **RECORD,
        **WAIT,
        **REQUEST_KUBERNETES,
        "namespace": {"type": "str"},
        "wait_timeout": {"type": "int", "default": 300},
        "state": {"type": "str", "default": "read", "choices": [*OWN, *STATES]},
        "plan": {"type": "dict"},
        "batch": {"type": "str"},
        "batch_state": {"type": "str", "choices": [each for each in BATCH_STATES if each != "pending"]},
        "step": {"type": "str"},
        "step_state": {"type": "str", "choices": [each.value for each in StepState]},
        "step_failure": {"type": "str", "choices": [each.value for each in FailureClass]},
        "tried": TRIED,
        "results": {"type": "list", "elements": "dict", "default": []},
        "waited": {"type": "list", "elements": "dict", "default": []},
        "event": {"type": "str", "choices": [each.value for each in ENDINGS]},
        "summary": {"type": "str", "default": ""},
        "codes": {"type": "list", "elements": "str", "default": []},
        "health": {"type": "str", "default": ""},
        "health_away": {"type": "str", "default": ""},
        "green_seconds": {"type": "int"},
        "counted": {"type": "dict", "default": {}},
        "acts": {"type": "list", "elements": "dict", "default": []},
        "deadline": {"type": "int", "default": 0},
        "pause_at": {"type": "int", "default": 0},
        "approvals": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {"name": {"type": "str", "required": True}, "after": {"type": "int", "required": True}},
        },
        "requested": REQUESTED,
        "approval": {"type": "str"},
        "record": {"type": "str"},
        "request": {"type": "str"},
        "retention": {"type": "int", "default": 0},
        "locks": {"type": "bool", "default": True},
    },
    required_if=[
        ("record_kept_in", "kubernetes", ("namespace",)),
        ("state", "begun", ("plan",)),
        ("state", "step", ("step",)),
        ("state", "step", ("step_state", "tried"), True),
        ("state", "batch", ("batch", "batch_state")),
        ("state", "ended", ("event",)),
        ("state", "approved", ("approval",)),
        ("state", "absent", ("request",)),
    ],
)


def run(task: Task) -> Outcome:
    """Read all records of the place, or write a transition into that of the run."""
    store, reads, at = reporting(task, store_of(task.params)), task.params["state"] == "read", now_seconds()
    if begins_after(task.params, "pause_at", at):
        end = datetime.fromtimestamp(task.params["pause_at"], timezone.utc)
        return Outcome(Verdict((closed(end),)), more={"record": {}, "at": at})

    requested = requested_in(task.params.get("requested") or {}) if _begins(task.params) else None
    if requested is not None and not (standing := unchanged(task, requested)).passed:
        return Outcome(standing, more={"record": {}, "at": at})
    others: dict[str, Callable[[Task, RecordStore], Outcome]] = {**dict.fromkeys(STATES, say), "absent": remove_records}
    if other := others.get(task.params["state"]) or (_note_try if task.params.get("tried") else None):
        return other(task, store)

    read: Callable[[], Kept | None] = just_looked(None, lambda: None)

    def step() -> Outcome:
        return _read(task, store) if reads else note(task, store, read())

    # A step that waits has nothing half done, so a run that is asked to stop ends here.
    stoppable = task.params["state"] == "step" and task.params["step_state"] == StepState.IN_PROGRESS.value
    try:
        if _begins(task.params) and not isinstance(store, Nowhere):
            held, kept = may_begin(task, store)
            if not held.passed:
                return Outcome(held, more={"record": {}, "at": at})
            read = just_looked(kept, lambda: None)
        return task.settled(step, stoppable)
    except Refusal as error:
        if reads or task.params["approvals"] or (isinstance(error, Unreachable) and not task.params["wait"]):
            raise
        verdict = combine((unwritten(error), judge_not_noted(task.params)))
        return Outcome(verdict, bool(task.journal.as_result()), more={"record": {}, "at": now_seconds()})


def _read(task: Task, store: RecordStore) -> Outcome:
    """All records of the place. Without any, the name of its namespace may be wrong, which is no empty answer."""
    found = show_records(store, _locks(task.params), partial(read_by_system, task))
    namespace, elsewhere = task.params["namespace"], task.params["record_kept_in"] not in (None, "kubernetes")
    if found.more["records"] or not namespace or elsewhere:
        return found
    there = judge_namespace(connect(task.params["kubernetes"]), namespace)
    return replace(found, verdict=combine((there, found.verdict)))


def _note_try(task: Task, store: RecordStore) -> Outcome:
    """Note the progress of a step whose tasks have run, and pause before it is tried again.

    Raises:
        Refusal: the run is asked to stop, or has lost its lock.
    """
    params, tried = task.params, task.params["tried"]
    failure, before = class_of(tried), tried["before"].get("counted") or {}
    seconds = now_seconds() - tried["since"]
    counted = {each.value: before.get(each.value, 0) + (each is failure) for each in FailureClass}
    known: Mapping[str, Any] = {"unfinished_seconds": seconds, **counted}
    this = Try(params["step"], tried, seconds, seconds, counted[failure.value] if failure else 0, params["wait"])
    remarks = Verdict()
    if failure or this.said:
        written, remarks = _written(task, store, StepState.IN_PROGRESS, this.said, failure)
        known = {**known, **written}
        times = known[failure.value] if failure else 0
        this = replace(this, unfinished=known["unfinished_seconds"], times=times)
    following, noticed = this.next(), bool(tried["before"].get("noticed"))
    notice, failed = this.notice(noticed), this.failed() if following is Next.FAILED else {}
    if failure or not this.said or failed:
        sentences = {Next.SKIPPED: this.said, Next.DONE: " ".join(this.remarks())}
        summary = failed.get("message") or sentences.get(following, this.waits)
        _known, remarks = _written(task, store, this.state(), summary, ends=bool(failed))
    if following is Next.AGAIN:
        task.voice.show(f"The step {params['step']} waits: {this.waits}")
        _pause(task, this)
    step = {
        **known,
        "name": params["step"],
        "next": following.value,
        "reason": this.reason().as_result() if this.waits else {},
        "failure": failed,
        "takes_back": following in (Next.FAILED, Next.SKIPPED) and not this.ending,
        "remarks": this.remarks(),
        "notice": notice,
        "noticed": noticed or bool(notice),
        "counted": {each.value: known[each.value] for each in FailureClass},
    }
    return Outcome(remarks, more={"record": {}, "at": now_seconds(), "step": step})


def _written(
    task: Task,
    store: RecordStore,
    state: StepState,
    summary: str,
    failure: FailureClass | None = None,
    ends: bool = False,
) -> tuple[Mapping[str, Any], Verdict]:
    """The condition of the step in the record; empty with a remark if it could not be written.

    Neither a failure to write it nor a request to abort ever hides the failure of the step itself.
    """
    # If its answer is lost, the same note is written again.
    own = {"wait": True, "step_state": state.value, "summary": summary, "noted_at": now_text()}
    given = replace(task, params={**task.params, **own, "step_failure": failure.value if failure else None})
    failing = ends or failure is not None
    try:
        # A step that waits has nothing half done, so a run that is asked to stop ends here.
        stoppable = state is StepState.IN_PROGRESS and not failing
        noted = given.settled(lambda: note(given, store), stoppable)
    except Refusal as error:
        return {}, Verdict() if failing else unwritten(error)
    return noted.more.get("step") or {}, noted.verdict


def _pause(task: Task, this: Try) -> None:
    """Let the time pass until the next try. During that time the lock is renewed, and the run may be asked to stop.

    An API that does not answer does not end the step: the next task waits for it, and judges the lock.
    """
    over = task.clock.now() + this.pause()

    def look() -> float:
        with suppress(Unreachable, Denied):
            task.may_look(stoppable=True)
        return task.clock.now()

    def judge(now: float) -> Verdict:
        return Verdict() if now >= over else Verdict((this.reason(),))

    wait_for(look, judge, Patience(this.pause() + LONGEST, 1.0), task.clock, Lines())


def _begins(params: Mapping[str, Any]) -> bool:
    return bool(params["state"] == "batch" and params["batch_state"] == "upgrading")


def _locks(params: Mapping[str, Any]) -> tuple[dict[str, Lock], Verdict]:
    """The locks of the namespace, if there is one; runs that keep theirs elsewhere need no right to read them."""
    if not params["namespace"] or not params["locks"]:
        return {}, Verdict()
    try:
        return list_locks(connect(params["kubernetes"]), params["namespace"]), Verdict()
    except Denied as error:
        said = "It is not known whether a run is active: the lock in the namespace cannot be read."
        remedies = " ".join(reason.remedy for reason in error.verdict.reasons)
        return {}, Verdict(
            (remark("lock_not_seen", said, f"{remedies} A lock kept in the cluster itself needs no such right."),)
        )


def is_kept_no_longer(record: Record, source: str, days: int, now: datetime) -> bool:
    """Whether a record of the request of this source may be removed: not under way, and unchanged for so many days."""
    over = record.phase in OVER or (record.phase is Phase.PENDING and not record.run)
    of_it = record.request is not None and record.request.source == source
    return of_it and over and (now - timestamp_of(record.updated)) / timedelta(days=1) >= days


def remove_records(task: Task, store: RecordStore) -> Outcome:
    """Remove the records of a withdrawn request that are old enough. Records that cannot be read are left alone.

    Raises:
        Refusal: a record cannot be removed.
    """
    source, days = task.params["request"], task.params["retention"]

    def attempt() -> list[str]:
        found = store.find()
        records, _remarks = readable(found)
        going = [name for name, one in records.items() if is_kept_no_longer(one, source, days, utc_now())]
        for name in going:
            with task.journal.doing(("removed_record", name, {"request": source})):
                if not task.check_mode:
                    task.still_wanted()
                    store.remove(name, found.kept[name])
        return sorted(going)

    removed = task.ask(lambda: until_unchanged(attempt, ATTEMPTS))
    return Outcome(Verdict(), bool(removed), before={"records": removed}, after={"records": []})
