"""The condition MachineUpToDate of each machine of an upgrade task, and that of all of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ...common.reading import Json, text
from ...common.words import enumerate_few, shortened

UP_TO_DATE = "MachineUpToDate"
"""The type of the condition."""
LONGEST = 1000
"""Characters of a message."""


class MachineProgress(str, Enum):
    """The progress of one machine, which is the reason of its condition."""

    WAITING = "Waiting"
    IN_PROGRESS = "ExternalUpgradeInProgress"
    FAILED = "ExternalUpgradeFailed"
    DONE = "UpToDate"


KEPT = frozenset(
    {
        (MachineProgress.IN_PROGRESS, MachineProgress.WAITING),
        (MachineProgress.FAILED, MachineProgress.WAITING),
    }
)
"""The transitions that are not made. A machine that may be half upgraded does not wait again because a later run has
planned it anew: it stays as it was until that run works on it."""


@dataclass(frozen=True)
class UpToDate:
    """The condition of one machine. Times are texts."""

    machine: str
    progress: MachineProgress
    message: str
    since: str
    """The time since which it has this progress."""
    undrained: bool = False
    """Whether it failed before its drain, so that it serves as before and no one should replace it."""

    @property
    def status(self) -> str:
        """The status in the words of Kubernetes.

        It is False only after a failure once the drain has started: a MachineHealthCheck looks at the status and not
        at the reason, and replaces the machine (cluster-api, `machinehealthcheck_targets.go`, `machineChecks`).
        """
        if self.undrained and self.progress is MachineProgress.FAILED:
            return "Unknown"
        return _STATUS.get(self.progress, "Unknown")

    def as_condition(self) -> dict[str, str]:
        """The condition as objects of Kubernetes have it."""
        return {
            "type": UP_TO_DATE,
            "status": self.status,
            "reason": self.progress.value,
            "message": self.message,
            "lastTransitionTime": self.since,
        }


def condition_in(machine: str, item: Json) -> UpToDate | None:
    """The condition of a machine as an object has it; None if it is of another type or has a reason of no run."""
    known = {each.value: each for each in MachineProgress}
    if text(item, "type", "") != UP_TO_DATE or text(item, "reason", "") not in known:
        return None
    progress = known[text(item, "reason")]
    undrained = progress is MachineProgress.FAILED and text(item, "status", "") == "Unknown"
    return UpToDate(machine, progress, text(item, "message", ""), text(item, "lastTransitionTime", ""), undrained)


def moved(before: UpToDate | None, now: UpToDate) -> UpToDate:
    """The condition after what is known now. It keeps its time as long as its progress stays the same."""
    now = replace(now, message=shortened(now.message, LONGEST))
    if before is None:
        return now
    if (before.progress, now.progress) in KEPT:
        return before
    same = (before.progress, before.status) == (now.progress, now.status)
    return replace(now, since=before.since) if same else now


def all_moved(before: Mapping[str, UpToDate], now: Sequence[UpToDate]) -> tuple[UpToDate, ...]:
    """The conditions of all machines after what is known now."""
    return tuple(moved(before.get(each.machine), each) for each in now)


def whole_progress(machines: Sequence[UpToDate]) -> tuple[MachineProgress, str]:
    """The progress of all machines together, with a sentence: failed before in progress before waiting."""
    for progress in (MachineProgress.FAILED, MachineProgress.IN_PROGRESS, MachineProgress.WAITING):
        found = [each.machine for each in machines if each.progress is progress]
        if found:
            done = sum(each.progress is MachineProgress.DONE for each in machines)
            return progress, f"{_SAID[progress]}: {enumerate_few(found)}. {done} of {len(machines)} are up to date."
    return MachineProgress.DONE, f"All {len(machines)} are up to date."


_STATUS = {MachineProgress.DONE: "True", MachineProgress.FAILED: "False"}
_SAID = {
    MachineProgress.FAILED: "Failed",
    MachineProgress.IN_PROGRESS: "In progress",
    MachineProgress.WAITING: "Waiting",
}
