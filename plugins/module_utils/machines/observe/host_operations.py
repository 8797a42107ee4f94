"""An operation of the agent on a machine that writes images of its operating system, as the agent reports it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ...common.reading import Json, flag, one_of, part, text, whole
from .node_updates import FailureKind


class HostState(str, Enum):
    """The state of the last operation."""

    NONE = ""
    """The agent knows of none."""
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True)
class HostStatus:
    """The answer of an agent to the question how far it has come."""

    operation: str
    """The name of its last operation, as it was submitted; empty without one."""
    state: HostState
    image: str
    """The checksum of the image that the machine runs; empty if the agent does not know it."""
    failure: FailureKind = FailureKind.TERMINAL
    reason: str = ""
    message: str = ""


@dataclass(frozen=True)
class HostPlan:
    """The stored plan of a machine: what was last submitted for a step, kept on the machine itself."""

    digest: str
    """Of the host configuration that is wanted."""
    attempt: int = 1
    boot: str = ""
    """The id of the boot of the machine at the submission."""
    done: bool = False
    retried: Mapping[FailureKind, int] = field(default_factory=dict)
    """The retries so far, by the kind of the failure."""

    @property
    def operation(self) -> str:
        """The name of its operation. The agent starts none of the same name twice."""
        return f"{self.digest}-{self.attempt}"

    def as_json(self) -> dict[str, object]:
        """The plan as it is kept."""
        retried = {kind.value: count for kind, count in self.retried.items()}
        return {**vars(self), "retried": retried}


def host_status(item: Json) -> HostStatus:
    """An answer of an agent. A failure without a class, or of an unknown one, is not retried.

    Raises:
        Unreadable: it is none.
    """
    said = one_of(item, "state", [each.value for each in HostState]) if text(item, "state", "") else ""
    kind = text(item, "failureClass", "")
    return HostStatus(
        operation=text(item, "operation", ""),
        state=HostState(said),
        image=text(item, "image", "").removeprefix("sha256:"),
        failure=FailureKind(kind) if kind in {each.value for each in FailureKind} else FailureKind.TERMINAL,
        reason=text(item, "failureReason", ""),
        message=text(item, "failureMessage", ""),
    )


def host_plan(item: Json) -> HostPlan:
    """A stored plan.

    Raises:
        Unreadable: it is none.
    """
    retried = part(item, "retried", {})
    return HostPlan(
        text(item, "digest"),
        whole(item, "attempt"),
        text(item, "boot", ""),
        flag(item, "done", default=False),
        {kind: whole(retried, kind.value, 0) for kind in FailureKind},
    )
