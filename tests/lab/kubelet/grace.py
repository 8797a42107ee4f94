"""The time a pod is given to stop; a second deletion may shorten it while it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

CHECK = 0.2


class Grace:
    """Counts down from its making, in seconds."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def shorten(self, seconds: float) -> None:
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def prolong(self, seconds: float) -> None:
        """Make sure that at least this many seconds are left."""
        self._deadline = max(self._deadline, time.monotonic() + seconds)

    def remaining(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    async def covers(self, work: Coroutine[Any, Any, object]) -> bool:
        """Whether the work ended before the time was up; cancels it if not."""
        task = asyncio.ensure_future(work)
        while not task.done() and (left := self.remaining()) > 0:
            await asyncio.wait({task}, timeout=min(left, CHECK))
        if task.done():
            task.result()
            return True
        task.cancel()
        return False
