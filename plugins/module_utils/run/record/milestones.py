"""The conditions of a whole upgrade: its start, its gates, its batches, its notices and its end, and its steps. Pure.

They are made from what the record holds anyway, so every upgrade has them. Each appears once it has started. Their
names start with a capital letter, as in Kubernetes; the name of a step is the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...common.words import enumerate_few, shortened
from .batch_events import late_words
from .batches import BatchRecord
from .conditions import Condition, StepState, Upgrade, with_upgrade
from .phases import Phase, UpgradeEvent
from .record import Record

LONGEST = 300
"""Characters of a message."""


def conditions_of(record: Record) -> tuple[Condition, ...]:
    """All conditions of an upgrade: those of its parts, in their order, with those of its steps after its start."""
    start, batches, end = _start(record), _batches(record), _end(record)
    return (*start, *record.conditions, *batches, *end)


def dated(record: Record) -> Record:
    """The record with the times and conditions of this upgrade after those of the upgrades before it."""
    begun, whole = _times(record)
    times = (record.started, _completed(record), begun, whole)
    # At the end of an upgrade the version deployed is its target.
    left = record.deployed_version if record.deployed_version != record.target_version else ""
    now = Upgrade(record.target_version, record.phase.value, *times, conditions_of(record), left)
    return replace(record, upgrades=with_upgrade(record.upgrades, now))


def _times(record: Record) -> tuple[str, str]:
    """The times at which the first batch began, and at which the last was done; empty before that."""
    whole = bool(record.batches_planned) and record.batches_done == record.batches_planned
    ends = max((each.ended for each in record.batches), default="") if whole else ""
    return min((each.begun for each in record.batches if each.begun), default=""), ends


def _completed(record: Record) -> str:
    """The time at which it was completed, whatever was noted later, such as a notice; empty before that."""
    if record.phase is not Phase.COMPLETED:
        return ""
    same = (each.completed for each in record.upgrades[-1:] if each.is_of(record.target_version, record.started))
    return next(filter(None, same), record.updated)


def _start(record: Record) -> Iterator[Condition]:
    begun, start = bool(record.run), record.start
    if record.phase is Phase.NEW and record.reason:
        yield _condition(record, "Validation", record.started, "", cause=record.reason)
    if start is not None:
        since = start.checked or record.started
        late = f", late since {start.delayed}" if start.delayed else ""
        said, missed = f"from {start.at} to {start.end}, {start.policy}{late}", "" if begun else record.reason
        yield _condition(record, "Scheduled", since, record.started if begun else "", said, missed)
    if begun:
        message = f"{_runs(record)}, with consent to plan {record.digest}"
        yield _condition(record, "Started", record.started, record.started, message)
        skipped = f"without the checks {enumerate_few(record.skipped)}" if record.skipped else ""
        yield _condition(record, "GateBeforeUpgrade", record.started, record.started, skipped)


def _runs(record: Record) -> str:
    """The run that has started the upgrade, and the last one if that is another."""
    begins = (each for each in record.history if each.kind == UpgradeEvent.AGREED.value and each.at == record.started)
    first, last = next(begins, None), f"run {record.run} of {record.who}"
    if first is None or first.run == record.run:
        return f"{last} took the lock"
    return f"run {first.run} of {first.by or record.who} took the lock, and last {last}"


def _batches(record: Record) -> Iterator[Condition]:
    begun, whole = _times(record)
    if not begun:
        return
    count, done = record.batches_planned, record.batches_done
    passed = record.dropped + sum(map(_is_let_through, record.batches))
    whole = (whole or record.updated) if done == count else ""
    yield _condition(record, "GatesBeforeBatches", begun, whole, f"{passed} of {count} passed")
    words = ((each.name, late_words(record.events, each)) for each in record.batches)
    late = "".join(f", {name} {said}" for name, said in words if said)
    yield _condition(record, "BatchesDone", begun, whole, f"{done} of {count} done{late}", record.cause)


def _is_let_through(batch: BatchRecord) -> bool:
    """Whether the gate of a batch has passed: the batch is done, or a member was touched."""
    return batch.state == "done" or batch.touched


def _end(record: Record) -> Iterator[Condition]:
    if record.notices:
        sent = enumerate_few(dict.fromkeys(key.rpartition("-")[0] for key in record.notices))
        yield _condition(record, "NoticesSent", record.started, record.started, f"{len(record.notices)} sent: {sent}")
    completed = _completed(record)
    rolled = record.run and record.batches_done == record.batches_planned
    since = max((each.ended for each in record.batches), default="") or record.started
    if rolled or completed:
        health = record.health if completed else ""
        yield _condition(record, "GateAfterUpgrade", since, completed, health, record.cause)
    if rolled or completed or (record.cause and record.phase is not Phase.NEW):
        yield _condition(record, "Ended", since, completed, "proven" if completed else "", record.cause)


def _condition(record: Record, name: str, since: str, completed: str, message: str = "", cause: str = "") -> Condition:
    """A condition that has started; it is completed if `completed` has a time, and then has no cause."""
    done = bool(completed)
    return Condition(
        type=name,
        status="True" if done else "False",
        reason=(StepState.COMPLETED if done else StepState.IN_PROGRESS).value,
        message=shortened(message, LONGEST),
        start_time=since,
        complete_time=completed,
        last_probe_time=completed or record.updated,
        last_transition_time=completed or since,
        cause="" if done else shortened(cause, LONGEST),
    )
