"""The four kinds of messages of a task at work, whoever shows them, and however."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .verdict import Verdict
from .words import duration

USUAL = 60.0
"""Seconds that a stage is assumed to last if nothing was measured."""
TOO_LONG = 2.0
"""A stage that lasts longer than so many times the usual is shown with its reason."""


@dataclass(frozen=True)
class Stages:
    """The stages of a wait that are normal unless they take too long."""

    words: Mapping[str, str] = field(default_factory=dict)
    """The word for each stage, by the code of its reason, in the order of the stages."""
    usually: float | None = None
    """Seconds that all of them took the last time; None if that was not measured."""

    def word(self, verdict: Verdict) -> str:
        """The word of the earliest stage that is waited for; empty if anything else is waited for."""
        codes = {reason.code for reason in verdict.deciding()}
        return next((word for code, word in self.words.items() if code in codes), "") if codes <= {*self.words} else ""


@dataclass(frozen=True)
class Waiting:
    """The thing that is waited for now, and since when."""

    reason: str
    """The sentences of the reasons."""
    seconds: float
    stage: str = ""
    """The word of the stage; empty if this is not a stage."""
    usually: float | None = None

    def line(self) -> str:
        """The line that shows it."""
        since = f" {duration(self.seconds)}" if self.seconds >= 1 else ""
        if not self.stage:
            return f"waiting{since}: {self.reason}"
        if self.seconds > TOO_LONG * (self.usually or USUAL):
            usually = f"usually {duration(self.usually)}" if self.usually else "longer than expected"
            return f"waiting{since} ({usually}): {self.reason}"
        return f"{self.stage}{since}" + (f" (usually {duration(self.usually)})" if self.usually else "")


class Voice(Protocol):
    """The listener to a task."""

    def progress(self, line: str) -> None:
        """Something has happened."""

    def done(self, line: str) -> None:
        """A part of the whole is done."""

    def waits(self, waiting: Waiting) -> None:
        """Something is waited for. This is called at each look."""

    def show(self, line: str) -> None:
        """A line of a text, such as a plan, as it is."""


@dataclass
class Lines:
    """A voice that passes lines on. A wait gives a line when its stage or its reason changes."""

    take: Callable[[str], None] = lambda line: None
    _waits_for: str = ""

    def progress(self, line: str) -> None:
        """See `Voice`."""
        self.take(line)

    done = show = progress

    def waits(self, waiting: Waiting) -> None:
        """See `Voice`."""
        if (waiting.stage or waiting.reason) != self._waits_for:
            self._waits_for = waiting.stage or waiting.reason
            self.take(waiting.line())
