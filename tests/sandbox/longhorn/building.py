"""The objects of a description, as Longhorn would have made them; its controllers then bring them to life."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.longhorn.controllers.nodes import manager_of
from tests.sandbox.longhorn.controllers.shares import IMAGE as SHARE_IMAGE
from tests.sandbox.longhorn.description import ENGINE_IMAGE, GIB, SETTINGS, Described, Machine, Recurring, Volume
from tests.sandbox.longhorn.kinds import GROUP_LABEL, JOB_LABEL, checksum
from tests.sandbox.longhorn.unverified.control import SETTINGS_OF_V1_13

DISK = "block-disk"
_LONG_AGO = 86400.0


def disk_of(node: str) -> str:
    """The UUID of the one disk of a Kubernetes node."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"disk of {node}"))


def setting_objects(described: Described) -> list[Json]:
    """The settings. A value that the description gives for an unknown one is written as well."""
    values = {**SETTINGS, **(SETTINGS_OF_V1_13 if described.offers == "v1.13" else {}), **described.settings}
    return [{"metadata": {"name": name}, "value": value} for name, value in values.items()]


def manager_objects(described: Described) -> list[Json]:
    """The instance manager that each Kubernetes node runs."""
    return [manager_of(each.name, each.image) for each in described.machines]


def node_object(machine: Machine, now: float) -> Json:
    """A Longhorn node, ready, with one block disk that is ready as well."""
    disk = {"diskType": "block", "path": "/dev/nvme1n1", "allowScheduling": True, "diskDriver": "auto"}
    disk |= {"evictionRequested": False, "storageReserved": 0, "tags": []}
    spec: Json = {"name": machine.name, "allowScheduling": machine.schedulable, "evictionRequested": False}
    spec |= {"disks": {DISK: disk}, "tags": [], "instanceManagerCPURequest": 0}
    well = [_condition("Ready", now), _condition("Schedulable", now)]
    told: Json = {"conditions": well, "diskUUID": disk_of(machine.name), "diskName": DISK, "diskPath": "/dev/nvme1n1"}
    told |= {"diskType": "block", "storageAvailable": 900 * GIB, "storageMaximum": 1000 * GIB, "storageScheduled": 0}
    told |= {"scheduledReplica": {}, "diskDriver": "aio"}
    status: Json = {"conditions": list(well), "zone": machine.zone, "region": "lab", "diskStatus": {DISK: told}}
    return {"metadata": {"name": machine.name}, "spec": spec, "status": {**status, "autoEvicting": False}}


def _condition(type_: str, now: float) -> Json:
    said: Json = {"type": type_, "status": "True", "reason": "", "message": "", "lastProbeTime": ""}
    return {**said, "lastTransitionTime": timestamp(now - _LONG_AGO)}


def volume_object(volume: Volume) -> Json:
    """A volume, detached yet."""
    spec: Json = {"size": str(volume.size), "numberOfReplicas": volume.wanted, "dataEngine": volume.data_engine}
    spec |= {"frontend": "" if volume.standby else volume.frontend, "nodeID": "", "engineNodeID": volume.engine}
    spec |= {"image": ENGINE_IMAGE, "accessMode": volume.access, "dataLocality": volume.locality}
    spec |= {"Standby": volume.standby, "staleReplicaTimeout": 2880, "migrationNodeID": "", "migratable": False}
    status: Json = {"state": "detached", "robustness": "unknown", "currentImage": ENGINE_IMAGE, "currentNodeID": ""}
    status |= {"isStandby": volume.standby, "restoreRequired": volume.standby, "switchoverState": ""}
    spec["disableFrontend"] = volume.hidden
    status |= {
        "frontendDisabled": volume.standby or volume.hidden,
        "currentEngineNodeID": "",
        "expansionRequired": False,
    }
    if volume.backing:
        spec["backingImage"] = volume.backing
    if volume.claim:
        namespace, _slash, claim = volume.claim.rpartition("/")
        known = {"namespace": namespace, "pvcName": claim, "pvName": volume.name, "pvStatus": "Bound"}
        status["kubernetesStatus"] = known
    names = [*(f"{JOB_LABEL}{each}" for each in volume.jobs), *(f"{GROUP_LABEL}{each}" for each in volume.groups)]
    metadata = {"name": volume.name, "labels": dict.fromkeys(names, "enabled")}
    return {"metadata": metadata, "spec": spec, "status": status}


