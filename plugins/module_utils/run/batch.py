"""A batch that is under way, judged from the results of its tasks so far. Pure.

A member that is down is waited for even when the time of its batch is over: the limits only decide whether a further
member goes down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.verdict import State
from ..common.words import unique
from .record.batches import UNTOUCHED
from .record.events import EventKind
from .record.figures import timestamp
from .start.approvals import PAUSED

Result = Mapping[str, Any]
"""The result of a task."""

ALWAYS_HELD_BY = ("roll_soaked", "roll_begun")
"""The tasks that hold up a batch even in a run that waits: for a pause, an approval or a changed request."""
EARLIER = "roll_earlier"
"""The results of tasks that were repeated for the rest of their batch."""
KEPT = "batch_upgraded"
"""The code of a batch that another user or tool has upgraded."""
LONGEST = 2_147_483_647


@dataclass(frozen=True)
class OfHosts:
    """The members of a batch on hosts of the inventory."""

    started: Sequence[str]
    """Those on whose hosts everything has succeeded."""
    joined: Result
    """The result of the gate that waited for them; empty if it was not reached."""


@dataclass(frozen=True)
class BatchSoFar:
    """A batch and the results of its tasks."""

    batch: Mapping[str, Any]
    """The batch as the plan has it."""
    results: Sequence[tuple[str, Result]] = ()
    """Each result with the name under which it was registered, in the order of their tasks."""
    now: int = 0
    """The time, in seconds since 1970, like the next."""
    deadline: int = 0
    """The end of the time of the run; 0 without a limit."""
    timeout: int = 7200
    """The seconds of the batch after which no further member goes down."""
    waits: bool = True
    """Whether the run waits (`upgrade_wait`)."""
    hosts: OfHosts | None = None
    """None if its members are not on hosts of the inventory."""

    def held_up(self) -> list[Result]:
        """The reasons of the tasks that wait, if that holds the batch up.

        In a single pass nothing follows a task that waits, nor in any run a gate that a pause has ended. A task that is
        refused does not wait, whatever else it says: it is reported as a failure.
        """
        holding = [each for name, each in self.results if not self.waits or name in ALWAYS_HELD_BY or _is_paused(each)]
        waiting = State.WAITING.value
        return [
            reason
            for result in holding
            if result.get("verdict", {}).get("state") == waiting
            for reason in _reasons(result)
            if reason["state"] == waiting
        ]

    def rest(self) -> Sequence[str]:
        """The members that the system has not taken yet, as it had to take others first; empty if the batch waits."""
        found = [each["rest"] for _name, each in self.results if each.get("rest")]
        return [] if not found or self.held_up() else found[-1]

    def earlier(self) -> dict[str, Any]:
        """The results that the tasks for the rest of the batch will replace, after those that were replaced before."""
        replaced = [{**each, "rest": []} for _name, each in self.results if each.get("rest")]
        # The outcome of its members comes from the repeated task.
        replaced += [{**each, "late": {}, "members": []} for _name, each in self.results if each.get("late")]
        return {"results": [*(each for name, each in self.results if name == EARLIER), *replaced]}

    def upgraded(self) -> bool:
        """Whether the gate has found that another user or tool has upgraded the batch."""
        return KEPT in {reason["code"] for _name, result in self.results for reason in _reasons(result)}

    def seconds_left(self) -> int:
        """The seconds in which a further member may go down, at least 1."""
        until = self.began + (self.batch.get("timeout") or self.timeout)
        return min(max(until - self.now, 1), max(self.deadline - self.now, 1) if self.deadline else LONGEST)

    @property
    def began(self) -> int:
        """The time of its start; now if its start was refused or is yet to come."""
        return int(dict(self.results).get("roll_begun", {}).get("at") or self.now)

    def late(self) -> Result | None:
        """The report that the batch is late; None without one."""
        return next((each["late"] for _name, each in self.results if each.get("late")), None)

    def late_in(self) -> int | None:
        """Seconds until the batch is late, over all runs and passes; None if it is never late, or was reported."""
        after, known = (
            int(self.batch.get("late_after") or 0),
            dict(self.results).get("roll_begun", {}).get("record") or {},
        )
        tries = [one for each in known.get("batches", ()) for one in (*each["tries"], each)]
        started = [found.timestamp() for each in tries if (found := timestamp(each["started"])) is not None]
        since, late = min(started, default=self.began), [one for one in known.get("events", ()) if self._is_late(one)]
        if not after or any(found.timestamp() >= since for one in late if (found := timestamp(one["at"])) is not None):
            return None
        return max(0, round(since) + after - self.now)

    def _is_late(self, event: Result) -> bool:
        return event["kind"] == EventKind.LATE and event["about"] in self.batch["members"]

    def record(self) -> dict[str, Any]:
        """The options of the module that records the batch."""
        results = [each for _name, each in self.results]
        return {
            "results": self.members(),
            "waited": unique(each for result in results for each in result.get("waited", ())),
            "acts": unique(each for result in results for each in result.get("actions", ())),
            "health": next(filter(None, map(_health, results)), ""),
            "health_away": next((each["health_away"] for each in results if each.get("health_away")), ""),
            "green_seconds": self.green_seconds(),
        }

    def green_seconds(self) -> int | None:
        """The seconds from the end of the batch before until the gate found the cluster green; None if not known."""
        known = (each.get("green_seconds") for _name, each in self.results)
        return next((seconds for seconds in known if seconds is not None), None)

    def members(self) -> list[Result]:
        """The outcome of each member."""
        if self.hosts is not None:
            return self._members_on_hosts(self.hosts)
        found: dict[str, Result] = {}
        # Some modules name members without their outcome.
        named = (each for _name, result in self.results for each in result.get("members", ()))
        for each in (member for member in named if isinstance(member, Mapping)):
            if found.get(each["name"], {}).get("action", UNTOUCHED) == UNTOUCHED:
                found[each["name"]] = each
        return list(found.values())

    def _members_on_hosts(self, hosts: OfHosts) -> list[Result]:
        if self.upgraded():
            return [{"name": name, "action": "kept", "total_seconds": None} for name in self.batch["members"]]
        back = hosts.started if hosts.joined.get("verdict", {}).get("state") == State.PASSED.value else ()
        seconds = self.now - self.began
        return [{"name": name, "action": "restarted", "total_seconds": seconds} for name in back]


def _reasons(result: Result) -> Sequence[Result]:
    found: Sequence[Result] = result.get("verdict", {}).get("reasons", ())
    return found


def _is_paused(result: Result) -> bool:
    """Whether a person has paused the upgrade while the task waited."""
    return any(each["code"] == PAUSED for each in _reasons(result))


def _health(result: Result) -> str:
    before = result.get("before")
    return str(before.get("status", "")) if isinstance(before, Mapping) else ""
