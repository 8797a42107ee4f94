"""The figures of an upgrade for Prometheus, from its record. Pure.

Each is a gauge of the current state, so a figure that another run writes again is not counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .batch_events import late_words
from .batches import BATCH_STATES
from .conditions import StepState
from .figures import seconds_between, timestamp
from .phases import Phase
from .record import Record

PREFIX = "stateful_upgrade"
HELP = {
    "phase": "Whether the upgrade is in this phase.",
    "members": "Members of the plan in batches of this state.",
    "reason": "Whether the last run was refused or ended, or a batch was stopped, for a reason with this code.",
    "request": "Whether the request of the upgrade is in this state.",
    "step": "Whether the step is in this state.",
    "step_seconds": "Seconds from the first start of the step until it was completed, or last looked at.",
    "batch_seconds": "Seconds from the start of the batch until its end.",
    "batch_late": "Whether the batch was reported as late, and is not done.",
    "start_time_seconds": "Time at which the upgrade began.",
    "update_time_seconds": "Time at which its record was last written.",
    "scheduled_time_seconds": "Time from which the upgrade may start.",
    "window_end_time_seconds": "Time from which the upgrade may no longer start.",
    "delayed": "Whether the run has reported that no batch had begun some time after the start.",
    "to_fix": "Problems before the start, as of the last check.",
}
"""The meaning of each figure by its name behind the prefix."""


@dataclass(frozen=True)
class Measure:
    """One figure."""

    name: str
    """One of `HELP`."""
    labels: Mapping[str, str]
    value: float


def measures_of(record: Record) -> list[Measure]:
    """The figures of an upgrade. A time that has not come gives none."""
    return [*_of_the_whole(record), *_of_the_start(record), *_of_steps(record), *_of_batches(record)]


def measures_of_request(state: str, states: Sequence[str]) -> list[Measure]:
    """The figures of a request that is in one of these states."""
    return [Measure("request", {"state": each}, float(each == state)) for each in states]


def measures_of_codes(codes: Sequence[str]) -> list[Measure]:
    """The figures of an upgrade without a record whose last run ended for reasons with these codes."""
    return [Measure("reason", {"code": code}, 1.0) for code in codes]


def _of_the_whole(record: Record) -> Iterator[Measure]:
    about = {"target_version": record.target_version, "system": record.system}
    for phase in Phase:
        yield Measure("phase", {"phase": phase.value, **about}, float(record.phase is phase))
    yield from measures_of_codes(record.codes)
    yield from _moment("start_time_seconds", record.started if record.run else "")
    yield from _moment("update_time_seconds", record.updated)


def _of_the_start(record: Record) -> Iterator[Measure]:
    start = record.start
    if start is not None:
        yield from _moment("scheduled_time_seconds", start.at)
        yield from _moment("window_end_time_seconds", start.end)
        yield Measure("delayed", {}, float(bool(start.delayed)))
        yield Measure("to_fix", {}, float(len(start.findings)))


def _of_steps(record: Record) -> Iterator[Measure]:
    for each in record.conditions:
        for state in StepState:
            yield Measure("step", {"step": each.type, "state": state.value}, float(each.reason == state.value))
        seconds = seconds_between(each.start_time, each.complete_time or each.last_probe_time)
        if seconds is not None:
            yield Measure("step_seconds", {"step": each.type}, seconds)


def _of_batches(record: Record) -> Iterator[Measure]:
    for state in BATCH_STATES:
        count = sum(len(each.members) for each in record.batches if each.state == state)
        yield Measure("members", {"state": state}, float(count))
    for batch in record.batches:
        seconds = seconds_between(batch.started, batch.ended)
        if seconds is not None:
            yield Measure("batch_seconds", {"batch": batch.name}, seconds)
        yield Measure("batch_late", {"batch": batch.name}, float(bool(late_words(record.events, batch))))


def _moment(name: str, text: str) -> Iterator[Measure]:
    at = timestamp(text)
    if at is not None:
        yield Measure(name, {}, at.timestamp())
