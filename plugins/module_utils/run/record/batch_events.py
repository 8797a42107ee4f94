"""The events of batches, in one list with those that a record has noted. Pure.

A batch keeps its times and its health in fields, and its events are derived from them. Stored as events they would
take four times the bytes, and a record with 1,000 batches would lose most details.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .batches import LEFT, BatchRecord
from .events import EventKind, RecordedEvent, happened, later, of_kind


def with_batches(events: Iterable[RecordedEvent], batches: Sequence[BatchRecord]) -> tuple[RecordedEvent, ...]:
    """These events and those of the batches and their earlier tries, in the order of time."""
    first, last = list[RecordedEvent](), list[RecordedEvent]()
    for batch in batches:
        for each in (*batch.tries, batch):
            first += _until_down(each, batch.name)
            last += _from_down(each, batch.name, LEFT.get(each.state, each.state) if each is not batch else each.state)
    # A time in whole seconds sorts before times within that second.
    return tuple(sorted((*first, *events, *last), key=lambda event: event.at.rstrip("Z")))


def late_words(events: Iterable[RecordedEvent], batch: BatchRecord) -> str:
    """Since when a batch that is not done is late, and what it waited for then; empty if it is not."""
    if not batch.begun or batch.state == "done":
        return ""
    late = [each for each in of_kind(events, EventKind.LATE) if each.about in batch.members and each.at >= batch.begun]
    return next((f"late since {each.at}: {each.message}" for each in late), "")


def _until_down(batch: BatchRecord, name: str) -> Iterator[RecordedEvent]:
    """The events of a batch until its first member goes down, under its current name."""
    if batch.started:
        yield happened(EventKind.BATCH_STARTED, batch.started, batch.run, name)
    if batch.health and (at := batch.went or batch.started):
        yield happened(EventKind.HEALTH, at, batch.run, name, batch.health)


def _from_down(batch: BatchRecord, name: str, outcome: str) -> Iterator[RecordedEvent]:
    """The events of a batch with this outcome, after its first member went down."""
    if batch.health_away and (at := batch.went or batch.ended):
        yield happened(EventKind.HEALTH, at, batch.run, name, batch.health_away)
    if batch.ended:
        yield happened(EventKind.BATCH_ENDED, batch.ended, batch.run, name, outcome)
    if whole := later(batch.ended, batch.green_seconds):
        yield happened(EventKind.WHOLE_AGAIN, whole, batch.run, name)
