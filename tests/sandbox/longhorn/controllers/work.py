"""The parts that every controller shares: a queue of things to look at, conditions, times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.objects import Json, Refused, timestamp
from tests.sandbox.longhorn.description import Durations
from tests.sandbox.longhorn.objects import Objects

AGAIN = 1.0
"""Until a controller that was refused tries again."""


class Queue:
    """Names to look at. Each is looked at once, however often it was asked for before that; none while it is `away`."""

    def __init__(self, clock: Clock, delay: float, look: Callable[[str], None]) -> None:
        self._clock, self._delay, self._look = clock, delay, look
        self._waiting: set[str] = set()
        self._missed: set[str] = set()
        self.away = False

    def add(self, name: str, seconds: float = 0.0) -> None:
        """Look at it soon, or after so many seconds more."""
        if seconds:
            self._clock.later(seconds, lambda: self.add(name))
        elif name not in self._waiting:
            self._waiting.add(name)
            self._clock.later(self._delay, lambda: self._do(name))

    def back(self) -> None:
        """Look at all that was missed."""
        self.away = False
        missed, self._missed = self._missed, set()
        for name in sorted(missed):
            self.add(name)

    def _do(self, name: str) -> None:
        self._waiting.discard(name)
        if self.away:
            self._missed.add(name)
            return
        try:
            self._look(name)
        except Refused as error:
            if error.code != 404:
                self.add(name, AGAIN)


@dataclass
class Shared:
    """The parts that all controllers of one Longhorn have in common."""

    objects: Objects
    durations: Durations
    dead: Callable[[str], bool]
    """Whether a Kubernetes node has no power, noticed or not."""
    closed: set[str] = field(default_factory=set)
    """Kubernetes nodes to which nothing is scheduled or rebuilt because Longhorn itself upgrades them (v1.13)."""

    def now(self) -> str:
        """The present time, as a status shows it."""
        return timestamp(self.objects.clock.now())

    def queue(self, look: Callable[[str], None]) -> Queue:
        """A queue of one controller."""
        return Queue(self.objects.clock, self.durations.control, look)


def set_condition(holder: Json, type_: str, status: str, now: str, reason: str = "", message: str = "") -> None:
    """Write a condition as Longhorn does; its time changes only with its status."""
    found = holder.get("conditions")
    conditions: list[Json] = found if isinstance(found, list) else []
    holder["conditions"] = conditions
    before = next((each for each in conditions if each["type"] == type_), None)
    since = before["lastTransitionTime"] if before is not None and before["status"] == status else now
    said = {"type": type_, "status": status, "reason": reason, "message": message}
    said |= {"lastTransitionTime": since, "lastProbeTime": ""}
    if before is None:
        conditions.append(said)
    else:
        before.update(said)


def condition(holder: Json, type_: str) -> str:
    """The status of a condition; empty if there is none."""
    found = holder.get("conditions") or []
    return next((str(each["status"]) for each in found if each["type"] == type_), "")
