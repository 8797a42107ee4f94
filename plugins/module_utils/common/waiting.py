"""The one way to wait: with a reason and a deadline, and showing at every look what is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from .errors import NoConnection, Refusal, Unreachable
from .verdict import Reason, State, Verdict, refused
from .voice import Stages, Voice, Waiting

Look = TypeVar("Look")

Remaining = Mapping[str, tuple[float, ...]]
"""The amount that is left to wait for, by the code of the reason. A smaller tuple than any before is progress."""

FIRST_ANSWER = 5.0
"""Seconds within which a server must accept a connection at the first look of a task that has changed nothing yet."""
SILENCE = 3.0
"""Seconds without an answer after which the cause and its fix are reported, while the wait goes on."""

STEADY, GROWTH, LONGEST_PAUSE = 30.0, 0.02, 5.0
"""Seconds without a change after which pauses grow, the share of further seconds that a pause is, and its limit."""

INSTANT = 1e-6
"""Seconds too short to sleep: a floating-point clock might not move at all."""


class Clock(Protocol):
    """Time as seen by waiting; replaced by virtual time in tests."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""


class MonotonicClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


def pause(seconds: float, clock: Clock | None = None) -> None:
    """Let the time pass between two tries of something that is not looked at until then."""
    (clock or MonotonicClock()).sleep(seconds)


@dataclass(frozen=True)
class Patience:
    """The time to wait for a verdict to pass, and between two looks, in seconds."""

    timeout: float
    sleep: float = 1.0
    pace: float = 0.0
    """Minimum pause after a look, as a multiple of the look's duration."""
    hands_back: bool = False
    """Whether a timeout gives `waiting` instead of a refusal, because the caller can act on it."""
    hands_back_after: float | None = None
    """Seconds after which `waiting` is given in the same way. Only time with an answer counts, since no one can act
    without one."""
    in_vain: Callable[[], bool] | None = None
    """Called after each look that says to wait. True means that only the caller can act, so the verdict is given
    at once."""
    limit: float | None = None
    """The most seconds of the whole wait, even if it makes progress."""
    remaining: Callable[[Any], Remaining] | None = None
    """Gives from a look how much is left to wait for. Whenever that is less than ever, the timeout starts again."""
    stages: Stages = field(default_factory=Stages)
    """The stages that are shown by their words."""
    first_answer: float | None = None
    """Seconds within which a server must accept a connection at first, so that a wrong address is reported at once."""
    since: float | None = None
    """The time of the clock from which the seconds that are shown count; None for the start of the wait."""

    def in_words(self, verdict: Verdict, seconds: float) -> Waiting:
        """The verdict after so many seconds in the words of a voice."""
        reasons = " ".join(reason.message for reason in verdict.deciding())
        return Waiting(reasons, seconds, self.stages.word(verdict), self.stages.usually)

    def pause_after(self, took: float, unchanged: float = 0.0) -> float:
        """Seconds until the next look. The duration of the last look counts as part of the sleep.

        While the reasons stay the same for long (`unchanged`, seconds) the pauses grow: a server that takes half an
        hour is not asked four times a second, and a change is seen late by at most a fiftieth of the wait.
        """
        return max(self.sleep - took, self.pace * took, min((unchanged - STEADY) * GROWTH, LONGEST_PAUSE))


@dataclass
class Waited:
    """The reasons that were waited for, and how long. It becomes `waited` in the result."""

    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    """Seconds by code and by the first message of that code."""
    present: str = ""
    """The message of what is waited for now."""
    _first: dict[str, str] = field(default_factory=dict)

    def during(self, verdict: Verdict, seconds: float) -> None:
        """Count seconds for each code that decides, once for each code, however many things have it."""
        keys = {
            (reason.code, self._first.setdefault(reason.code, reason.message)): None for reason in verdict.deciding()
        }
        for key in keys:
            self.seconds[key] = self.seconds.get(key, 0.0) + seconds

    def also(self, parts: Sequence[Waited]) -> None:
        """Count the waits of parts that have run at the same time: seconds for one reason count once."""
        longest: dict[tuple[str, str], float] = {}
        for part in parts:
            for key, seconds in part.seconds.items():
                longest[key] = max(seconds, longest.get(key, 0.0))
        for key, seconds in longest.items():
            self.seconds[key] = self.seconds.get(key, 0.0) + seconds

    def as_result(self) -> list[dict[str, Any]]:
        """Plain data, the longest first."""
        ordered = sorted(self.seconds.items(), key=lambda item: -item[1])
        return [
            {"code": code, "message": message, "seconds": round(seconds, 1)} for (code, message), seconds in ordered
        ]


