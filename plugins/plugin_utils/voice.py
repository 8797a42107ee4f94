"""The voice of a task in the controller: lines that are masked, short and not too many, and a terminal's live line."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..module_utils.common.masking import masked
from ..module_utils.common.voice import Waiting
from ..module_utils.common.words import printable, shortened

LONGEST = 200
"""The most characters of a line at a terminal, its label included."""

LONGEST_IN_A_FILE = 4_000
"""The same in a file or in the events of AWX, which no one watches live."""

MOST = 20
"""The most lines of one task within `SPAN`; further ones are left out and counted."""

SPAN = 10.0
"""Seconds in which at most `MOST` lines are shown."""

SIGN_OF_LIFE = 15.0
"""Seconds of silence after which a log says what is waited for. Shorter waits appear only in a live line."""

LONG_SILENCE = 300.0
"""The most seconds of silence while the same thing is waited for: some pipelines end a job that writes nothing for ten
minutes."""

SHARE_OF_WAIT = 0.25
"""The share of a wait after which a log repeats it, so that a wait of hours does not fill the log."""

TURN = 0.1
"""Seconds between two states of the live line."""

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
DONE = "✔ "
GOING = "  "


class Output(Protocol):
    """The place where lines are shown."""

    def line(self, text: str, *, done: bool = False) -> None:
        """A line that stays; `done` says that something is done."""

    def live(self, text: str) -> None:
        """The one line at the end of a terminal that is written over; an empty text removes it."""


@dataclass(frozen=True)
class Label:
    """What a task is about, shown at the start of its lines."""

    place: str = ""
    """Such as `2/3` for the second of three batches, or the host in brackets."""
    members: str = ""
    """The members of the batch; empty if the task is about no batch."""

    def before(self, text: str, *, named: bool = False) -> str:
        """The text after the label; with `named`, the label has the members too."""
        place = f"{self.place} " if self.place else ""
        return f"{place}{self.members}   {text}" if named and self.members else f"{place}{text}"


def label_of(variables: Mapping[str, Any], *, own: bool) -> Label:
    """The label of a task, from the variables of its host; `own` is true for the collection's own tasks."""
    batch = variables.get("upgrade_batch")
    if isinstance(batch, Mapping) and batch.get("members"):
        first, *more = batch["members"]
        return Label(str(batch.get("place", "")), f"{first} and {len(more)} more" if more else str(first))
    return Label() if own else Label(f"[{variables.get('inventory_hostname', '')}]")


@dataclass
class Screen:
    """The terminal that the controller writes to."""

    width: int = 0
    """Columns for the live line; 0 if there is no terminal, or another output writes to it, too."""
    longest: int = LONGEST_IN_A_FILE
    """The most characters of a line."""


def width_of(environment: Mapping[str, str], columns: int) -> int:
    """The columns for the live line; 0 if the cursor cannot be moved, or no person watches this terminal.

    ansible-runner, and AWX through it, gives its child a terminal and makes events of all that it writes there. It
    always sets this variable (config/_base.py).
    """
    dumb = environment.get("TERM", "dumb") == "dumb"
    return 0 if dumb or "AWX_ISOLATED_DATA_DIR" in environment else columns


def longest_of(environment: Mapping[str, str], *, terminal: bool) -> int:
    """The most characters of a line."""
    return LONGEST if terminal and "AWX_ISOLATED_DATA_DIR" not in environment else LONGEST_IN_A_FILE


SCREEN = Screen()
"""Its width is set by the output plugin `concise`, the rest by the action plugins, before the workers are forked."""


class DisplayVoice:
    """Shows the lines of one task. `now` gives seconds on a clock that never goes back."""

    def __init__(
        self,
        output: Output,
        label: Label,
        secrets: Collection[str],
        screen: Screen = SCREEN,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._output = output
        self._label = label
        self._secrets = secrets
        self._width, self._longest = screen.width, screen.longest
        self._now = now
        self._said_at: deque[float] = deque(maxlen=MOST)
        self._last = self._waits_for = ""
        self._last_at = self._turned_at = now()
        self._turns = 0
        self._left_out = 0

    def progress(self, line: str) -> None:
        """See `module_utils.common.voice.Voice`. The same line is repeated only as a sign of life."""
        self._say(f"{GOING if self._label.members else ''}{self._label.before(self._clean(line))}")

    def done(self, line: str) -> None:
        """See `module_utils.common.voice.Voice`."""
        self._say(f"{DONE}{self._label.before(self._clean(line), named=True)}", done=True)

    def waits(self, waiting: Waiting) -> None:
        """See `module_utils.common.voice.Voice`."""
        at = self._now()
        if self._width and (not self._turns or at - self._turned_at >= TURN):
            self._turns, self._turned_at = self._turns + 1, at
            turn = SPINNER[self._turns % len(SPINNER)]
            text = self._label.before(self._clean(waiting.line()), named=True)
            self._output.live(shortened(f"{turn} {text}", self._width - 1))
        if not self._width and at - self._last_at >= self._silence(waiting):
            self._waits_for = waiting.stage or waiting.reason
            self._say(
                f"{GOING if self._label.members else ''}{self._label.before(self._clean(waiting.line()), named=True)}"
            )

    def _silence(self, waiting: Waiting) -> float:
        """Seconds of silence before this wait is shown; they grow with the time that the same thing is waited for."""
        if (waiting.stage or waiting.reason) != self._waits_for:
            return SIGN_OF_LIFE
        return max(SIGN_OF_LIFE, min(LONG_SILENCE, SHARE_OF_WAIT * waiting.seconds))

    def show(self, line: str) -> None:
        """See `module_utils.common.voice.Voice`."""
        self._output.line(printable(str(masked(line, self._secrets))).rstrip())
        self._last_at = self._now()

    def finish(self) -> None:
        """Remove the live line, and show how many of the last lines were left out, if any."""
        if self._turns:
            self._output.live("")
        if self._left_out:
            self._output.line(self._label.before(f"({self._left_out} lines left out)"))

    def _clean(self, line: str) -> str:
        # Masked first: a secret that was cut would not be found.
        return " ".join(printable(str(masked(line, self._secrets))).split())

    def _say(self, text: str, *, done: bool = False) -> None:
        at = self._now()
        if text == self._last and at - self._last_at < SIGN_OF_LIFE:
            return
        if len(self._said_at) == MOST and at - self._said_at[0] < SPAN:
            self._left_out += 1
            return
        count, self._left_out = self._left_out, 0
        self._last, self._last_at = text, at
        self._said_at.append(at)
        self._output.line(
            shortened(f"{text}{f' ({count} lines left out before)' if count else ''}", self._longest), done=done
        )
