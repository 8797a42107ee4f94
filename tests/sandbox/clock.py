"""Virtual time: it passes only when it is advanced, and what is due happens in order."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[], None]


class Clock:
    """Seconds since the epoch, for servers in memory and for the tasks that ask them.

    A task of the collection takes it as its clock: sleeping lets time pass.
    """

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._due: list[tuple[float, int, Action]] = []
        self._numbers = itertools.count()
        self.listeners: list[Action] = []
        """Called after each action that was due."""

    def now(self) -> float:
        """The present time."""
        return self._now

    def later(self, seconds: float, action: Action) -> None:
        """Let something happen after so many seconds; what is due at the same time happens in the order asked."""
        heapq.heappush(self._due, (self._now + seconds, next(self._numbers), action))

    def advance(self, seconds: float) -> None:
        """Let time pass. Each action that is due sees its own time."""
        end = self._now + seconds
        while self._due and self._due[0][0] <= end:
            moment, _number, action = heapq.heappop(self._due)
            self._now = max(self._now, moment)
            action()
            for listener in self.listeners:
                listener()
        self._now = max(self._now, end)

    sleep = advance
