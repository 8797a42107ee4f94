"""What was put back after an interrupted run, without another run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .events import EventKind, changes, fields_of, happened
from .phases import Phase
from .record import Record

INTERRUPTED = (Phase.PENDING, Phase.UPGRADING)
"""Phases in which a run may have been killed. The end of a run leads to another one, or has put everything back."""


def settled(record: Record, acts: Sequence[Mapping[str, Any]], run: str, at: str, left: str) -> Record:
    """The record after these acts. `left` says what is not put back; it is empty if everything is."""
    known = is_settled({"events": [fields_of(each) for each in record.events]})
    whole = record.phase in INTERRUPTED and not (left or known)
    return record.with_events(*changes(acts, run), *((happened(EventKind.SETTLED, at, run),) if whole else ()))


def is_settled(record: Mapping[str, Any]) -> bool:
    """Whether everything was put back since the last transition. Every run notes one before it changes anything.

    `record` is the result of a record, or only a name and a lock.
    """
    events = record.get("events") or ()
    last = max((number for number, each in enumerate(events) if each["phase"]), default=-1)
    return any(each["kind"] == EventKind.SETTLED.value for each in events[last + 1 :])
