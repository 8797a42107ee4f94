"""The lab's one way of waiting for a condition, blocking and asynchronous."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from typing import TypeVar

from tests.lab.errors import LabError

Found = TypeVar("Found")
INTERVAL, SHARE = 0.05, 0.02
"""Seconds between two looks, or a share of the time waited so far if that is more. On a virtual clock looks are all
that a wait costs."""


class RealClock:
    """The clock of this machine, for tasks that wait."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        time.sleep(seconds)


def moment(seconds: float) -> str:
    """The time so many seconds from now, as RFC 3339 writes it."""
    return datetime.fromtimestamp(time.time() + seconds, timezone.utc).isoformat(timespec="seconds")


def until(what: str, look: Callable[[], Found | None], timeout: float) -> Found:
    """Look until the answer is truthy, and give it. Raises LabError naming `what` after `timeout` seconds."""
    began = time.monotonic()
    while not (found := look()):
        waited = time.monotonic() - began
        if waited > timeout:
            raise LabError(f"{what} did not happen within {timeout:g} s (last seen: {found!r}); read the lab's logs.")
        time.sleep(max(INTERVAL, SHARE * waited))
    return found


async def eventually(what: str, look: Callable[[], Awaitable[Found]], timeout: float) -> Found:
    """Like `until`, for use inside the daemon's event loop."""
    deadline = time.monotonic() + timeout
    while not (found := await look()):
        if time.monotonic() > deadline:
            raise LabError(f"{what} did not happen within {timeout:g} s; read the lab's logs.")
        await asyncio.sleep(INTERVAL)
    return found


async def happens(event: asyncio.Event, timeout: float) -> bool:
    """Wait at most `timeout` seconds for the event; give whether it happened."""
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except asyncio.TimeoutError:
        return False
    return True
