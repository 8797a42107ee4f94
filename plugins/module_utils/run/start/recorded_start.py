"""The start of an upgrade that has a schedule, as its record keeps it: the times, and what the early checks found.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...common.timestamps import timestamp_text
from ...common.words import shortened
from .schedule import Schedule

LONGEST = 500
"""Characters of a finding that are kept."""
MOST = 20
"""Findings that are kept."""


@dataclass(frozen=True)
class Start:
    """The times between which an upgrade is to start, as texts, and the findings of its last early check."""

    at: str
    end: str
    policy: str
    checked: str = ""
    """The time of the check; empty if none was made."""
    findings: tuple[str, ...] = ()
    """The problems at that time, one sentence each."""
    new: tuple[str, ...] = ()
    """Those of the findings that the check before had not found."""
    cured: tuple[str, ...] = ()
    """The findings of the check before that are gone."""
    delayed: str = ""
    """The time at which the delay was reported; empty if it was not."""

    def is_of(self, schedule: Schedule) -> bool:
        """Whether it has the times and the policy of this schedule."""
        moments = (timestamp_text(schedule.at), timestamp_text(schedule.end), schedule.policy.value)
        return (self.at, self.end, self.policy) == moments


def checked_start(schedule: Schedule, findings: Sequence[str] | None, before: Start | None, at: str) -> Start:
    """The start after an early check; `before` is the start in the record. `findings` is None if there was no check."""
    if findings is None:
        return _unchecked(schedule, before)
    kept = tuple(dict.fromkeys(shortened(each, LONGEST) for each in findings))[:MOST]
    known = before.findings if before is not None and before.checked else kept
    return Start(
        at=timestamp_text(schedule.at),
        end=timestamp_text(schedule.end),
        policy=schedule.policy.value,
        checked=at,
        findings=kept,
        new=tuple(each for each in kept if each not in known),
        cured=tuple(each for each in known if each not in kept),
        delayed=before.delayed if before is not None and before.is_of(schedule) else "",
    )


def _unchecked(schedule: Schedule, before: Start | None) -> Start:
    """The start after a pass that is too early for a check. It keeps the findings of the last one."""
    start = Start(timestamp_text(schedule.at), timestamp_text(schedule.end), schedule.policy.value)
    if before is None:
        return start
    delayed = before.delayed if before.is_of(schedule) else ""
    return replace(start, checked=before.checked, findings=before.findings, delayed=delayed)
