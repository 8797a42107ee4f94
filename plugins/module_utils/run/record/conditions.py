"""The conditions of an upgrade, one for each of its steps: its progress when it was last looked at. Pure.

The past upgrades of a cluster have the version, the phase, the times of the whole and of its members, and the
conditions. `status.history` of an UpgradeConfig shows them; its `worker` times are those of the members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from ...common.words import shortened
from .figures import timestamp

LONGEST = 1000
"""Characters of a message that are kept."""
KEPT_UPGRADES = 20
"""Upgrades that are kept, the newest."""


class FailureClass(str, Enum):
    """The class of an error with which a step has failed. Each class has a budget of its own."""

    FAILED = "failed"
    UNREACHABLE = "unreachable"
    """A host or a server gave no answer."""


class StepState(str, Enum):
    """The state of a step."""

    STARTED = "started"
    IN_PROGRESS = "in_progress"
    """It is not done, or it has failed; the next pass runs it again."""
    COMPLETED = "completed"
    SKIPPED = "skipped"
    """The upgrade continues without it, and does not try it again. It counts as completed."""


NOT_BEGUN = "pending"
"""The word for a known step that no record has yet."""
DONE = (StepState.COMPLETED, StepState.SKIPPED)


@dataclass(frozen=True)
class Condition:
    """The condition of one step, in the words of Kubernetes. Times are texts; one that has not come is empty."""

    type: str
    """The name of the step."""
    status: str
    """`True` if the step is completed, else `False`."""
    reason: str
    """The state of the step."""
    message: str
    start_time: str
    """The time at which it was first started in this upgrade."""
    complete_time: str
    """The time at which it was completed."""
    last_probe_time: str
    """The time at which it was last looked at."""
    last_transition_time: str
    """The time at which its status last changed."""
    failed: int = 0
    unreachable: int = 0
    """How often it has failed since it was last completed, by the class of the error."""
    cause: str = ""
    """The reason of the upgrade, if that is why this part of it is not completed. It is not in the message."""

    def failures(self, failure: FailureClass) -> int:
        """How often it has failed with an error of this class."""
        return self.failed if failure is FailureClass.FAILED else self.unreachable


def after_step(
    conditions: Sequence[Condition],
    name: str,
    state: StepState,
    message: str,
    at: str,
    failure: FailureClass | None = None,
) -> tuple[Condition, ...]:
    """The conditions once a step has come to a state, or has failed once more.

    A failure that is noted again with the same time and message is the same one: the answer to the first note was lost.
    Every pass runs every step again. So a completed step that is started again stays completed until the new result is
    known.
    """
    before = next((each for each in conditions if each.type == name), None)
    if before is None:
        before = Condition(name, "False", StepState.STARTED.value, "", at, "", at, at)
        conditions = (*conditions, before)
    if state is StepState.STARTED and before.status == "True":
        after = replace(before, last_probe_time=at)
    else:
        done = state in DONE
        status = "True" if done else "False"
        changed, said = status != before.status, shortened(message, LONGEST)
        again = (before.reason, before.message, before.last_probe_time) == (state.value, said, at)
        failure = None if again else failure
        after = replace(
            before,
            status=status,
            reason=state.value,
            message=said,
            complete_time=(at if changed else before.complete_time) if status == "True" else "",
            last_probe_time=at,
            last_transition_time=at if changed else before.last_transition_time,
            failed=0 if done else before.failed + (failure is FailureClass.FAILED),
            unreachable=0 if done else before.unreachable + (failure is FailureClass.UNREACHABLE),
        )
    return tuple(after if each.type == name else each for each in conditions)


def taken_since(conditions: Sequence[Condition], since: str) -> tuple[Condition, ...]:
    """The conditions of the steps that are completed, or that were looked at since that time."""
    return tuple(each for each in conditions if each.status == "True" or each.last_probe_time >= since)


def step_progress(conditions: Sequence[Condition], name: str, now: datetime) -> dict[str, Any]:
    """The seconds since which a step is not completed, and how often it failed, by class; zeros for what is unknown.

    For a step that the upgrade continues without, `skipped` has the cause.
    """
    found = next((each for each in conditions if each.type == name), None)
    if found is None:
        return {"unfinished_seconds": 0, **{each.value: 0 for each in FailureClass}}
    since = timestamp(found.last_transition_time) or now
    seconds = 0 if found.status == "True" else max(0, int((now - since).total_seconds()))
    skipped = {"skipped": found.message} if found.reason == StepState.SKIPPED.value else {}
    return {"unfinished_seconds": seconds, **{each.value: found.failures(each) for each in FailureClass}, **skipped}


@dataclass(frozen=True)
class Upgrade:
    """One upgrade. Times are in RFC 3339, and empty before they have come."""

    version: str
    phase: str
    started: str
    completed: str = ""
    """The time at which it was completed; empty if it ended otherwise."""
    members_started: str = ""
    """The time at which its first batch started."""
    members_completed: str = ""
    """The time at which its last batch was done."""
    conditions: tuple[Condition, ...] = ()
    """See `milestones.conditions_of`; empty in a record that was written before they were kept."""
    preceding: str = ""
    """The version before the upgrade; empty if not known."""

    def is_of(self, version: str, started: str) -> bool:
        """Whether it is the upgrade to this version that began at that time."""
        return (self.version, self.started) == (version, started)


def with_upgrade(earlier: Sequence[Upgrade], now: Upgrade) -> tuple[Upgrade, ...]:
    """All upgrades, the present one last. It is continued until it is completed or another version is wanted."""
    last = earlier[-1] if earlier else None
    goes_on = last is not None and not last.completed and last.version == now.version
    if last is None or not (goes_on or last.is_of(now.version, now.started)):
        return (*earlier, now)[-KEPT_UPGRADES:]
    return (*earlier[:-1], replace(now, preceding=now.preceding or last.preceding))
