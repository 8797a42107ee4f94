"""The time at which a batch goes down, noted in the record by a system that knows it before the batch has ended."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ...common.errors import Refusal
from ...common.task import Task
from ...common.timestamps import now_text
from ...common.verdict import Verdict
from .answers import reporting
from .batches import BatchRecord
from .kept_in import store_of
from .record import Record
from .record_keeping import change_record, unwritten


def note_down(task: Task, members: Collection[str]) -> Verdict:
    """Note that the batch with these members goes down. The verdict has a remark if that cannot be written.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    at = now_text()
    return note_in_record(task, lambda record: gone_down(record, members, at))


def note_in_record(task: Task, noted: Callable[[Record], Record]) -> Verdict:
    """Change the record of the run, if it keeps one. The verdict has a remark if that cannot be written.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    name = (task.params["lock"] or {}).get("name")
    if not name:
        return Verdict()
    try:
        store = reporting(task, store_of(task.params))
        change_record(task, store, name, lambda record: record and noted(record))
    except Refusal as error:
        return unwritten(error)
    return Verdict()


def gone_down(record: Record, members: Collection[str], at: str) -> Record:
    """The record in which the batch under way with these members went down then, unless it did before."""

    def later(batch: BatchRecord) -> BatchRecord:
        ours = batch.state == "upgrading" and not batch.went and not {*members}.isdisjoint(batch.members)
        return replace(batch, went=at) if ours else batch

    batches = tuple(map(later, record.batches))
    return replace(record, batches=batches, updated=at) if batches != record.batches else record
