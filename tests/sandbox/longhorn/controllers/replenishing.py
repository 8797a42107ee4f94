"""Replicas that are missing or too many (`replenishReplicas`, `cleanupReplicas`, `scheduler/replica_scheduler.go`).

A failed replica is used again where its Kubernetes node takes replicas: one with `allowScheduling: false` does not, so
the rebuild waits until scheduling is allowed again. Another replica is made elsewhere only after
`replica-replenishment-wait-interval`, as long as a failed one might be used again.
"""

from __future__ import annotations

import json

from tests.sandbox.kubernetes.objects import Json, seconds_of
from tests.sandbox.longhorn.controllers.instances import running_manager, state_of
from tests.sandbox.longhorn.controllers.parts import Parts
from tests.sandbox.longhorn.controllers.work import condition, set_condition
from tests.sandbox.longhorn.kinds import NODES, REPLICAS, checksum

MOST_RETRIES = 5
"""`scheduler.FailedReplicaMaxRetryCount`."""
LOOK_AGAIN = 5.0


def replenish(parts: Parts, engine: Json) -> None:
    """Start the rebuild of one replica, if one is missing and none is being rebuilt."""
    status, spec = parts.status, parts.spec
    limit = int(parts.objects.setting("concurrent-replica-rebuild-per-node-limit") or 5)
    if limit == 0 or status.get("state") != "attached" or not _in_step(parts, engine):
        return
    if "WO" in parts.modes(engine).values():
        return
    usable = [each for each in parts.replicas.values() if not each["spec"].get("failedAt")]
    if len(usable) >= spec.get("numberOfReplicas", 0):
        return
    fast = _v2(parts.objects.setting("fast-replica-rebuild-enabled")) == "true"
    failed = [each for each in parts.replicas.values() if _reusable(each)]
    for replica in sorted(failed, key=lambda each: str(each["spec"]["failedAt"]), reverse=True):
        if fast and _place_is_back(parts, replica):
            replica["spec"] |= {"failedAt": "", "healthyAt": "", "engineName": engine["metadata"]["name"]}
            return
    wait = _until_new(parts) if fast and failed else 0.0
    if wait > 0:
        parts.later(min(wait, LOOK_AGAIN * 12))
        return
    _new(parts, engine)


def _v2(value: str) -> str:
    """The value of a setting for the v2 data engine."""
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return str(found.get("v2", "")) if isinstance(found, dict) else value


def _in_step(parts: Parts, engine: Json) -> bool:
    """Whether the engine knows every usable replica (`hasEngineStatusSynced`)."""
    modes, wanted = parts.modes(engine), engine["spec"].get("replicaAddressMap") or {}
    for name, replica in parts.replicas.items():
        if not replica["spec"].get("failedAt") and replica["spec"].get("nodeID") and name not in modes:
            return False
    return set(modes) == set(wanted)


def _reusable(replica: Json) -> bool:
    """Whether a failed replica may be used again (`IsPotentiallyReusableReplica`)."""
    spec = replica["spec"]
    if not spec.get("failedAt") or not spec.get("nodeID") or spec.get("evictionRequested"):
        return False
    return bool(spec.get("rebuildRetryCount", 0) < MOST_RETRIES)


def _place_is_back(parts: Parts, replica: Json) -> bool:
    """`isFailedReplicaReusable`: node schedulable, disk ready, instance manager running; the old process gone."""
    node = parts.longhorn_node(replica["spec"]["nodeID"])
    if node is None or not parts.takes_replicas(node):
        return False
    disks = (node["status"].get("diskStatus") or {}).values()
    ready = {each["diskUUID"] for each in disks if condition(each, "Ready") == "True"}
    manager = running_manager(parts.shared, replica["spec"]["nodeID"])
    if manager is None or state_of(manager) != "running":
        return False
    return replica["spec"].get("diskID") in ready and replica["status"].get("currentState", "stopped") == "stopped"


def _until_new(parts: Parts) -> float:
    """Seconds until another replica may be made (`RequireNewReplica`, `timeToReplacementReplica`)."""
    interval = float(parts.objects.setting("replica-replenishment-wait-interval") or 600)
    since = parts.status.get("lastDegradedAt") or parts.shared.now()
    return max(0.0, seconds_of(since) + interval - parts.objects.clock.now())


def _new(parts: Parts, engine: Json) -> None:
    held = {each["spec"].get("nodeID") for each in parts.replicas.values()}
    places = [
        each
        for each in parts.objects.all(NODES)
        if each["metadata"]["name"] not in held and parts.takes_replicas(each) and _manager_runs(parts, each)
    ]
    status = parts.status
    if not places:
        reason = "ReplicaSchedulingFailure"
        message = "precheck new replica failed: nodes are unavailable"
        set_condition(status, "Scheduled", "False", parts.shared.now(), reason, message)
        parts.later(LOOK_AGAIN)
        return
    set_condition(status, "Scheduled", "True", parts.shared.now())
    place = min(places, key=lambda each: (len(parts.objects.of_node(REPLICAS, each["metadata"]["name"])), _name(each)))
    parts.add(REPLICAS, replica_of(parts.name, parts.spec, place, engine["metadata"]["name"], _suffix(parts)))


def _manager_runs(parts: Parts, node: Json) -> bool:
    manager = running_manager(parts.shared, node["metadata"]["name"])
    return manager is not None and state_of(manager) == "running"


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])


def _suffix(parts: Parts) -> str:
    return checksum(f"{parts.name} {parts.objects.clock.now()} {len(parts.replicas)}")[:8]


def replica_of(volume: str, spec: Json, node: Json, engine: str, suffix: str) -> Json:
    """A replica on the disk of a Longhorn node, not started yet."""
    disk = next(iter((node["status"].get("diskStatus") or {}).values()))
    name = f"{volume}-r-{suffix}"
    said = {"volumeName": volume, "volumeSize": spec["size"], "nodeID": node["metadata"]["name"]}
    said |= {"image": spec["image"], "dataEngine": "v2", "desireState": "stopped", "engineName": engine}
    said |= {"diskID": disk["diskUUID"], "diskPath": disk["diskPath"], "dataDirectoryName": name}
    said |= {"active": True, "failedAt": "", "healthyAt": ""}
    said |= {"backingImage": spec["backingImage"]} if spec.get("backingImage") else {}
    return {"metadata": {"name": name}, "spec": said}


def clean(parts: Parts) -> None:
    """Take away a replica that is one too many, and failed ones of no use (`cleanupReplicas`)."""
    spec = parts.spec
    modes = parts.modes(parts.engine())
    healthy = [
        name
        for name, each in sorted(parts.replicas.items())
        if each["spec"].get("healthyAt") and not each["spec"].get("failedAt")
    ]
    if len(parts.engines) == 1 and len(healthy) > spec.get("numberOfReplicas", 0):
        evicting = [name for name in healthy if parts.replicas[name]["spec"].get("evictionRequested")]
        parts.drop(REPLICAS, next(iter([*evicting, *healthy])))
        return
    if sum(mode == "RW" for mode in modes.values()) < spec.get("numberOfReplicas", 0):
        return
    stale = int(spec.get("staleReplicaTimeout") or 0) * 60
    for name, replica in list(parts.replicas.items()):
        failed = replica["spec"].get("failedAt")
        old = bool(failed and stale and seconds_of(failed) + stale < parts.objects.clock.now())
        if failed and (old or replica["spec"].get("rebuildRetryCount", 0) >= MOST_RETRIES):
            parts.drop(REPLICAS, name)
