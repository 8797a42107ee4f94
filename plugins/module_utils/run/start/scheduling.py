"""The record of an upgrade before its start: pending until its start time, then late, failed after its window. Pure.

It is written without the lock, only if it is still the version that was read, and has no run. Each look notes its
findings and which of them are new or fixed; the history grows only if some are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.timestamps import timestamp_text
from ...common.verdict import Reason, State, Verdict, as_verdict, waiting
from ..record.phases import Deed, Phase, UpgradeEvent
from ..record.record import Record, going_on, leads_there, noted, planned_record
from .recorded_start import Start, checked_start
from .schedule import WINDOW_OVER, Schedule


@dataclass(frozen=True)
class StartFindings:
    """The findings of a look before the start."""

    start: Verdict
    """Whether the time for the start has come."""
    blockers: tuple[str, ...]
    """The problems that prevent the upgrade, one sentence each."""
    late: bool
    """Whether this look reports a delay."""
    noted: bool = True
    """Whether the pass is an early look, which notes its findings."""


def reported_late(records: Iterable[Record], schedule: Schedule) -> bool:
    """Whether it was reported already that the upgrade of this schedule is late."""
    return any(one.start is not None and one.start.is_of(schedule) and bool(one.start.delayed) for one in records)


@as_verdict
def judge_delay(schedule: Schedule, seen: StartFindings, deed: Deed = Deed.UPGRADE) -> Iterator[Reason]:
    """A single pass that reports a delay waits; the next pass starts the upgrade if no problem is left."""
    if seen.late:
        yield waiting(
            "start_delayed",
            f"The {deed.value} was to start at {timestamp_text(schedule.at)}, and has not begun. {_cause(seen)}",
            "Fix the problems; the next pass continues.",
        )


def before_start(
    previous: Record | None, plan: Mapping[str, Any], schedule: Schedule, seen: StartFindings, who: str, at: str
) -> Record | None:
    """The record after a look before any batch has started; None if there is nothing to note.

    An aborted upgrade stays as it is until it is resumed, or superseded.
    """
    if _is_aborted(previous, plan) and not _supersedes(plan):
        return None
    if seen.start.state is State.REFUSED:
        return _missed(previous, plan, schedule, seen.start, who, at)
    if seen.start.state is State.WAITING:
        return _pending(previous, plan, schedule, seen.blockers if seen.noted else None, who, at)
    if not seen.late:
        return None
    known = previous is not None and previous.start is not None and previous.start.is_of(schedule)
    record = previous if known else _pending(previous, plan, schedule, seen.blockers, who, at)
    if record is None or record.start is None:
        return None
    said = f"is late, it was to start at {record.start.at}: {_cause(seen)}"
    late = replace(record, start=replace(record.start, delayed=at), updated=at)
    return noted(late, UpgradeEvent.SCHEDULED, said, at) if record.phase is Phase.PENDING else late


def _pending(
    previous: Record | None,
    plan: Mapping[str, Any],
    schedule: Schedule,
    findings: Sequence[str] | None,
    who: str,
    at: str,
) -> Record | None:
    """The record of an upgrade that is to start later, with the findings of its early check.

    An upgrade that a run has started keeps its record, with the new start. None if there is nothing to do.
    """
    earlier = going_on(previous, plan)
    if earlier is not None and _is_aborted(earlier, plan) and not earlier.run:
        # It was aborted before its start, and what supersedes it starts anew.
        earlier = None
    start = checked_start(schedule, findings, earlier.start if earlier is not None else None, at)
    if earlier is not None and earlier.run:
        return replace(earlier, start=start, updated=at)
    if not plan["batches"]:
        return None
    fresh = replace(planned_record(previous, earlier, plan, "", who, at), start=start)
    known = earlier is not None and earlier.start is not None and earlier.start.is_of(schedule)
    if known and earlier is not None and earlier.digest == fresh.digest and not start.new and not start.cured:
        return fresh
    return noted(fresh, UpgradeEvent.SCHEDULED, _said(start, fresh), at)


def _is_aborted(previous: Record | None, plan: Mapping[str, Any]) -> bool:
    """Whether the record is of the upgrade of this plan, or that before this restart, and a person has aborted it."""
    return previous is not None and previous.phase is Phase.ABORTED and leads_there(previous, plan)


def _supersedes(plan: Mapping[str, Any]) -> bool:
    """Whether the upgrade of this plan, as the record takes it, takes the place of another one."""
    return "supersede" in (plan.get("consents") or {})


def _missed(
    previous: Record | None, plan: Mapping[str, Any], schedule: Schedule, start: Verdict, who: str, at: str
) -> Record | None:
    """The record of an upgrade whose window is over before a run has started it; None for any other upgrade.

    One that no earlier pass has noted gets its record now.
    """
    known = previous is not None and previous.start is not None and previous.start.is_of(schedule)
    codes = tuple(reason.code for reason in start.deciding())
    if known and previous is not None and not previous.run and previous.phase is Phase.PENDING:
        record = previous
    elif WINDOW_OVER in codes and _is_unknown(previous, plan, known=known):
        times = checked_start(schedule, None, None, at)
        record = replace(planned_record(previous, None, plan, "", who, at), start=times)
    else:
        return None
    message = " ".join(reason.message for reason in start.deciding())
    return replace(noted(record, UpgradeEvent.FAILED, message, at), codes=codes)


def _is_unknown(previous: Record | None, plan: Mapping[str, Any], *, known: bool) -> bool:
    """Whether the record is of none that a run has started, nor of this window that is over.

    One that a pass has scheduled for another time gets that of this window.
    """
    if previous is None or previous.phase in (Phase.NEW, Phase.COMPLETED):
        return True
    if previous.phase is Phase.PENDING and not previous.run:
        return True
    return previous.phase is Phase.FAILED and not previous.run and not (known and leads_there(previous, plan))


def _cause(seen: StartFindings) -> str:
    return " ".join(seen.blockers) if seen.blockers else "Nothing stands in its way any more."


def _said(start: Start, record: Record) -> str:
    lines = [f"is to start at {start.at}: {record.aim}, plan {record.digest}"]
    lines += [f"to be fixed before: {each}" for each in start.findings]
    lines += [f"fixed: {each}" for each in start.cured]
    return "\n".join(lines)
