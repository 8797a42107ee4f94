"""Long tasks: a stand-in for a reindex, which copies nothing and lasts until it is cancelled or its member goes."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.model import Member


@dataclass
class Running:
    """One task, on the process that coordinates it."""

    number: int
    member: Member
    action: str
    description: str
    began: float

    @property
    def id(self) -> str:
        """The id, as the servers write it."""
        return f"{self.member.id}:{self.number}"

    def body(self, now: float) -> dict[str, Any]:
        """The task in an answer."""
        return {
            "node": self.member.id,
            "id": self.number,
            "type": "transport",
            "action": self.action,
            "description": self.description,
            "start_time_in_millis": round(self.began * 1000),
            "running_time_in_nanos": round((now - self.began) * 1e9),
            "cancellable": True,
            "cancelled": False,
            "headers": {},
        }


class Tasks:
    """The tasks of all members."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(101)
        self._running: dict[str, Running] = {}

    def begin(self, member: Member, action: str, description: str, seconds: float | None = None) -> Running:
        """Start one; without `seconds` it lasts until it is ended."""
        task = Running(next(self._numbers), member, action, description, self._clock.now())
        self._running[task.id] = task
        if seconds is not None:
            self._clock.later(seconds, lambda: self._over(task.id))
        return task

    def _over(self, identity: str) -> None:
        self._running.pop(identity, None)

    def end(self, identity: str) -> Running | None:
        """End one; gives it, if there was one."""
        return self._running.pop(identity, None)

    def of(self, members: Collection[Member]) -> list[Running]:
        """Those that run on these processes; what ran on one that has ended is gone."""
        self._running = {identity: task for identity, task in self._running.items() if task.member.alive}
        return [task for task in self._running.values() if task.member in members]
