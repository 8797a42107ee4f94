"""How long a state has lasted, over all passes and runs of an upgrade: the first time that its record has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...common.errors import Refusal
from ...common.task import Task
from ...common.timestamps import now_text
from .events import EventKind, RecordedEvent, happened, of_kind
from .kept_in import store_of
from .record import Record
from .record_keeping import change_record, unwritten


@dataclass(frozen=True)
class Lasting:
    """A state that lasts, as it was seen now."""

    about: str
    """The thing that is in this state."""
    state: str
    """The state, in words that differ from any earlier state of the same thing."""
    since: str
    """The time from which it was seen, in the form of `timestamp_text`."""


def note_lasting(task: Task, seen: Collection[Lasting]) -> dict[str, str]:
    """The time at which each of these states began, by what it is about. A new one is noted in the record.

    Without a record, or if it cannot be read or written, it is the time that was seen now.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    unknown, name, now = {each.about: each.since for each in seen}, (task.params["lock"] or {}).get("name"), now_text()
    if not name or not seen:
        return unknown
    try:
        _before, record = change_record(
            task, store_of(task.params), name, lambda found: found and noted(found, seen, now)
        )
    except Refusal as error:
        unwritten(error)
        return unknown
    return {**unknown, **(known_since(record, seen) if record is not None else {})}


def noted(record: Record, seen: Collection[Lasting], now: str) -> Record:
    """The record with those of these that it does not have yet, as they are seen at the time `now`.

    A state of a member that is older than its batch was none of the upgrade by then, such as the cordon of a person, so
    it counts from now on.
    """
    known = known_since(record, seen)
    started = {name: batch.started for batch in record.batches for name in batch.members}

    def lasts(each: Lasting) -> RecordedEvent:
        since = each.since if each.since >= started.get(each.about, "") else now
        return happened(EventKind.LASTS, since, record.run, each.about, each.state)

    return record.with_events(*(lasts(each) for each in seen if each.about not in known))


def known_since(record: Record, seen: Collection[Lasting]) -> dict[str, str]:
    """The time that the record has for each of these, by what it is about."""
    wanted = {(each.about, each.state) for each in seen}
    found = of_kind(record.events, EventKind.LASTS)
    return {each.about: each.at for each in found if (each.about, each.message) in wanted}
