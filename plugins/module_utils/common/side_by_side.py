# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several pieces of work of one task at the same time, where each waits for another server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Any

from .errors import refusal
from .task import Guard, Outcome, Task, attempt
from .waiting import Waited


@dataclass(frozen=True)
class Part:
    """A piece of work and its arguments."""

    run: Callable[[Task], Outcome]
    params: Mapping[str, Any]


class _UntilStopped:
    """The guard of the task, and the end of the whole."""

    def __init__(self, stopped: Event, guard: Guard | None) -> None:
        self._stopped = stopped
        self._guard = guard

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        self._unless_stopped()
        if self._guard is not None:
            self._guard.before_look(doing, stoppable)

    def before_act(self) -> None:
        """See `Guard`."""
        self._unless_stopped()
        if self._guard is not None:
            self._guard.before_act()

    def _unless_stopped(self) -> None:
        if self._stopped.is_set():
            raise refusal("interrupted", "The task was interrupted.", "Run again.")


def side_by_side(task: Task, parts: Sequence[Part]) -> list[Outcome]:
    """The outcome of each part, in their order; a `Refusal` raised in a part is its verdict.

    The acts of all stand in the one journal of the task: `changed` of a refused part is not of its own acts alone.

    What interrupts the task (a signal, its timeout) stops every part before its next look or act, and then goes on.
    """
    stopped, speaking = Event(), Lock()

    def progress(line: str) -> None:
        with speaking:
            task.progress(line)

    def begin(part: Part) -> tuple[Outcome, Waited]:
        own = replace(
            task,
            params=part.params,
            progress=progress,
            guard=_UntilStopped(stopped, task.guard),
            waited=Waited(),
        )
        return attempt(part.run, own), own.waited

    with ThreadPoolExecutor(max_workers=max(1, len(parts))) as pool:
        try:
            done = [future.result() for future in [pool.submit(begin, part) for part in parts]]
        except BaseException:
            stopped.set()
            raise
    for _outcome, waited in done:
        task.waited.seconds.update(waited.seconds)
    return [outcome for outcome, _waited in done]
