"""Reading Longhorn's objects strictly, from JSON to observations.

A field that is missing in an object which a controller has just made counts as not there yet: a state that is empty is
never taken for one that is fine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...common.reading import Json, entries, flag, listed, named, part, text, text_map, whole, within
from ...kubernetes.conditions import StatusCondition, conditions
from ...kubernetes.field_managers import last_manager
from ...run.undo.undo import UNREADABLE, Change, Path, undo_in
from ...run.undo.undo_annotation import UNDO
from .kinds import ATTACHED_MARK, GROUP_LABEL, HOME_MARK, JOB_LABEL, NODE_MARK, RUN, TARGET
from .state import (
    RUNNING,
    Attached,
    Attachment,
    Backup,
    Engine,
    Frontend,
    InstanceManager,
    KubernetesNode,
    LonghornDisk,
    Node,
    Replica,
    Volume,
    VolumeSnapshot,
)

SHARE_TICKET = "share-manager-controller"
"""The type of the ticket with which a share manager attaches its volume."""
WORKLOAD_TICKETS = frozenset({"csi-attacher", "longhorn-api", SHARE_TICKET})
"""The types of the tickets for which a workload uses the volume (`hasWorkloadTicket` in
`controller/volume_attachment_controller.go` of longhorn-manager 1.12)."""
_QUANTITY = re.compile(r"(\d+)(Ki|Mi|Gi|Ti|)")
_UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}


def node(name: str, item: Json) -> Node:
    """A Longhorn node."""
    spec, status = part(item, "spec"), part(item, "status", {})
    wanted = part(spec, "disks", {})
    disks = named(status, "diskStatus", _disk, {})
    return Node(
        name=name,
        allow_scheduling=flag(spec, "allowScheduling"),
        mark=_annotation(item, NODE_MARK),
        conditions=conditions(status),
        disks=tuple(
            LonghornDisk(each, text(disk, "diskType", ""), *disks.get(each, (None, None)), closed=_is_closed(disk))
            for each, disk in ((each, part(wanted, each)) for each in sorted(wanted))
        ),
        carries_undo=carries_undo(item),
        opened=_set_to(item, ("spec", "allowScheduling")) is True,
    )


def _is_closed(disk: Json) -> bool:
    """Longhorn places no replica on such a disk (`scheduler/replica_scheduler.go` of longhorn-manager)."""
    return not flag(disk, "allowScheduling", default=False) or flag(disk, "evictionRequested", default=False)


def _disk(_name: str, status: Json) -> tuple[StatusCondition | None, StatusCondition | None]:
    found = conditions(status)
    return found.get("Ready"), found.get("Schedulable")


def volume(name: str, item: Json) -> Volume:
    """A volume."""
    spec, status = part(item, "spec"), part(item, "status", {})
    clone = within(status, "cloneStatus", lambda found: text(found, "state", ""), {})
    return Volume(
        name=name,
        data_engine=text(spec, "dataEngine", ""),
        node=text(spec, "nodeID", ""),
        engine_node=text(spec, "engineNodeID", ""),
        number_of_replicas=whole(spec, "numberOfReplicas"),
        frontend="" if flag(status, "frontendDisabled", default=False) else text(spec, "frontend", ""),
        data_locality=text(spec, "dataLocality", ""),
        standby=flag(spec, "Standby", default=False) or flag(status, "isStandby", default=False),
        migration_node=text(spec, "migrationNodeID", ""),
        home_mark=_annotation(item, HOME_MARK),
        state=text(status, "state", ""),
        robustness=text(status, "robustness", ""),
        at_node=text(status, "currentNodeID", ""),
        engine_at=text(status, "currentEngineNodeID", ""),
        at_migration_node=text(status, "currentMigrationNodeID", ""),
        switchover=text(status, "switchoverState", ""),
        expanding=flag(status, "expansionRequired", default=False),
        restoring=flag(status, "restoreRequired", default=False),
        cloning=clone in {"initiated", "copy-completed-awaiting-healthy"},
        workloads=within(status, "kubernetesStatus", _workloads, {}),
        carries_undo=carries_undo(item),
        remounted=text(status, "remountRequestedAt", ""),
        jobs=_enabled(item, JOB_LABEL),
        job_groups=_enabled(item, GROUP_LABEL),
        backing_image=text(spec, "backingImage", ""),
        **_moved(item),
    )


def _enabled(item: Json, beginning: str) -> frozenset[str]:
    """The names in the labels with this beginning that are `enabled` (`getVolumesBySelector` of 1.12)."""
    labels = within(item, "metadata", lambda data: text_map(data, "labels"))
    found = (name for name, value in labels.items() if name.startswith(beginning) and value == "enabled")
    return frozenset(name.removeprefix(beginning) for name in found)


def _undone(item: Json, path: Path) -> Change | None:
    """The change of a run at this path that the undo of an object names; None also if the undo cannot be read."""
    if not carries_undo(item):
        return None
    try:
        undo = undo_in(_annotation(item, UNDO), lambda _change: True)
    except UNREADABLE:
        return None
    return next((each for each in undo.changes if each.path == path), None)


def _set_to(item: Json, path: Path) -> object:
    found = _undone(item, path)
    return found.set_to if found else None


def _moved(item: Json) -> Mapping[str, str]:
    """The node on which a run has set the engine, the one before, and the last writer; an unreadable undo has none."""
    if not carries_undo(item):
        return {}
    found = _undone(item, ("spec", "engineNodeID"))
    fields = within(item, "metadata", lambda data: listed(data, "managedFields", dict, ()))
    writer = last_manager(fields, ("f:spec", "f:engineNodeID"))
    places = {"engine_set": str(found.set_to or ""), "engine_was": str(found.was or "")} if found else {}
    return {**places, "engine_writer": writer}


def _workloads(status: Json) -> tuple[str, ...]:
    names = (
        text(status, "namespace", ""),
        listed(status, "workloadsStatus", lambda each: text(each, "podName", ""), ()),
    )
    return tuple(f"{names[0]}/{each}" for each in names[1] if each)


def engine(name: str, item: Json) -> Engine:
    """An engine."""
    spec, status = part(item, "spec"), part(item, "status", {})
    rebuilds = named(status, "rebuildStatus", lambda _name, each: each, {})
    return Engine(
        name=name,
        volume=text(spec, "volumeName", ""),
        node=text(spec, "nodeID", ""),
        active=flag(spec, "active", default=False),
        state=text(status, "currentState", ""),
        modes=text_map(status, "replicaModeMap"),
        rebuilds={
            each: whole(found, "progress", 0)
            for each, found in rebuilds.items()
            if flag(found, "isRebuilding", default=False)
        },
        rebuild_errors=tuple(sorted(filter(None, (text(found, "error", "") for found in rebuilds.values())))),
        expanding=flag(status, "isExpanding", default=False),
        busy=tuple(_busy(status)),
    )


def _busy(status: Json) -> Iterator[str]:
    for field, mark, work in (
        ("restoreStatus", "isRestoring", "a restore"),
        ("purgeStatus", "isPurging", "a purge of snapshots"),
        ("cloneStatus", "isCloning", "a clone"),
    ):
        if any(named(status, field, lambda _name, each, mark=mark: flag(each, mark, default=False), {}).values()):  # type: ignore[misc]
            yield work
    states = named(status, "backupStatus", lambda _name, each: text(each, "state", ""), {})
    if any(state.lower() in {"in_progress", "inprogress"} for state in states.values()):
        yield "a backup"


def frontend(name: str, item: Json) -> Frontend:
    """A frontend."""
    spec, status = part(item, "spec"), part(item, "status", {})
    return Frontend(
        name=name,
        volume=text(spec, "volumeName", ""),
        node=text(spec, "nodeID", ""),
        engine=text(spec, "engineName", ""),
        state=text(status, "currentState", ""),
        wanted_target=_target(spec),
        target=_target(status),
    )


def _target(of: Json) -> tuple[str, int]:
    return text(of, "targetIP", ""), whole(of, "targetPort", 0)


def replica(name: str, item: Json) -> Replica:
    """A replica."""
    spec, status = part(item, "spec"), part(item, "status", {})
    return Replica(
        name=name,
        volume=text(spec, "volumeName", ""),
        node=text(spec, "nodeID", ""),
        state=text(status, "currentState", ""),
        failed_at=text(spec, "failedAt", ""),
        healthy_at=text(spec, "healthyAt", ""),
    )


def instance_manager(name: str, item: Json) -> InstanceManager:
    """An instance manager."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
    instances = {
        each: state
        for field in ("instanceEngines", "instanceEngineFrontends", "instanceReplicas")
        for each, state in named(status, field, _instance_state, {}).items()
    }
    return InstanceManager(
        name=name,
        uid=text(metadata, "uid"),
        version=text(metadata, "resourceVersion", ""),
        image=text(spec, "image"),
        node=text(spec, "nodeID"),
        data_engine=text(spec, "dataEngine", "v1"),
        state=text(status, "currentState", ""),
        deleting=bool(text(metadata, "deletionTimestamp", "")),
        api_version=_version(status),
        instances=tuple(sorted(each for each, state in instances.items() if state in {RUNNING, "starting"})),
    )


