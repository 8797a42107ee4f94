"""The waits of a run in its record: outside its batches, and until all was whole after a batch. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .figures import longest_first
from .record import Record

MOST_WAITS = 20
"""Waits outside the batches that are kept, the longest."""


def waited_for(record: Record, during: str, waited: Sequence[Mapping[str, Any]]) -> Record:
    """The record with the waits of a part of the run outside the batches."""
    waits = longest_first((*record.waited, *({**each, "during": during} for each in waited)))
    return replace(record, waited=waits[:MOST_WAITS])


def green_after(record: Record, seconds: float | None, batch: str) -> Record:
    """The record with the seconds until green of the batch before `batch`; of the run's last one without it."""
    ours = [each for each in record.batches if each.run == record.run and each.state == "done" and each.name != batch]
    if seconds is None or not ours:
        return record
    former = max(ours, key=lambda each: each.ended)
    batches = tuple(replace(each, green_seconds=seconds) if each is former else each for each in record.batches)
    return replace(record, batches=batches)
