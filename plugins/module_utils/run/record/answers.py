"""The answer to a request: whenever the record of its upgrade is written, the progress is noted at the request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...common.errors import Refusal
from ...common.task import Task
from ...kubernetes.client import connect
from ..start.request_sources import RequestConfigMap, source_of
from .metrics import measured
from .record import NamedSteps, Record, RequestStatus
from .record_keeping import Kept, Nowhere, RecordStore
from .reporting_store import ReportingStore

MOST = 200_000
"""The most bytes of a status at a request: an object has at most 256 KiB of annotations (Kubernetes,
`ValidateAnnotationsSize`)."""


def reporting(task: Task, store: RecordStore) -> RecordStore:
    """The store that also publishes its records as figures, and answers their requests.

    Raises:
        Refusal: the address of the push gateway cannot be used.
    """
    return _answered(task, measured(task, store))


def _answered(task: Task, store: RecordStore) -> RecordStore:
    """No upgrade fails because its answer cannot be written."""
    if not task.request_kinds or isinstance(store, Nowhere):
        return store

    def answer(_name: str, kept: Kept) -> None:
        record = kept.record()
        source = record.request.source if record.request is not None else ""
        try:
            _answer(task, record, source)
        except Refusal as error:
            task.warn(f"The status of {source} was not written. {error.verdict.reasons[0].message}")

    return ReportingStore(store, answer)


def _answer(task: Task, record: Record, source: str) -> None:
    kinds: Any = task.request_kinds
    for kind in (found for beginning, found in kinds.items() if source.startswith(beginning)):
        kind(source, connect, task.params).answer(record)
        return
    status = _status(task, record)
    place = source_of(source, connect, task.params, kinds) if status is not None else None
    if status is not None and isinstance(place, RequestConfigMap):
        place.report(_shortened(status))


def read_by_system(task: Task, record: Record) -> dict[str, Any]:
    """What the system of a record reads from it: the steps that it has names for, and the status of its request."""
    steps: NamedSteps | None = task.named_steps.get(record.system)
    found: dict[str, Any] = {"named_steps": [asdict(each) for each in steps(record)]} if steps is not None else {}
    status = _status(task, record)
    return found | ({"request_status": status} if status is not None else {})


def _status(task: Task, record: Record) -> Mapping[str, Any] | None:
    status_of: RequestStatus | None = task.request_statuses.get(record.system)
    return status_of(record) if status_of is not None else None


def _shortened(status: Mapping[str, Any]) -> str:
    """The status as JSON, without its members if there are too many; the record has them."""
    whole = json.dumps(status)
    return whole if len(whole) <= MOST else json.dumps({**status, "machines": []})
