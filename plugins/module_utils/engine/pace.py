# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pace of an upgrade: predictions from the batches that the record has measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from statistics import fmean

from .record import BatchRecord, Record


def seconds_a_batch(records: Iterable[Record]) -> float | None:
    """The average seconds of the measured batches, from begin to end; None without any."""
    measured = [seconds for record in records for batch in record.batches if (seconds := _seconds(batch)) is not None]
    return fmean(measured) if measured else None


def seconds_left(record: Record) -> float | None:
    """The seconds that the remaining batches take at the pace so far; None if no batch was measured."""
    pace = seconds_a_batch([record])
    left = sum(batch.state != "done" for batch in record.batches)
    return None if pace is None else pace * left


def duration_text(seconds: float) -> str:
    """A duration for people, rounded as a prediction should be."""
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _seconds(batch: BatchRecord) -> float | None:
    by_another = bool(batch.took) and all(each.get("action") == "kept" for each in batch.took)
    if batch.state != "done" or by_another or not batch.started or not batch.ended:
        return None
    begin, end = moment(batch.started), moment(batch.ended)
    if begin is None or end is None:
        return None
    try:
        return max(0.0, (end - begin).total_seconds())
    except TypeError:
        return None  # One of them names no time zone.


def moment(text: str) -> datetime | None:
    """A moment of a record. None if something else has written there, since no figure is worth an error."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
