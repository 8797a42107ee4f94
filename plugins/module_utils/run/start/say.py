"""What people decide in an upgrade: pausing, resuming and approving are in its record, whatever run works on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...common.errors import Refusal, refusal
from ...common.task import Outcome, Task
from ...common.timestamps import now_text
from ...common.verdict import Verdict, combine
from ..lock.held_lock import who
from ..record.events import EventKind, happened
from ..record.phases import Phase, UpgradeEvent
from ..record.record import Record, noted
from ..record.record_keeping import Change, Kept, RecordStore, change_record, readable, unreadable
from ..record.requests import judge_still_standing
from .approvals import (
    MISSING,
    PAUSE,
    PAUSED,
    Approval,
    annotated,
    judge_approval,
    judge_hold,
    judge_points,
    points_in,
    with_annotations,
)
from .request import requested_in

STATES = ("paused", "resumed", "approved")
"""The states of the module `upgrade_record` with which a person decides."""
OVER = (Phase.COMPLETED, Phase.ABORTED)
"""Phases of an upgrade that is not under way. An aborted one can still be resumed."""


def say(task: Task, store: RecordStore) -> Outcome:
    """Write what a person says into the record of the upgrade.

    Raises:
        Refusal: there is no such upgrade, or it is not clear which is meant, or it does not wait for this approval.
    """
    over = OVER if task.params["state"] != "resumed" else (Phase.COMPLETED,)
    name, kept = task.ask(lambda: _meant(store, task.params, over))
    if task.params["state"] == "resumed" and PAUSE in kept.annotations:
        raise refusal(
            "paused_by_annotation",
            f"The annotation {PAUSE} of {kept.where} pauses the upgrade, too.",
            f"Remove it with `kubectl annotate configmap {name} {PAUSE}-`, and resume again.",
        )
    before, after = change_record(task, store, name, _change(task.params, name, over))
    shown = [{} if each is None else _shown(each) for each in (before, after)]
    return Outcome(Verdict(), before != after, shown[0], shown[1], more={"name": name})


def _meant(store: RecordStore, params: Mapping[str, Any], over: Collection[Phase]) -> tuple[str, Kept]:
    named, found = params["record"], store.find()
    # Another record that cannot be read matters only to someone who names none.
    asked = {name: kept.record() for name, kept in found.kept.items() if named in (None, name)}
    meant = {name: found.kept[name] for name, record in asked.items() if record.phase not in over}
    if len(meant) == 1:
        return next(iter(meant.items()))
    if meant:
        several = f"There are several upgrades in progress: {', '.join(sorted(meant))}."
        raise refusal("upgrade_not_clear", several, "Name the record of the one that is meant (upgrade_record_name).")
    records, _remarks = readable(found)
    going = [name for name, record in records.items() if record.phase not in over]
    raise _none(params, named, f" There are {', '.join(sorted(going))}." if going else "")


def _none(params: Mapping[str, Any], named: str | None, others: str = "") -> Refusal:
    where = f" in namespace {params['namespace']}" if params["namespace"] else ""
    said = f"There is no upgrade in progress{where}{f' with the record {named}' if named else ''}.{others}"
    return refusal("no_upgrade_under_way", said, "See with the playbook status which upgrades there are.")


def _change(params: Mapping[str, Any], name: str, over: Collection[Phase]) -> Change:
    at, by = now_text(), who()

    def change(record: Record | None) -> Record | None:
        # It may have ended, or its record may be gone, since it was found.
        if record is None or record.phase in over:
            raise _none(params, name)
        if params["state"] == "approved":
            return _approved(record, params["approval"], by, at)
        if params["state"] == "resumed":
            return _resumed(record, by, at)
        if record.hold is not None:
            return record
        return record.with_events(happened(EventKind.HELD, at, message=params["summary"], by=by))

    return change


def _resumed(record: Record, by: str, at: str) -> Record:
    """The record without the pause, and not aborted any more, nor with what the pause has left in it."""
    held = record.hold is not None
    going = record.with_events(happened(EventKind.RESUMED, at, by=by)) if held else record
    if record.phase is Phase.ABORTED or (held and record.phase is Phase.PAUSED and PAUSED in record.codes):
        return replace(noted(going, UpgradeEvent.RESUMED, f"Resumed by {by}.", at), codes=())
    return going


def _approved(record: Record, name: str, by: str, at: str) -> Record:
    """The record with the approval; unchanged if someone has approved the point before.

    Raises:
        Refusal: the upgrade does not wait for it.
    """
    verdict = judge_approval(name, record.points, record.batches_passed)
    if not verdict.passed:
        raise Refusal(*verdict.reasons)
    point = next(each for each in record.points if each.name == name)
    if any(each.is_of(point) for each in record.approvals):
        return record
    approved = _with_approvals(record, [Approval(name, by, at, point.place)])
    # It says no longer that it waits for an approval, unless it waits for another one.
    waits = not judge_points(record.points, approved.approvals, record.batches_passed).passed
    if waits or {*record.codes} != {MISSING}:
        return approved
    return replace(approved, reason=f"{name} was approved by {by}.", codes=(), updated=at)


def _with_approvals(record: Record, approvals: Iterable[Approval]) -> Record:
    fresh = (happened(EventKind.APPROVED, each.at, "", each.name, each.place, each.by) for each in approvals)
    return record.with_events(*fresh)


def _shown(record: Record) -> dict[str, Any]:
    whole = record.as_result()
    return {name: whole[name] for name in ("phase", "hold", "approvals")}


def may_begin(task: Task, store: RecordStore) -> tuple[Verdict, Kept | None]:
    """Whether people let the next batch start. Approvals in the annotations of the record are noted in it.

    The result has the record that was read; None if there is none or it was changed. An annotation that pauses counts
    even if nothing else of the record can be read.

    Raises:
        Refusal: the record cannot be read or written.
    """
    points = points_in(task.params["approvals"])
    name = (task.params["lock"] or {}).get("name") or ""
    kept = task.ask(lambda: store.read(name)) if name else None
    if kept is None:
        return judge_points(points, None, 0), None
    at = now_text()

    def noted(found: Record | None) -> Record | None:
        if found is None:
            return None
        _hold, approvals = with_annotations(found.hold, found.approvals, kept.annotations, at, points)
        return _with_approvals(found, approvals)

    try:
        before, record = change_record(task, store, name, noted, kept)
    except Refusal as error:
        hold, _approvals = with_annotations(None, (), kept.annotations, at, points)
        if hold is None or not unreadable(error):
            raise
        return judge_hold(hold), None
    if record is None:
        return judge_points(points, None, 0), None
    hold, _approvals = with_annotations(record.hold, record.approvals, kept.annotations, at, points)
    unknown = [name for name in annotated(kept.annotations) if name not in {each.name for each in points}]
    standing = judge_still_standing(record.events, requested_in(task.params.get("requested") or {}))
    points_passed = judge_points(points, record.approvals, record.batches_passed, unknown)
    verdict = combine([standing, judge_hold(hold), points_passed])
    return verdict, kept if record == before else None
