"""A record as it was written, also by earlier versions of the collection. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ...common.errors import refusal
from ...common.reading import Json, Unreadable, listed, one_of, parsed, part, read_as, shallow, text, texts
from ..start.approvals import Approval, Hold
from .batches import BATCH_STATES, STATUSES
from .events import PUT_BACK, EventKind, RecordedEvent, happened
from .figures import figure, number
from .phases import FORMER, Phase, phase_of
from .record import SCHEMA, Record

FORMER_BATCH_STATE = "rolling"
"""The former word for `upgrading` in records."""


def parse_record(kept: str, where: str, every: str = "it") -> Record:
    """The record in the text `kept`; `every` names, for people, what is deleted with it.

    Raises:
        Refusal: it cannot be read.
    """
    try:
        return _record(parsed(kept))
    except Unreadable as error:
        raise refusal(
            "record_not_readable",
            f"The record in {where} is not what this collection writes: {error}.",
            f"Look at it, then delete {every}: nothing but the history of earlier runs is lost.",
        ) from error


def _record(raw: Json) -> Record:
    batches = list(listed(raw, "batches", _batch))
    listed(raw, "pools", lambda pool: one_of(pool, "status", STATUSES), ())
    word = one_of(raw, "phase", (*FORMER, *(each.value for each in Phase)))
    phase = phase_of(word, any(each["state"] != "done" for each in batches))
    # Before there was a reason, this field had the message of the last transition.
    former = text(raw, "message" if "reason" not in raw else "reason", "")
    reason = "" if word in {"rolling", "completed"} else former
    record = read_as(Record, {**raw, "batches": batches, "phase": phase.value, "reason": reason})
    return record if "events" in raw else replace(record, events=tuple(_events_of_before(raw, record)), schema=SCHEMA)


def _batch(raw: Json) -> dict[str, Any]:
    return {**_one_try(raw), "tries": list(listed(raw, "tries", _one_try, ()))}


def _one_try(raw: Json) -> dict[str, Any]:
    state = one_of(raw, "state", (*BATCH_STATES, FORMER_BATCH_STATE))
    known = {**raw, "state": "upgrading" if state == FORMER_BATCH_STATE else state, "tries": []}
    return {**known, "green_seconds": figure(raw, "green_seconds")}


def _events_of_before(raw: Json, record: Record) -> Iterator[RecordedEvent]:
    """The events of an old record, which had a list for each kind, some of them without times."""
    yield from listed(raw, "history", partial(read_as, RecordedEvent))
    for act in listed(raw, "acts", shallow, ()):
        word, about = str(act.get("action")), str(act.get("target", ""))
        entry = happened(
            EventKind.PUT_BACK if word in PUT_BACK else EventKind.CHANGED, str(act.get("first", "")), "", about, word
        )
        yield replace(entry, times=round(number(act, "times")), last=str(act.get("last", "")))
    for check in texts(raw, "skipped", ()):
        yield happened(EventKind.SKIPPED, record.started, "", check, by=record.who)
    for each in listed(raw, "approvals", partial(read_as, Approval), ()):
        yield happened(EventKind.APPROVED, each.at, "", each.name, each.place, each.by)
    if part(raw, "hold", {}):
        hold = read_as(Hold, part(raw, "hold"))
        yield happened(EventKind.HELD, hold.at, message=hold.reason, by=hold.by)
    for key in texts(raw, "notices", ()):
        yield happened(EventKind.NOTICED, record.updated, "", key)
    if text(raw, "health", ""):
        yield happened(EventKind.HEALTH, record.updated, record.run, message=text(raw, "health", ""))
