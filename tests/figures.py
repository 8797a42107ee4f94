"""The time that each member was away, from the kubelet's own log. Pure: no client, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MemberTime:
    """The times at which a member was asked to stop, had stopped, and was Ready again, as the kubelet saw it.

    Monotonic seconds.
    """

    name: str
    asked: float
    stopped: float
    ready: float

    @property
    def stop(self) -> float:
        """Seconds from the request to stop until its processes had ended."""
        return self.stopped - self.asked

    @property
    def start(self) -> float:
        """Seconds from there until Ready again."""
        return self.ready - self.stopped

    @property
    def away(self) -> float:
        """Seconds from the request to stop until Ready again."""
        return self.ready - self.asked


def member_times(events: Iterable[Mapping[str, Any]], namespace: str) -> tuple[MemberTime, ...]:
    """The members that were replaced, in the order of their replacement."""
    asked: dict[str, float] = {}
    stopped: dict[str, float] = {}
    found: list[MemberTime] = []
    for event in events:
        if event.get("namespace") != namespace:
            continue
        pod, at = event["pod"], float(event["monotonic"])
        if event["event"] == "pod-stop-requested":
            asked[pod] = at
        elif event["event"] == "pod-stopped":
            stopped[pod] = at
        elif event["event"] == "pod-ready" and pod in asked and pod in stopped:
            found.append(MemberTime(pod, asked.pop(pod), stopped.pop(pod), at))
    return tuple(found)