def wait_for(
    look: Callable[[], Look],
    verdict_of: Callable[[Look], Verdict],
    patience: Patience,
    clock: Clock,
    voice: Voice,
    waited: Waited | None = None,
) -> tuple[Look, Verdict]:
    """Look until the verdict is passed or refused, or time runs out.

    The result is the last look and its verdict. When time runs out, the waiting reasons become a refusal: their
    sentences, the time spent, and what to do. An API that is out of reach is waited for like any other reason.

    Raises:
        Refusal: the API was out of reach at the end (`Unreachable` if `patience.hands_back`), so there is no last look.
    """
    start = looked_at = clock.now()
    deadline = _Deadline(patience, start)
    before, waited = Verdict(), Waited() if waited is None else waited
    waited.present, quiet = "", _SilentDisplay(patience, voice, start)
    while True:
        found, began = None, clock.now()
        try:
            found = (look(),)
            verdict = verdict_of(found[0])
            quiet.answered()
        except Unreachable as error:
            verdict = quiet.still(error, clock.now())
        since, looked_at = clock.now() - looked_at, clock.now()
        waited.during(before, since)
        before = verdict
        if found and (verdict.state is not State.WAITING or deadline.hands_back(since)):
            return found[0], verdict
        if found and patience.remaining:
            deadline.renew(verdict, patience.remaining(found[0]), clock.now())
        time_left = deadline.seconds_left(clock.now())
        if time_left <= INSTANT:
            end = verdict if patience.hands_back else _timed_out(verdict, deadline.why(clock.now()))
            if found is None:
                raise quiet.error if quiet.error and patience.hands_back else Refusal(*end.reasons)
            return found[0], end
        shown = patience.in_words(verdict, clock.now() - (start if patience.since is None else patience.since))
        waited.present = shown.reason
        voice.waits(shown)
        if found and patience.in_vain is not None and patience.in_vain():
            return found[0], verdict
        pause = min(patience.pause_after(looked_at - began, deadline.unchanged(verdict, looked_at)), time_left)
        if pause > INSTANT:
            clock.sleep(pause)


class _SilentDisplay:
    """The time without an answer: it is reported with its fix, and ends the wait if no server ever answered."""

    def __init__(self, patience: Patience, voice: Voice, start: float) -> None:
        self._patience = patience
        self._voice = voice
        self._since: float | None = start
        self._ever = self._reported = False
        self.error: Unreachable | None = None
        """The last one."""

    def answered(self) -> None:
        """A look has given something."""
        self._ever, self._since, self._reported = True, None, False

    def still(self, error: Unreachable, now: float) -> Verdict:
        """A look has given nothing. The verdict waits.

        Raises:
            Refusal: no server has ever accepted a connection, and the time for the first answer is over.
        """
        self.error, self._since = error, now if self._since is None else self._since
        first = self._patience.first_answer
        if not isinstance(error, NoConnection):
            self._ever = True
        elif first is not None and not self._ever and now - self._since >= first - INSTANT:
            raise Refusal(*error.verdict.reasons)
        if not self._reported and now - self._since >= SILENCE and (first is None or self._ever):
            self._reported = True
            self._voice.progress(" ".join(reason.sentence() for reason in error.verdict.reasons))
        return error.as_waiting()


class _Deadline:
    """The end of a wait: its timeout after the last progress, and at the latest its limit."""

    def __init__(self, patience: Patience, start: float) -> None:
        self._patience = patience
        self._start = self._advanced = self._changed = start
        self._reasons: frozenset[Reason] = frozenset()
        self._least: dict[str, tuple[float, ...]] = {}
        self._heard = 0.0

    def unchanged(self, verdict: Verdict, now: float) -> float:
        """Seconds since the reasons of the verdict have changed, or something has advanced."""
        reasons = frozenset(verdict.deciding())
        if reasons != self._reasons:
            self._reasons, self._changed = reasons, now
        return now - max(self._changed, self._advanced)

    def renew(self, verdict: Verdict, remaining: Remaining, now: float) -> None:
        """Restart the timeout if less than ever is left of something that the verdict waits for."""
        for code in {reason.code for reason in verdict.deciding()} & remaining.keys():
            if code in self._least and remaining[code] < self._least[code]:
                self._advanced = now
            self._least[code] = min(remaining[code], self._least.get(code, remaining[code]))

    def hands_back(self, seconds: float) -> bool:
        """Whether the verdict is given as it is now. `seconds` with an answer have passed since the last call."""
        self._heard += seconds
        after = self._patience.hands_back_after
        return after is not None and self._heard >= after - INSTANT

    def seconds_left(self, now: float) -> float:
        left = self._patience.timeout - (now - self._advanced)
        return left if self._patience.limit is None else min(left, self._patience.limit - (now - self._start))

    def why(self, now: float) -> Reason:
        """The reason that says which time is over, and what to do."""
        more = "and run again: finished work is kept."
        if now - self._advanced >= self._patience.timeout - INSTANT:
            message = f"This did not change within {now - self._advanced:.0f} s (wait_timeout)."
            return refused("timed_out", message, f"Fix the cause, or give more time with wait_timeout, {more}")
        message = f"This has not ended within {now - self._start:.0f} s, and no more time is left for it (wait_limit)."
        return refused("timed_out", message, f"Give more time with wait_limit, {more}")


def _timed_out(verdict: Verdict, why: Reason) -> Verdict:
    return Verdict(
        (
            *(replace(reason, state=State.REFUSED) for reason in verdict.deciding()),
            why,
            *(r for r in verdict.reasons if r.state is State.PASSED),
        )
    )
