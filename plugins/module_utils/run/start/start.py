"""The start of a run that has a schedule: it is judged, waited for, and noted in the record beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...common.errors import refusal
from ...common.task import Task
from ...common.timestamps import now_text, utc_now
from ...common.verdict import State, Verdict, combine
from ...common.waiting import Patience
from ..lock.held_lock import who
from ..lock.lock import name_for
from ..pace import has_commenced
from ..record import kept_in
from ..record.answers import reporting
from ..record.batches import deed_of
from ..record.phases import Deed, Phase
from ..record.record import Record, going_on, leads_there
from ..record.record_keeping import Nowhere, change_record
from .request import judge_due, requested_in
from .schedule import LONGEST_WAIT, Schedule, is_late, judge_patience, judge_start, schedule_in, to_end
from .scheduling import StartFindings, before_start, judge_delay, reported_late
from .upgrade_request import note_state

PAUSE = 5.0
"""Seconds between two looks at the clock while the start is waited for."""


def start_under_lock(task: Task, more: Mapping[str, Any], records: Sequence[Record], deed: Deed) -> Verdict:
    """Whether the run may still start now: the window may have ended while a person took long to agree, or the rest of
    it may be too short by now.

    Raises:
        Refusal: the schedule cannot be read.
    """
    schedule = schedule_in(task.params)
    # An upgrade that is done needs no window.
    if schedule is None or not more["batches"]:
        return Verdict()
    target = task.params["target_version"] or more["target_version"]
    commenced = has_commenced(records, target, more["cluster_uuid"], deed)
    predicted = (task.params.get("shown") or {}).get("predicted_seconds")
    start = judge_start(schedule, utc_now(), commenced=commenced, predicted=predicted, deed=deed)
    return to_end(start) if _is_prepared(more, records) else start


def start_of(task: Task, plan: Mapping[str, Any], records: Sequence[Record], found: Verdict) -> Verdict:
    """Whether the run of this plan may start now. A task that waits also waits for its start, up to a limit.

    The record notes a start that is to come, that is late, or that was missed. `plan` is the plan as the record takes
    it, with what earlier records say about it, and `found` the verdict on everything else.

    Raises:
        Refusal: the schedule cannot be read, or no record is kept.
    """
    schedule = schedule_in(task.params)
    if schedule is None:
        return Verdict()
    now, commenced, deed = utc_now(), bool(plan["commenced"]), deed_of(plan)
    if _is_over(task, plan, records) or (now >= schedule.at and not plan["batches"]):
        return Verdict()
    judged = partial(judge_start, schedule, commenced=commenced, predicted=plan["predicted_seconds"], deed=deed)
    verdict = judged(now)
    if task.params["announce"] and not commenced:
        late = is_late(schedule, now) and not reported_late(records, schedule)
        blockers = tuple(each.message for each in found.reasons if each.state is not State.PASSED)
        seen = StartFindings(verdict, blockers, late, schedule.has_early_look(now))
        verdict = combine((verdict, _noted(task, plan, schedule, seen)))
    if _is_prepared(plan, records):
        return to_end(verdict)
    # It waits only for the start time itself, and only if there is no other problem.
    if verdict.state is not State.WAITING or now >= schedule.at or not (found.passed and task.params["wait"]):
        return verdict
    patient = judge_patience(schedule, now, deed)
    if not patient.passed:
        return patient
    if requested := requested_in(task.params["request"] or {}):
        said = f"The {deed.value} starts at {task.params['at']} or later."
        note_state(task, requested, "waiting", said, plan["target_version"])
    looks = Patience(LONGEST_WAIT + PAUSE, PAUSE)
    return task.wait_apart(utc_now, judged, looks, stoppable=True)[1]


def _is_over(task: Task, plan: Mapping[str, Any], records: Sequence[Record]) -> bool:
    """Whether it does not start at all, so its window does not matter: aborted, or its request was carried out."""
    request, supersedes = requested_in(task.params["request"] or {}), bool(task.params["supersede"])

    def over(record: Record) -> bool:
        if record.phase is Phase.COMPLETED:
            return not judge_due(request, record.request, record.updated).passed
        return record.phase is Phase.ABORTED and leads_there(record, plan) and not supersedes

    return any(map(over, records))


def _is_prepared(plan: Mapping[str, Any], records: Sequence[Record]) -> bool:
    """Whether a run of this upgrade has started, and none has ended it since."""
    ended = (Phase.FAILED, Phase.ABORTED)
    return any(one.run and one.phase not in ended and going_on(one, plan) is not None for one in records)


def _noted(task: Task, plan: Mapping[str, Any], schedule: Schedule, seen: StartFindings) -> Verdict:
    """Note in the record what becomes of the start. The record is needed here, so a failed write is refused.

    The verdict waits if this single pass reports a delay.
    """
    store = reporting(task, kept_in.store_of(task.params))
    if isinstance(store, Nowhere):
        raise refusal(
            "schedule_without_record",
            "A start at a given time needs a record, and none is kept (upgrade_record_kept_in).",
            "Keep it in Kubernetes or in a file, or give no upgrade_at.",
        )

    def change(before: Record | None) -> Record | None:
        return before_start(before, plan, schedule, seen, who(), now_text())

    if not task.check_mode:
        change_record(task, store, name_for(plan["cluster_uuid"]), change)
    return judge_delay(schedule, seen, deed_of(plan)) if not task.params["wait"] else Verdict()
