"""The answer to a request: whenever the record of its upgrade is written, the progress is noted at the request."""

from __future__ import annotations

from typing import Any

from ...common.errors import Refusal
from ...common.task import Task
from ...kubernetes.client import connect
from .metrics import measured
from .record_keeping import Kept, Nowhere, RecordStore
from .telling import TellingStore


def telling(task: Task, store: RecordStore) -> RecordStore:
    """The store that also publishes its records as figures, and answers their requests.

    Raises:
        Refusal: the address of the push gateway cannot be used.
    """
    return _answered(task, measured(task, store))


def _answered(task: Task, store: RecordStore) -> RecordStore:
    """No upgrade fails because its answer cannot be written."""
    kinds: Any = task.request_kinds
    if not kinds or isinstance(store, Nowhere):
        return store

    def answer(_name: str, kept: Kept) -> None:
        record = kept.record()
        source = record.request.source if record.request is not None else ""
        for kind in (found for beginning, found in kinds.items() if source.startswith(beginning)):
            try:
                kind(source, connect, task.params).answer(record)
            except Refusal as error:
                task.warn(f"The status of {source} was not written. {error.verdict.reasons[0].message}")

    return TellingStore(store, answer)
