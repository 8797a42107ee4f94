"""The phases that the seconds of an upgrade went into, the same for every way. Pure: no client, no clock.

The time from start to end is divided completely: before the first member, each member's phases, after the last.
All times are seconds of the monotonic clock.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.figures import MemberTime
from tests.lab.traffic.records import Health


@dataclass(frozen=True)
class Look:
    """The cluster's own view at one time: which members it has, and whether it may allocate everything."""

    at: float
    members: Mapping[str, str]
    """Name → the id that a member gives itself anew at each start."""
    restricted: bool


@dataclass(frozen=True)
class Phases:
    """Seconds for one member; what did not happen before the next member was taken lasts until then."""

    stop: float
    """From the request to stop until its processes had ended."""
    start: float
    """Until Ready."""
    join: float
    """Until the cluster had it again."""
    allocation: float
    """Until everything could be allocated again."""
    green: float
    """Until the cluster was green."""
    rest: float
    """Until the next member was asked to stop; 0 for the last one."""


@dataclass(frozen=True)
class Course:
    """The time of one upgrade by phases. Seconds."""

    before: float
    """Until the first member was asked to stop."""
    members: Mapping[str, Phases]
    """In the order of their replacement."""
    after: float
    """From green with the last member back until the end."""

    def a_member(self) -> dict[str, float]:
        """Part → seconds, divided by the number of members; the parts add up to the whole time."""
        count = max(len(self.members), 1)
        parts = {"before": self.before / count}
        for name in PHASES:
            parts[name] = sum(getattr(phases, name) for phases in self.members.values()) / count
        return {**parts, "after": self.after / count}


PHASES = ("stop", "start", "join", "allocation", "green", "rest")


def course(
    times: Sequence[MemberTime], looks: Sequence[Look], samples: Sequence[Health], began: float, ended: float
) -> Course:
    """The course of an upgrade from the times when its members were replaced and the looks at the cluster."""
    if not times:
        return Course(ended - began, {}, 0.0)
    free = [(look.at, not look.restricted) for look in looks]
    green = [(sample.at, sample.status == "green") for sample in samples]
    members: dict[str, Phases] = {}
    rest = 0.0
    for time, limit in zip(times, [*(one.asked for one in times[1:]), ended], strict=True):
        marks = [time.asked]
        for moment in (time.stopped, time.ready, joined(looks, time.name, time.asked)):
            marks.append(_after(marks, moment, limit))
        for states in (free, green):
            marks.append(_after(marks, true_from(states, marks[-1]), limit))
        stop, start, join, allocation, healing = (later - earlier for earlier, later in itertools.pairwise(marks))
        rest = limit - marks[-1]
        members[time.name] = Phases(stop, start, join, allocation, healing, rest)
    last = times[-1].name
    members[last] = replace(members[last], rest=0.0)
    return Course(times[0].asked - began, members, rest)


def _after(marks: Sequence[float], moment: float | None, limit: float) -> float:
    """The next mark: not before the last one, not after the limit, and the limit for what has not happened."""
    return limit if moment is None else min(max(marks[-1], moment), limit)


def joined(looks: Sequence[Look], member: str, asked: float) -> float | None:
    """The time when the cluster was first seen with the member after its restart; None if it never was."""
    former = next((look.members[member] for look in reversed(looks) if look.at < asked and member in look.members), "")
    return next((look.at for look in looks if look.at >= asked and look.members.get(member, former) != former), None)


def true_from(states: Sequence[tuple[float, bool]], since: float) -> float | None:
    """The first time, from `since` on, at which something was true: `since` itself, if it was true already."""
    if next((true for at, true in reversed(states) if at <= since), False):
        return since
    return next((at for at, true in states if at > since and true), None)