def _instance_state(_name: str, process: Json) -> str:
    return within(process, "status", lambda status: text(status, "state", ""), {})


def _version(status: Json) -> int:
    """The version of its API; 0 while it is not known. Longhorn writes -1 for one that it cannot use."""
    found = status.get("apiVersion")
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def snapshot(name: str, item: Json) -> VolumeSnapshot:
    """A snapshot that a run has made."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
    labels, notes = text_map(metadata, "labels"), text_map(metadata, "annotations")
    return VolumeSnapshot(
        name=name,
        uid=text(metadata, "uid"),
        volume=text(spec, "volume"),
        run=labels.get(RUN, ""),
        target=labels.get(TARGET, ""),
        ready=flag(status, "readyToUse", default=False),
        taken=bool(text(status, "creationTime", "")),
        error=text(status, "error", ""),
        attached=Attached.of(notes.get(ATTACHED_MARK, "")),
        deleting=bool(text(metadata, "deletionTimestamp", "")),
    )


def backup(name: str, item: Json) -> Backup:
    """A backup."""
    labels = within(item, "metadata", lambda data: text_map(data, "labels"))
    status = part(item, "status", {})
    volume_name = text(status, "volumeName", "") or labels.get("backup-volume", "")
    return Backup(name, volume_name, text(status, "state", ""))


def attachment(_name: str, item: Json) -> Attachment:
    """A volume attachment: the tickets of workloads that are satisfied, and since when.

    Longhorn takes and gives back the others by itself while the volume stays attached, such as for a backup.
    """
    spec, status = part(item, "spec"), part(item, "status", {})
    wanted = named(spec, "attachmentTickets", lambda _ticket, each: text(each, "nodeID", ""), {})
    types = named(spec, "attachmentTickets", lambda _ticket, each: text(each, "type", ""), {})
    satisfied = named(status, "attachmentTicketStatuses", _satisfied_since, {})
    since: dict[str, frozenset[str]] = {}
    for ticket, node_name in wanted.items():
        if satisfied.get(ticket) and types[ticket] in WORKLOAD_TICKETS:
            since[node_name] = since.get(node_name, frozenset()) | {satisfied[ticket]}
    return Attachment(text(spec, "volume", ""), since, frozenset(types.values()))


def _satisfied_since(_ticket: str, status: Json) -> str:
    """The time since which a ticket is satisfied; empty if it is not."""
    times = listed(
        status,
        "conditions",
        lambda each: (text(each, "type", ""), text(each, "status", ""), text(each, "lastTransitionTime", "")),
        (),
    )
    return next((since for kind, state, since in times if (kind, state) == ("Satisfied", "True")), "")


def setting(name: str, item: Json) -> tuple[str, str, bool]:
    """A setting: its name, its value, and whether it carries an undo."""
    return name, text(item, "value", ""), carries_undo(item)


def carries_undo(item: Json) -> bool:
    """Whether a run has left an undo on the object."""
    return bool(_annotation(item, UNDO))


def kubernetes_node(name: str, item: Json) -> KubernetesNode:
    """A Kubernetes node."""
    spec, status = part(item, "spec", {}), part(item, "status", {})
    return KubernetesNode(
        name=name,
        unschedulable=flag(spec, "unschedulable", default=False),
        images=frozenset(_images(status)),
        huge_pages=_mebibytes(text(part(status, "capacity", {}), "hugepages-2Mi", "")),
    )


def _mebibytes(quantity: str) -> int | None:
    """The whole MiB of a quantity as Kubernetes writes it; None for another text."""
    found = _QUANTITY.fullmatch(quantity)
    return int(found[1]) * _UNITS[found[2]] >> 20 if found else None


def _images(status: Json) -> Iterator[str]:
    for each in listed(status, "images", dict, ()):
        for name in entries(each, "names", ()):
            if isinstance(name, str):
                yield name


def _annotation(item: Mapping[str, Any], name: str) -> str:
    return within(item, "metadata", lambda data: text_map(data, "annotations")).get(name, "")