def backing_image_object(name: str) -> Json:
    """A backing image of the v2 data engine; its copies are those of the instance managers."""
    return {"metadata": {"name": name}, "spec": {"dataEngine": "v2", "sourceType": "download", "minNumberOfCopies": 1}}


def copies_on(machine: Machine, volumes: Sequence[Volume]) -> dict[str, str]:
    """The backing images of which a Kubernetes node has a copy, each with the state of that."""
    found = {each.backing: "ready" for each in volumes if each.backing and machine.name in each.replicas}
    return {**found, **({machine.copying: "in-progress"} if machine.copying else {})}


def job_object(job: Recurring) -> Json:
    """A recurring job."""
    spec: Json = {"name": job.name, "task": "backup", "cron": f"*/{job.minutes} * * * *", "groups": list(job.groups)}
    return {"metadata": {"name": job.name}, "spec": {**spec, "retain": 1, "concurrency": 1}}


def _metadata(name: str, made: Json) -> Json:
    owner = {"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "name": made["metadata"]["name"]}
    owners = [{**owner, "uid": made["metadata"]["uid"]}]
    return {"name": name, "labels": {"longhornvolume": made["metadata"]["name"]}, "ownerReferences": owners}


def engine_object(volume: Volume, made: Json) -> Json:
    """The first engine of a volume, stopped."""
    spec: Json = {"volumeName": volume.name, "volumeSize": str(volume.size), "image": ENGINE_IMAGE, "active": True}
    spec |= {"dataEngine": volume.data_engine, "desireState": "stopped", "frontend": volume.frontend, "nodeID": ""}
    status: Json = {"currentState": "stopped", "currentSize": str(volume.size)}
    return {
        "metadata": _metadata(f"{volume.name}-e-0", made),
        "spec": {**spec, "replicaAddressMap": {}},
        "status": status,
    }


def frontend_object(volume: Volume, made: Json) -> Json:
    """The frontend of a volume, stopped."""
    spec: Json = {"volumeName": volume.name, "volumeSize": str(volume.size), "image": ENGINE_IMAGE, "active": True}
    spec |= {"dataEngine": "v2", "desireState": "stopped", "frontend": volume.frontend, "size": str(volume.size)}
    spec |= {"engineName": f"{volume.name}-e-0", "disableFrontend": volume.standby or volume.hidden, "nodeID": ""}
    status: Json = {"currentState": "stopped", "currentSize": "0"}
    return {"metadata": _metadata(f"{volume.name}-ef-0", made), "spec": spec, "status": status}


def replica_objects(volume: Volume, made: Json, now: float) -> list[Json]:
    """The replicas of a volume, stopped, all healthy until now but those that have failed."""
    found = []
    for number, node in enumerate(volume.replicas):
        name = f"{volume.name}-r-{checksum(f'{volume.name} {node} {number}')[:8]}"
        spec: Json = {"volumeName": volume.name, "volumeSize": str(volume.size), "image": ENGINE_IMAGE, "nodeID": node}
        spec |= {"dataEngine": volume.data_engine, "desireState": "stopped", "active": True}
        spec |= {"engineName": f"{volume.name}-e-0", "diskID": disk_of(node), "diskPath": "/dev/nvme1n1"}
        spec |= {"dataDirectoryName": name, "healthyAt": timestamp(now - _LONG_AGO), "rebuildRetryCount": 0}
        spec |= {"lastHealthyAt": timestamp(now - _LONG_AGO), "failedAt": "", "lastFailedAt": ""}
        spec |= {"backingImage": volume.backing} if volume.backing else {}
        if node in volume.failed:
            spec["failedAt"] = spec["lastFailedAt"] = timestamp(now - 1)
        metadata = _metadata(name, made)
        found.append({"metadata": metadata, "spec": spec, "status": {"currentState": "stopped"}})
    return found


def attachment_object(volume: Volume, made: Json) -> Json:
    """The attachment of a volume, with the ticket of its workload where it is attached."""
    tickets = {}
    if volume.attached and volume.access != "rwx":
        ticket = {"id": f"csi-{checksum(volume.name + volume.attached)[:16]}", "type": "csi-attacher"}
        tickets[ticket["id"]] = {**ticket, "nodeID": volume.attached, "generation": 0, "parameters": {}}
    spec: Json = {"volume": volume.name, "attachmentTickets": tickets}
    return {"metadata": _metadata(volume.name, made), "spec": spec}


def share_object(volume: Volume, made: Json) -> Json:
    """The share manager of an RWX volume."""
    return {"metadata": _metadata(volume.name, made), "spec": {"image": SHARE_IMAGE}, "status": {"state": "starting"}}
