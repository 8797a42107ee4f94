"""The schedule of an upgrade or a restart: when it may start, and until when. Pure; the current time is an argument.

It starts with its first batch. Before its start time a run waits, and after its window it no longer
starts. By the policy, an upgrade that has started continues after its window, or is paused until the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from ...common.arguments import Options
from ...common.errors import refusal
from ...common.timestamps import timestamp_text
from ...common.verdict import Reason, State, Verdict, as_verdict, refused, remark, waiting
from ...common.words import duration, enumerate_few
from ..record.phases import Deed

DEFAULT_WINDOW = 120
"""Minutes of a window."""


class WindowEnd(str, Enum):
    """The meaning of the end of a window."""

    START_ONLY = "start_only"
    """The upgrade starts inside the window, and continues after it."""
    PAUSE = "pause"
    """It is paused at the end of the window, between two batches, and continues in the next one."""
    MUST_FIT = "must_fit"
    """It starts only if its predicted end is inside the window."""
    OPEN = "open"
    """It may also start after the end of the window."""


TO_FIX = "To be fixed before the start: "
"""The words before the problems that a pass before the start has found."""
WINDOW_OVER = "window_over"
"""The code of the reason of a run whose window ended before its first batch."""
LATE_AFTER = 0.25
"""The part of a window after which a start is late."""
LONGEST_WAIT = 900.0
"""Seconds for which a run waits for its start. A job that waited longer would only occupy its controller."""

SCHEDULE: Options = {
    "at": {"type": "str"},
    "window": {"type": "int", "default": DEFAULT_WINDOW},
    "window_policy": {
        "type": "str",
        "default": WindowEnd.START_ONLY.value,
        "choices": [each.value for each in WindowEnd],
    },
    "early_look": {"type": "int"},
}
"""The options of runs that can be scheduled; documented in doc_fragments/runs.py."""


@dataclass(frozen=True)
class Schedule:
    """The times between which an upgrade may start."""

    at: datetime
    window: timedelta
    policy: WindowEnd = WindowEnd.START_ONLY
    reports_delay: bool = True
    """Whether a late start is reported."""
    early_look: timedelta | None = None
    """The time before the start from which passes note problems; None if all passes do."""

    @property
    def end(self) -> datetime:
        """The time at which the window ends."""
        return self.at + self.window

    def has_early_look(self, now: datetime) -> bool:
        """Whether a pass at this time notes the problems before the start."""
        return self.early_look is None or now >= self.at - self.early_look

    @property
    def start_until(self) -> int:
        """The time from which it no longer starts, in seconds since 1970; 0 if it may start at any time."""
        return 0 if self.policy is WindowEnd.OPEN else int(self.end.timestamp())

    @property
    def pause_at(self) -> int:
        """The time from which no batch is started, in seconds since 1970; 0 if there is none."""
        return int(self.end.timestamp()) if self.policy is WindowEnd.PAUSE else 0


def schedule_in(given: Mapping[str, Any]) -> Schedule | None:
    """The schedule in the options of a module; None if the upgrade may start at any time.

    Raises:
        Refusal: the time is not in the form of RFC 3339, the window is shorter than a minute, or one of its times is
            none.
    """
    if not given.get("at"):
        return None
    text, minutes = str(given["at"]).strip(), int(given["window"])
    try:
        at = datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
    except ValueError:
        at = datetime.min
    if at.tzinfo is None:
        raise refusal(
            "schedule_unreadable",
            f"The time of the start (upgrade_at) is '{text}', which is not a date and time with a zone.",
            "Write it as RFC 3339 does: 2026-11-21T02:00:00Z, or with +01:00 in place of Z.",
        )
    if minutes < 1:
        raise refusal(
            "schedule_unreadable",
            f"The window of the start (upgrade_window) has {minutes} minutes, in which nothing can start.",
            "Give one minute or more.",
        )
    policy, reports_delay = WindowEnd(given["window_policy"]), bool(given.get("reports_delay", True))
    early = given.get("early_look")
    try:
        look = timedelta(minutes=early) if early is not None else None
        schedule = Schedule(at, timedelta(minutes=minutes), policy, reports_delay, look)
        # Both ends are computed, since a calendar ends with the year 9999.
        schedule.has_early_look(schedule.end)
    except OverflowError:
        raise refusal(
            "schedule_unreadable",
            f"The window of the start (upgrade_at {text}, upgrade_window, upgrade_early_look) has no end before the"
            " year 10000, or an early look before the year 1.",
            "Correct the time, or the minutes.",
        ) from None
    return schedule


@as_verdict
def judge_window(given: Mapping[str, Any], deed: Deed = Deed.UPGRADE) -> Iterator[Reason]:
    """A remark if the options of a module say something about a window that none of their start times begins."""
    names = ("window", "window_policy", "early_look")
    changed = [name for name in names if given.get(name) != SCHEDULE[name].get("default")]
    if changed and not given.get("at"):
        named = enumerate_few(f"upgrade_{name}" for name in changed)
        does = "does" if len(changed) == 1 else "do"
        said = f"{named} {does} nothing without a start time: the {deed.value} starts at once, and no window ends it."
        yield remark("window_without_start", said, "Give upgrade_at if it is to start in a window.")


@as_verdict
def judge_held(schedule: Schedule | None, now: datetime, deed: Deed = Deed.UPGRADE) -> Iterator[Reason]:
    """A remark if what has commenced is given a start time that is still to come, which does not hold it back."""
    if schedule is not None and schedule.policy is not WindowEnd.PAUSE and now < schedule.at:
        yield remark(
            "start_without_effect",
            f"A batch of the {deed.value} has started, so it continues at once, not at {timestamp_text(schedule.at)}.",
            "To have it wait, give upgrade_window_policy=pause, or pause it with the playbook pause.",
        )


@as_verdict
def judge_start(
    schedule: Schedule | None,
    now: datetime,
    *,
    commenced: bool,
    predicted: float | None = None,
    deed: Deed = Deed.UPGRADE,
) -> Iterator[Reason]:
    """Whether the upgrade may start now. `predicted` are the seconds that it will take, if that is known.

    One that has `commenced` (one of its batches has started) may continue at any time, unless it is to pause. `deed` is
    the kind of work, for the sentences.
    """
    if schedule is None or (commenced and schedule.policy is not WindowEnd.PAUSE):
        return
    if now < schedule.at:
        left, does = duration((schedule.at - now).total_seconds()), "continues" if commenced else "starts"
        said = f"The {deed.value} {does} at {timestamp_text(schedule.at)}, in {left}."
        yield waiting("starts_later", said, "Run the playbook again at that time.")
    elif now >= schedule.end and commenced:
        yield closed(schedule.end)
    elif now >= schedule.end and schedule.policy is not WindowEnd.OPEN:
        yield over(schedule.end, deed)
    elif schedule.policy is WindowEnd.MUST_FIT and predicted and now + timedelta(seconds=predicted) > schedule.end:
        yield refused(
            "window_too_short",
            f"The {deed.value} is predicted to take {duration(predicted)}, and its window ends at"
            f" {timestamp_text(schedule.end)}, in {duration((schedule.end - now).total_seconds())}.",
            "Give a longer window (upgrade_window), or the policy start_only (upgrade_window_policy), with which it"
            " continues after the window.",
        )


def over(end: datetime, deed: Deed) -> Reason:
    """The reason of a run whose window ended before its first batch."""
    return refused(
        WINDOW_OVER,
        f"The window for the start of the {deed.value} ended at {timestamp_text(end)}, and no batch had begun then.",
        "Choose another time (upgrade_at), or a longer window (upgrade_window).",
    )


def to_end(verdict: Verdict) -> Verdict:
    """The verdict on the start of an upgrade that earlier runs have prepared. After its window a run has to end it.

    Its first step refuses then, so that what was prepared is put back and the upgrade is recorded as failed.
    """
    return Verdict(
        tuple(
            remark(WINDOW_OVER, f"{each.message} This run puts back what earlier ones have prepared, and ends it.")
            if each.code == WINDOW_OVER
            else each
            for each in verdict.reasons
        )
    )


def is_late(schedule: Schedule, now: datetime) -> bool:
    """Whether it should have started by now, so that the delay is reported: part of its window is over."""
    return schedule.reports_delay and schedule.at + schedule.window * LATE_AFTER <= now < schedule.end


def to_fix(verdict: Verdict) -> Verdict:
    """The verdict on a plan that starts later: a refusal is a remark, since there is time to fix its cause."""
    return Verdict(
        tuple(
            replace(each, state=State.PASSED, message=f"{TO_FIX}{each.message}")
            if each.state is State.REFUSED
            else each
            for each in verdict.reasons
        )
    )


def closed(end: datetime) -> Reason:
    """The reason of a run that pauses because its window has ended."""
    return waiting(
        "window_closed",
        f"The window ended at {timestamp_text(end)}, so no further batch is begun.",
        "It continues in the next window: run the playbook then, with upgrade_at in that window.",
    )


@as_verdict
def judge_patience(schedule: Schedule, now: datetime, deed: Deed = Deed.UPGRADE) -> Iterator[Reason]:
    """Whether the start is near enough for a run to wait for it."""
    left = (schedule.at - now).total_seconds()
    if left > LONGEST_WAIT:
        yield refused(
            "starts_too_late",
            f"The {deed.value} starts at {timestamp_text(schedule.at)}, in {duration(left)}, and a run waits"
            f" for its start {duration(LONGEST_WAIT)} at most.",
            "Run the playbook again at that time, or make single passes (upgrade_wait=false).",
        )
