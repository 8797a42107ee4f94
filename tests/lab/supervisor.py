"""Holds together what must run as long as the lab does: when one part ends, the lab ends, and says why."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from tests.lab.processes import Process

RESTART = 1.0
"""Seconds after which a component that ended because of another is started again."""


class Supervisor:
    """The lab's tasks and its control plane's processes."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.reason = ""
        self._processes: dict[str, Process] = {}
        self._tasks: list[asyncio.Task[object]] = []
        self._pauses: dict[str, float] = {}

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

    def add(self, start: Callable[[], Process]) -> None:
        """Start a component of the control plane; the lab ends with it."""
        process = start()
        self._processes[process.record.name] = process
        self.watch_over(self._until_it_ends(process.record.name, start), process.record.name)

    async def restart(self, name: str, pause: float) -> None:
        """Kill a component, and let it be started again after some seconds. The rest of the lab keeps running.

        Others that end because of that are started again too, as the kubelet does it with the pods of a control plane.
        """
        self._pauses[name] = pause
        self._processes[name].signal(signal.SIGKILL)
        await self._processes[name].wait()

    async def _until_it_ends(self, name: str, start: Callable[[], Process]) -> int:
        while True:
            code = await self._processes[name].wait()
            if not self._pauses:
                return code
            await asyncio.sleep(self._pauses.get(name, RESTART))
            self._processes[name] = start()

    async def end(self) -> None:
        """Cancel the tasks and kill the processes."""
        for task in self._tasks:
            task.cancel()
        for process in self._processes.values():
            process.signal(signal.SIGKILL)
            await process.wait()
