"""The next step of work on a machine whose operating system is an image. Pure.

The agent there carries out one operation at a time. The next step follows from the stored plan and its answer alone, so
that a run that was killed reads the result of the operation under way, and starts none twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ..observe.host_operations import HostPlan, HostState, HostStatus
from ..observe.node_updates import FailureKind


class HostStep(str, Enum):
    """The next step."""

    READY = "ready"
    """The machine is as it is wanted; there is nothing more to do."""
    SUBMIT = "submit"
    FOLLOW = "follow"
    """An operation is under way. Its result is read at the next look."""
    FAILED = "failed"


@dataclass(frozen=True)
class WantedHost:
    """The machine as the run wants it to be."""

    digest: str
    """Of the host configuration."""
    image: str
    """The checksum of the image that it is to run afterwards; empty for a step that leaves the image as it is."""
    differs: bool
    """Whether it is not yet so, as far as the machine itself shows it."""
    budgets: Mapping[FailureKind, int]
    """The retries of each kind of failure."""


@dataclass(frozen=True)
class HostDecision:
    """The next step."""

    step: HostStep
    plan: HostPlan | None = None
    """The plan to store before it; None to keep what is there."""
    cause: str = ""


def next_host_step(
    kept: HostPlan | None, status: HostStatus, wanted: WantedHost, boot: str, *, late: bool
) -> HostDecision:
    """The next step.

    Args:
        kept: The stored plan; None without one.
        status: The answer of the agent.
        wanted: The machine as it is wanted.
        boot: The id of the present boot of the machine.
        late: Whether the time of the step is over.
    """
    if status.state is HostState.RUNNING:
        named = f"operation {status.operation or 'without a name'} is still at work after the time of the step"
        return HostDecision(HostStep.FAILED, cause=named) if late else HostDecision(HostStep.FOLLOW)
    if kept is None or kept.digest != wanted.digest:
        return _without_plan(status, wanted, boot)
    if kept.done and not wanted.differs:
        return HostDecision(HostStep.READY)
    if status.operation != kept.operation:
        restarted = boot != kept.boot
        again = "the machine has started again since" if restarted else "it was never taken"
        cause = f"the agent knows nothing of its operation: {again}"
        # One that was never taken keeps its name, by which the agent starts it once, however often it is submitted.
        return _again(kept, FailureKind.TRANSIENT, cause, wanted, boot, step=int(restarted))
    if status.state is HostState.SUCCEEDED:
        return _succeeded(kept, status, wanted)
    cause = ": ".join(filter(None, (status.reason, status.message))) or "the agent gives no cause"
    return _again(kept, status.failure, cause, wanted, boot)


def _without_plan(status: HostStatus, wanted: WantedHost, boot: str) -> HostDecision:
    """The next step without a plan, which may be lost, or removed by a person who has corrected the cause of a
    failure."""
    digest, _sign, number = status.operation.rpartition("-")
    attempt = int(number) if digest == wanted.digest and number.isdecimal() else 0
    if attempt and status.state is HostState.SUCCEEDED:
        return _succeeded(HostPlan(wanted.digest, attempt, boot), status, wanted)
    # The agent starts no operation of one name twice.
    fresh = HostPlan(wanted.digest, attempt + 1, boot)
    return _submitted(fresh) if wanted.differs else HostDecision(HostStep.READY)


def _succeeded(kept: HostPlan, status: HostStatus, wanted: WantedHost) -> HostDecision:
    if wanted.image and status.image != wanted.image:
        cause = f"the agent says that it has succeeded, and the machine runs image {status.image or 'unknown'}"
        return HostDecision(HostStep.FAILED, cause=cause)
    return HostDecision(HostStep.READY, replace(kept, done=True))


def _again(
    kept: HostPlan, kind: FailureKind, cause: str, wanted: WantedHost, boot: str, *, step: int = 1
) -> HostDecision:
    budget, made = wanted.budgets.get(kind, 0), kept.retried.get(kind, 0)
    if kind is FailureKind.TERMINAL:
        return HostDecision(HostStep.FAILED, cause=cause)
    if made >= budget:
        return HostDecision(HostStep.FAILED, cause=f"{cause} (after {budget} retries)")
    retried = {**kept.retried, kind: made + 1}
    return _submitted(HostPlan(kept.digest, kept.attempt + step, boot, retried=retried), cause)


def _submitted(plan: HostPlan, cause: str = "") -> HostDecision:
    return HostDecision(HostStep.SUBMIT, plan, cause)
