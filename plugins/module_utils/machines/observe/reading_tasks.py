"""Reading UpgradeTasks and NodeUpdates strictly, from JSON to observations."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.reading import Json, listed, one_of, part, text, text_map, texts, whole, within
from ...common.timestamps import timestamp_of
from ...kubernetes.answers import reading_object
from .node_updates import NODE_UPDATE, SYSTEM_NOTE, FailureKind, NodePhase, NodeUpdate
from .requested import OWNERS
from .upgrade_tasks import OBJECTS, UPGRADE_TASK, RequestedMachine, TaskPhase, UpgradeTaskState


def upgrade_task(item: Json) -> UpgradeTaskState:
    """One UpgradeTask.

    Raises:
        NotUnderstood: it cannot be read.
    """
    with reading_object(UPGRADE_TASK, item):
        metadata, spec = part(item, "metadata"), part(item, "spec")
        template = part(spec, "template", {})
        return UpgradeTaskState(
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            owner=_owner(spec),
            machines=listed(spec, "machinesRequireUpgrade", _machine, ()),
            wanted=within(spec, "newMachineSpec", _specification, {}),
            covers=texts(template, "covers", ()),
            upgrader=part(template, "upgraderRef", {}),
            ends=bool(text(metadata, "deletionTimestamp", ""))
            or text(spec, "phase", TaskPhase.ONGOING.value) != TaskPhase.ONGOING.value,
            phase=text(part(item, "status", {}), "phase", ""),
            run=text(part(item, "status", {}), "run", ""),
            raw=item,
        )


def _owner(spec: Json) -> str:
    """Kind, namespace and name, which are the same for all tasks of an owner, whatever they leave out."""
    around = text(part(spec, "cluster", {}), "namespace", "")
    for name, (_group, kind) in OWNERS.items():
        found = part(spec, name, {})
        if found:
            return "/".join((text(found, "kind", kind), text(found, "namespace", around), text(found, "name", "")))
    return ""


def _machine(item: Json) -> RequestedMachine:
    name, given = text(item, "name"), item.get("machineSpec") is not None
    present = within(item, "machineSpec", _specification) if given else None
    return RequestedMachine(name, text(item, "nodeName", name), present, text(item, "namespace", ""))


def _specification(found: Json) -> Json:
    """The specification of a machine, as it is given. What is to be an object in it has to be one."""
    for each in OBJECTS:
        part(found, each, {})
    return found


def node_update(item: Json) -> NodeUpdate:
    """One NodeUpdate.

    Raises:
        NotUnderstood: it cannot be read.
    """
    with reading_object(NODE_UPDATE, item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
        deadline = text(spec, "deadline", "")
        return NodeUpdate(
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            machine=text(spec, "nodeName"),
            digest=text(spec, "digest"),
            attempt=whole(spec, "attempt", 1),
            aborting=text(spec, "phase", "") == "Abort",
            deadline=timestamp_of(deadline) if deadline else None,
            leaving=bool(text(metadata, "deletionTimestamp", "")),
            phase=_phase(status),
            observed_attempt=whole(status, "observedAttempt", 0),
            failure=_failure(status),
            failure_reason=text(status, "failureReason", ""),
            failure_message=text(status, "failureMessage", ""),
            retried=within(spec, "retried", _retried, {}),
            system=text_map(metadata, "annotations").get(SYSTEM_NOTE, ""),
        )


def _phase(status: Json) -> NodePhase:
    """The phase, which is absent before the upgrader has seen the object."""
    return NodePhase(one_of(status, "phase", [each.value for each in NodePhase])) if status.get("phase") else _UNSEEN


_UNSEEN = NodePhase.PENDING


def _failure(status: Json) -> FailureKind:
    """The kind of the failure. A failure that gives none is terminal."""
    if not status.get("failureClass"):
        return FailureKind.TERMINAL
    return FailureKind(one_of(status, "failureClass", [each.value for each in FailureKind]))


def _retried(found: Json) -> Mapping[FailureKind, int]:
    return {each: whole(found, each.value, 0) for each in FailureKind}
