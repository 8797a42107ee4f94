# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds together what must run as long as the lab does: when one part ends, the lab ends, and says why."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from tests.lab.processes import Process


class Supervisor:
    """The lab's tasks and its control plane's processes."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.reason = ""
        self._processes: list[Process] = []
        self._tasks: list[asyncio.Task[object]] = []

    def stop(self, reason: str) -> None:
        """Ask for the end; the first reason counts."""
        self.reason = self.reason or reason
        self.stopping.set()

    def watch_over(self, work: Coroutine[Any, Any, object], what: str) -> None:
        """Run something that must not end before the lab does."""
        task: asyncio.Task[object] = asyncio.create_task(work)
        self._tasks.append(task)

        def ended(finished: asyncio.Task[object]) -> None:
            if not finished.cancelled():
                self.stop(f"{what} ended: {finished.exception() or finished.result()!r}")

        task.add_done_callback(ended)

    def add(self, process: Process) -> None:
        """A component of the control plane has started."""
        self._processes.append(process)
        self.watch_over(process.wait(), process.record.name)

    async def end(self) -> None:
        """Cancel the tasks and kill the processes."""
        for task in self._tasks:
            task.cancel()
        for process in self._processes:
            process.signal(signal.SIGKILL)
            await process.wait()
