"""The phases of an upgrade, and the events that lead from one to another. Pure.

An upgrade is recorded once a person has agreed to it, so New lasts only until its first run has started. The
reason of a phase is the first sentence of the cause; the history keeps all of it.
"""

from __future__ import annotations

from enum import Enum

from ...common.errors import refusal


class Deed(str, Enum):
    """The kind of work that a record is of."""

    UPGRADE = "upgrade"
    RESTART = "restart"
    """The version stays as it is."""


class Phase(str, Enum):
    """The progress of an upgrade over all its runs."""

    NEW = "New"
    """It is planned, and no one has agreed to it yet."""
    PENDING = "Pending"
    """It is agreed to, or is to start later, and none of its batches has started."""
    UPGRADING = "Upgrading"
    """A batch has started, or another run continues it. If a batch was stopped, the next run continues with that."""
    PAUSED = "Paused"
    """No run works on it until the next pass, or until a person continues it."""
    COMPLETED = "Completed"
    """All that its last run was for is done and proven."""
    FAILED = "Failed"
    """It has ended without being completed: none of its batches had started by the end of its window."""
    ABORTED = "Aborted"
    """A person has ended it. It continues only after a person has resumed it."""


class UpgradeEvent(str, Enum):
    """The events of an upgrade."""

    SCHEDULED = "scheduled"
    """It is to start later."""
    AGREED = "agreed"
    """A run has consent to the plan, and starts or continues."""
    BEGUN = "begun"
    """A batch starts, or makes progress."""
    STOPPED = "stopped"
    """A run ends with something to be fixed: at a batch, at a step, or because the whole is not proven or put back."""
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    """Its window ended before its first batch."""
    ABORTED = "aborted"
    RESUMED = "resumed"
    """A person lets an aborted or paused upgrade continue."""


ENDINGS = (
    UpgradeEvent.COMPLETED,
    UpgradeEvent.PAUSED,
    UpgradeEvent.STOPPED,
    UpgradeEvent.FAILED,
    UpgradeEvent.ABORTED,
)
"""The ends of a run."""
EXPLAINED = (Phase.PAUSED, Phase.FAILED, Phase.ABORTED)
"""Phases that always have a reason."""

_GOING_ON = {
    UpgradeEvent.BEGUN: Phase.UPGRADING,
    UpgradeEvent.STOPPED: Phase.UPGRADING,
    UpgradeEvent.PAUSED: Phase.PAUSED,
    UpgradeEvent.COMPLETED: Phase.COMPLETED,
    UpgradeEvent.ABORTED: Phase.ABORTED,
}
LEADS_TO: dict[Phase, dict[UpgradeEvent, Phase]] = {
    Phase.NEW: {
        UpgradeEvent.SCHEDULED: Phase.PENDING,
        UpgradeEvent.AGREED: Phase.PENDING,
        UpgradeEvent.FAILED: Phase.FAILED,
    },
    Phase.PENDING: {
        UpgradeEvent.SCHEDULED: Phase.PENDING,
        UpgradeEvent.AGREED: Phase.PENDING,
        UpgradeEvent.FAILED: Phase.FAILED,
        **_GOING_ON,
    },
    Phase.UPGRADING: {UpgradeEvent.AGREED: Phase.UPGRADING, UpgradeEvent.FAILED: Phase.FAILED, **_GOING_ON},
    Phase.PAUSED: {
        UpgradeEvent.AGREED: Phase.UPGRADING,
        UpgradeEvent.ABORTED: Phase.ABORTED,
        UpgradeEvent.RESUMED: Phase.PAUSED,
    },
    Phase.FAILED: {UpgradeEvent.AGREED: Phase.UPGRADING, UpgradeEvent.ABORTED: Phase.ABORTED},
    Phase.ABORTED: {UpgradeEvent.AGREED: Phase.UPGRADING, UpgradeEvent.RESUMED: Phase.PAUSED},
    Phase.COMPLETED: {},
}
"""The phase that each event leads to. After a completed upgrade, the next one is another and starts as New."""

_DONE_TO_IT = {
    UpgradeEvent.SCHEDULED: "wait for its start",
    UpgradeEvent.AGREED: "continue",
    UpgradeEvent.BEGUN: "start a batch",
    UpgradeEvent.STOPPED: "stop",
    UpgradeEvent.PAUSED: "be paused",
    UpgradeEvent.COMPLETED: "be completed",
    UpgradeEvent.FAILED: "fail",
    UpgradeEvent.ABORTED: "be aborted",
    UpgradeEvent.RESUMED: "be resumed",
}
FORMER = {
    "rolling": Phase.UPGRADING,
    "waiting": Phase.PAUSED,
    "completed": Phase.COMPLETED,
    "stopped": Phase.FAILED,
    "aborted": Phase.ABORTED,
}
"""Words of records that were written before there were these phases."""


def follow(phase: Phase, event: UpgradeEvent) -> Phase:
    """The phase that the event leads to.

    Raises:
        Refusal: it cannot happen in this phase.
    """
    if event in LEADS_TO[phase]:
        return LEADS_TO[phase][event]
    raise refusal(
        "phase_impossible",
        f"An upgrade that is {phase.value} cannot {_DONE_TO_IT[event]}.",
        "See with the playbook status which run has noted that phase.",
    )


def phase_of(word: str, batches_left: bool) -> Phase:
    """The phase that a record names, also in a former word: `stopped` was used even if only a batch was stopped."""
    if word == "stopped" and batches_left:
        return Phase.UPGRADING
    return FORMER[word] if word in FORMER else Phase(word)
