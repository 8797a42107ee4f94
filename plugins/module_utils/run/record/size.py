"""The size of a record: details are dropped, the oldest first, so that it always fits. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

from ..counts import without_parts
from .batches import BatchRecord
from .events import fields_of
from .figures import longest_first
from .health_record import without_counters
from .record import Record

LONGEST = 200
"""The most characters of an awaited reason in a record that must be shortened."""

_MEMBER = ("name", "action", "total_seconds")
"""The details of a member that reports need."""
_EMPTY = {
    each.name: each.default for each in fields(BatchRecord) if each.default is not MISSING and each.name != "state"
}
"""The fields of a batch that are left out of a record without indentation while they have these values. Readers take
the same values for fields that are missing, so that 8,000 planned batches fit."""


def record_text(record: Record, most: int) -> str:
    """The text of the record in at most so many characters, which are also bytes (ASCII).

    It is indented for people if that fits, and otherwise has no empty fields of batches. Details that do not show the
    progress of the upgrade are dropped first: the counters of processes, and starting with the oldest batch all waits
    but the longest, then the stages of members. Then the single counts go, the conditions of former upgrades, and all
    waits, members and earlier tries. Then all history but its last entry goes, and at last the batches: those that are
    done, which are still counted, and then the last ones of the plan.
    """
    text = _dumped(record, most)
    for shorter in (
        lambda record, _too_much: replace(record, figures=without_counters(record.figures)),
        _each_batch(_longest_wait),
        _each_batch(_members_alone),
        lambda record, _too_much: replace(record, counts=without_parts(record.counts)),
        lambda record, _too_much: replace(
            record, upgrades=tuple(replace(each, conditions=()) for each in record.upgrades)
        ),
        _each_batch(_no_detail),
        _end_of_history,
        _without_done,
        _without_last,
    ):
        too_much = len(text) - most
        if too_much <= 0:
            break
        record = shorter(record, too_much)
        text = _dumped(record, most)
    return text


def _end_of_history(record: Record, _too_much: int) -> Record:
    return replace(record, events=(*(each for each in record.events if not each.phase), *record.history[-1:]))


def _each_batch(shorter: Callable[[BatchRecord], BatchRecord]) -> Callable[[Record, int], Record]:
    return lambda record, too_much: _shorter(record, too_much, shorter)


def _shorter(record: Record, too_much: int, shorter: Callable[[BatchRecord], BatchRecord]) -> Record:
    """The record with its oldest batches shortened until it fits."""
    kept: list[BatchRecord] = []
    for batch in record.batches:
        less = shorter(batch) if too_much > 0 else batch
        too_much -= _length(batch) - _length(less) if too_much > 0 else 0
        kept.append(less)
    return replace(record, batches=tuple(kept))


def _without_done(record: Record, too_much: int) -> Record:
    """The record without its oldest batches that are done. Points to approve need their number."""
    going = _first(too_much, [batch for batch in record.batches if batch.state == "done"])
    kept = tuple(batch for batch in record.batches if batch.name not in going)
    return replace(record, batches=kept, dropped=record.batches_planned - len(kept))


def _without_last(record: Record, too_much: int) -> Record:
    """The record without the last batches of the plan."""
    going = _first(too_much, record.batches[::-1])
    return replace(record, batches=tuple(batch for batch in record.batches if batch.name not in going))


def _first(too_much: int, batches: Sequence[BatchRecord]) -> set[str]:
    """The names of the first of these batches, which have at least so many characters; of all if they have not."""
    going = set[str]()
    for batch in batches:
        if too_much <= 0:
            break
        going.add(batch.name)
        too_much -= _length(batch)
    return going


def _longest_wait(batch: BatchRecord) -> BatchRecord:
    longest = [{**wait, "message": str(wait.get("message", ""))[:LONGEST]} for wait in longest_first(batch.waited)[:1]]
    return replace(batch, waited=tuple(longest), tries=tuple(map(_longest_wait, batch.tries)))


def _members_alone(batch: BatchRecord) -> BatchRecord:
    took = tuple({name: one[name] for name in _MEMBER if name in one} for one in batch.took)
    return replace(batch, took=took, tries=tuple(map(_members_alone, batch.tries)))


def _no_detail(batch: BatchRecord) -> BatchRecord:
    return replace(batch, waited=(), took=(), tries=())


def _length(batch: BatchRecord) -> int:
    return len(_narrow(batch))


def _written(part: Any) -> dict[str, Any]:
    """A part of a record as it is written; the `target_version` of a batch is left out unless it is in a chain."""
    found = fields_of(part)
    if isinstance(part, BatchRecord) and not part.target_version:
        del found["target_version"]
    return found


def _without_empty(part: Any) -> dict[str, Any]:
    found = fields_of(part)
    if not isinstance(part, BatchRecord):
        return found
    return {name: value for name, value in found.items() if name not in _EMPTY or value != _EMPTY[name]}


def _dumped(record: Record, most: int) -> str:
    indented = json.dumps(record, indent=1, default=_written)
    return indented if len(indented) <= most else _narrow(record)


def _narrow(part: Record | BatchRecord) -> str:
    return json.dumps(part, separators=(",", ":"), default=_without_empty)
