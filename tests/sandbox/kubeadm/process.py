"""Commands that take time on a virtual clock, and that can be ended midway."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from tests.sandbox.clock import Clock


@dataclass(frozen=True)
class Ended:
    """The end of a command."""

    rc: int = 0
    stdout: str = ""
    stderr: str = ""


Steps = Generator[float, None, Ended]
"""A command: it yields the seconds until its next step, and returns its end."""
FOREVER = 3600.0


class Process:
    """A command under way. Its first step is taken at once."""

    def __init__(self, clock: Clock, steps: Steps) -> None:
        self._clock, self._steps = clock, steps
        self.ended: Ended | None = None
        """None while it goes on, and for ever once it was killed."""
        self._is_killed = False
        self._go()

    def kill(self) -> None:
        """It takes no further step."""
        self._is_killed = True
        self._steps.close()

    def _go(self) -> None:
        if self._is_killed:
            return
        try:
            seconds = next(self._steps)
        except StopIteration as end:
            self.ended = end.value
            return
        self._clock.later(seconds, self._go)


def after(seconds: float, ended: Ended) -> Steps:
    """A command that ends after so many seconds."""
    yield seconds
    return ended


def never() -> Steps:
    """A command that hangs."""
    while True:
        yield FOREVER
