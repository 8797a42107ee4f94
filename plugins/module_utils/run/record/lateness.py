"""A batch that takes longer than it should, noted in the record once, by a system that waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...common.errors import Refusal
from ...common.task import Task
from ...common.timestamps import now_text
from ...common.verdict import Verdict
from .answers import telling
from .batch_events import late_words
from .events import EventKind, happened
from .record import Record
from .record_keeping import change_record, unwritten
from .upgrade_record import store_of


def note_late(task: Task, members: Sequence[str], said: str) -> Verdict:
    """Note that the batch with these members is late, and what it waits for. The verdict has a remark if that cannot be
    written.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    name, at = (task.params["lock"] or {}).get("name"), now_text()
    if not name:
        return Verdict()
    try:
        store = telling(task, store_of(task.params))
        change_record(task, store, name, lambda record: record and with_late(record, members, said, at, task.run))
    except Refusal as error:
        return unwritten(error)
    return Verdict()


def with_late(record: Record, members: Sequence[str], said: str, at: str, run: str) -> Record:
    """The record that knows that the batch with these members is late since then, unless it was before."""
    ours = [each for each in record.batches if not {*members}.isdisjoint(each.members) and each.state == "upgrading"]
    if not ours or any(late_words(record.events, each) for each in ours):
        return record
    return replace(record, updated=at).with_events(happened(EventKind.LATE, at, run, members[0], said))
