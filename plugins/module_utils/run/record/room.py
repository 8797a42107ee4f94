"""Whether a record has room for all batches of its plan. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...common.verdict import Reason, as_verdict, refused, remark
from .record import Record
from .record_reading import parse_record
from .size import record_text

SURE = 5_000
"""Batches that fit in any case, so that no smaller plan needs a look."""


@as_verdict
def judge_room(record: Record, most: int) -> Iterator[Reason]:
    """A remark on the last batches of a plan if its record has no room for them. They are not counted when they are
    done, so a point to approve after them would let the upgrade through, and is refused."""
    kept, planned = parse_record(record_text(record, most), "the plan").batches_planned, record.batches_planned
    if kept == planned:
        return
    yield remark(
        "record_too_short",
        f"The record of the upgrade has room for {kept:,} of its {planned:,} batches."
        " Status and report do not show the others.",
    )
    for point in record.points:
        if kept < point.after:
            yield refused(
                "approval_not_counted",
                f"The upgrade would not stop for the approval {point}: its record counts only {kept:,} batches.",
                f"Give {kept} or less (upgrade_approvals), or upgrade fewer members at a time (upgrade_members).",
            )
