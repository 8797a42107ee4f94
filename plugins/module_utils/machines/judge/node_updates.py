"""The next step of work on a machine that something else carries out for a run. Pure.

The wanted work is stored in an object of its own for each machine, a NodeUpdate. The next step follows from that object
alone, so that a run that was killed goes on with the work that is under way, and starts none twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from ..observe.node_updates import FailureKind, NodePhase, NodeUpdate
from ..observe.upgrade_tasks import GROUP, OBJECTS, SPECIFIED_VERSION
from .differences import differences

TASK_LABEL = f"{GROUP}/upgrade-task"
"""The label of a NodeUpdate with the name of the UpgradeTask that has requested it."""
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""The values of labels (Kubernetes documentation, Labels and Selectors). A name may be longer, and that of a document
may have any characters."""


class NodeStep(str, Enum):
    """The next step."""

    READY = "ready"
    """The machine is as it is wanted; there is nothing more to do."""
    CREATE = "create"
    FOLLOW = "follow"
    """Work is under way. Its result is read at the next look."""
    RETRY = "retry"
    ABORT = "abort"
    REPLACE = "replace"
    """Work for another specification, or for another machine, has ended; its object makes room for a new one."""
    FAILED = "failed"
    ABORTED = "aborted"


@dataclass(frozen=True)
class WantedWork:
    """The work that the run wants to be done on a machine."""

    digest: str
    """Of the specification that is wanted."""
    differs: bool
    """Whether the machine is not yet as it is wanted, as far as the cluster shows it."""
    budgets: Mapping[FailureKind, int]
    """The retries of each kind of failure."""
    withdrawn: bool = False
    """Whether the upgrade is to be aborted."""
    system: str = ""
    """The id of the machine that has the name now; empty if it is not known."""

    def is_of_another(self, seen: NodeUpdate) -> bool:
        """Whether the object is of a machine that had this name before.

        A machine may report another id once its operating system is another one, so this ends no work under way.
        """
        return "" not in (self.system, seen.system) and self.system.lower() != seen.system.lower()


@dataclass(frozen=True)
class NodeDecision:
    """The next step and its cause; the cause is empty where the step says all."""

    step: NodeStep
    cause: str = ""


def labels_of(task_source: str) -> dict[str, str]:
    """The labels of a NodeUpdate that an UpgradeTask from this source requests; none without one, and none for a name
    with which the API server would not take the object."""
    name = task_source.rpartition("/")[2]
    return {TASK_LABEL: name} if _LABEL_VALUE.fullmatch(name) else {}


def fields_to_change(present: Mapping[str, Any] | None, wanted: Mapping[str, Any], *, done: bool) -> list[str]:
    """The fields in which a machine is not yet as it is wanted; none if there is no work.

    The cluster shows whether a step is `done`. `present` is the present specification, None if it is not known; then
    the upgrader compares the objects.
    """
    objects = {name: wanted[name] for name in OBJECTS if wanted.get(name) is not None}
    version = [] if done else [SPECIFIED_VERSION]
    if present is None:
        return [*version, *objects]
    return [*version, *(each.name for each in differences(present, objects))]


def next_step(seen: NodeUpdate | None, wanted: WantedWork, now: datetime) -> NodeDecision:
    """The next step from the object as it is seen; None stands for none."""
    if seen is not None and seen.leaving:
        return NodeDecision(NodeStep.FOLLOW, "it is being deleted")
    if seen is not None and seen.is_at_work:
        return _under_way(seen, wanted, now)
    if wanted.withdrawn:
        return NodeDecision(NodeStep.ABORTED)
    if seen is None:
        return NodeDecision(NodeStep.CREATE if wanted.differs else NodeStep.READY)
    return _ended(seen, wanted, now)


def _ended(seen: NodeUpdate, wanted: WantedWork, now: datetime) -> NodeDecision:
    if seen.digest != wanted.digest or wanted.is_of_another(seen):
        return NodeDecision(NodeStep.REPLACE)
    if seen.phase is NodePhase.READY:
        return NodeDecision(NodeStep.READY)
    if seen.phase is NodePhase.ABORTED:
        late = seen.is_late(now)
        return NodeDecision(NodeStep.FAILED, "its time was over") if late else NodeDecision(NodeStep.RETRY)
    return _failed(seen, wanted)


def _under_way(seen: NodeUpdate, wanted: WantedWork, now: datetime) -> NodeDecision:
    """Work that is under way comes to a defined end, whatever becomes of the run."""
    causes = {
        "the upgrade is aborted": wanted.withdrawn,
        "another specification is wanted": seen.digest != wanted.digest,
        "its time is over": seen.is_late(now),
    }
    cause = next((said for said, holds in causes.items() if holds), "")
    if cause and not seen.aborting:
        return NodeDecision(NodeStep.ABORT, cause)
    return NodeDecision(NodeStep.FOLLOW, f"{cause}, and the work is being aborted" if cause else "")


def _failed(seen: NodeUpdate, wanted: WantedWork) -> NodeDecision:
    budget = wanted.budgets.get(seen.failure, 0)
    said = ": ".join(filter(None, (seen.failure_reason, seen.failure_message))) or "no cause is given"
    if seen.failure is FailureKind.TERMINAL:
        return NodeDecision(NodeStep.FAILED, said)
    if seen.retried.get(seen.failure, 0) < budget:
        return NodeDecision(NodeStep.RETRY, said)
    return NodeDecision(NodeStep.FAILED, f"{said} (after {budget} retries)")
