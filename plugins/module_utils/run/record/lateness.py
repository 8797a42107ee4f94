"""A batch that takes longer than it should: the system that waits for it notes this in the record once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...common.task import Task
from ...common.timestamps import now_text
from ...common.verdict import Verdict
from .batch_events import late_words
from .events import EventKind, happened
from .going_down import note_in_record
from .record import Record


def note_late(task: Task, members: Sequence[str], said: str) -> Verdict:
    """Note that the batch with these members is late, and what it waits for. The verdict has a remark if that cannot be
    written.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    at = now_text()
    return note_in_record(task, lambda record: with_late(record, members, said, at, task.run))


def with_late(record: Record, members: Sequence[str], said: str, at: str, run: str) -> Record:
    """The record with the note that the batch with these members is late, unless it has one already."""
    ours = [each for each in record.batches if not {*members}.isdisjoint(each.members) and each.state == "upgrading"]
    if not ours or any(late_words(record.events, each) for each in ours):
        return record
    return replace(record, updated=at).with_events(happened(EventKind.LATE, at, run, members[0], said))
