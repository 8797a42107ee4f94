"""A NodeUpdate: work on one machine that something else carries out, as it is seen. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

SYSTEM_NOTE = "upgrade.stateful/system-uuid"
"""The annotation with the id of the machine (`status.nodeInfo.systemUUID` of its Kubernetes node)."""
NODE_UPDATE, NODE_UPDATES = "NodeUpdate", "nodeupdates"


class NodePhase(str, Enum):
    """The phase that the upgrader of the machine writes."""

    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    READY = "Ready"
    FAILED = "Failed"
    ABORTED = "Aborted"


ENDED = (NodePhase.READY, NodePhase.FAILED, NodePhase.ABORTED)


class FailureKind(str, Enum):
    """The kind of a failure. Each has a budget of retries of its own."""

    TRANSIENT = "Transient"
    UNREACHABLE = "Unreachable"
    TERMINAL = "Terminal"
    """No further try would help."""


@dataclass(frozen=True)
class NodeUpdate:
    """One NodeUpdate."""

    name: str
    uid: str
    resource_version: str
    machine: str
    """The name of the Kubernetes node."""
    digest: str
    """Of the specification that is wanted, which is the stored plan."""
    attempt: int
    aborting: bool
    """Whether the work is to come to an end."""
    deadline: datetime | None
    leaving: bool
    """Whether the object is being deleted."""
    phase: NodePhase
    observed_attempt: int
    """The attempt that the phase is about."""
    failure: FailureKind
    failure_reason: str
    failure_message: str
    retried: Mapping[FailureKind, int] = field(default_factory=dict)
    """The retries so far, by the kind of the failure."""
    system: str = ""
    """The id of the machine for which it was made; empty if it is not known."""

    @property
    def is_at_work(self) -> bool:
        """Whether it has not ended. A phase that is about an earlier attempt says nothing of this one."""
        return self.phase not in ENDED or self.observed_attempt < self.attempt

    def is_late(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.deadline is not None and now > self.deadline
