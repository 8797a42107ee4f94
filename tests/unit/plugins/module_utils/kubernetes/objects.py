"""API objects as the API server writes them, for tests: small, and changed by keyword."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod, StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import stateful_set

Json = dict[str, Any]


def pool_json(name: str = "data", **changes: Any) -> Json:
    """A StatefulSet of three; keywords replace parts of metadata, spec and status, whichever knows them."""
    metadata: Json = {
        "name": name,
        "namespace": "search",
        "uid": f"{name}-uid",
        "resourceVersion": "7",
        "generation": 2,
    }
    spec: Json = {
        "replicas": 3,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": name}},
        "updateStrategy": {"type": "OnDelete"},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "server", "image": "opensearch:2.19.6"}]},
        },
    }
    status: Json = {"observedGeneration": 2, "updateRevision": f"{name}-new"}
    for key, value in changes.items():
        place = next((each for each in (metadata, spec, status) if key in each), None)
        if place is None:
            place = metadata if key in {"labels", "annotations", "ownerReferences", "managedFields"} else spec
        place[key] = value
    return {"metadata": metadata, "spec": spec, "status": status}


def pool(name: str = "data", **changes: Any) -> StatefulSet:
    """The observation of `pool_json`."""
    return stateful_set(pool_json(name, **changes))


def waiting(reason: str, message: str = "", restarts: int = 0, last: Json | None = None, name: str = "server") -> Json:
    """A container status: waiting."""
    status: Json = {"name": name, "image": "opensearch:3.8.0", "restartCount": restarts, "ready": False}
    status["state"] = {"waiting": {"reason": reason, "message": message}}
    if last is not None:
        status["lastState"] = {"terminated": last}
    return status


def running(ready: bool = True, restarts: int = 0, name: str = "server") -> Json:
    """A container status: running."""
    state = {"running": {"startedAt": "2026-11-21T00:00:00Z"}}
    return {"name": name, "image": "opensearch:3.8.0", "restartCount": restarts, "ready": ready, "state": state}


def terminated(exit_code: int, reason: str = "Error", restarts: int = 0) -> Json:
    """A container status: terminated."""
    state = {"terminated": {"exitCode": exit_code, "reason": reason}}
    return {"name": "server", "image": "opensearch:3.8.0", "restartCount": restarts, "ready": False, "state": state}


def pod_json(name: str = "data-2", uid: str = "uid-new", **changes: Any) -> Json:
    """A pod that is Ready on the new revision.

    Keywords: ready, revision, node, phase, containers, terminating, unscheduled (a message), owner, labels, finalizers,
    grace (seconds that a terminating one has).
    """
    set_name = name.rpartition("-")[0]
    metadata: Json = {
        "name": name,
        "namespace": "search",
        "uid": uid,
        "resourceVersion": "9",
        "creationTimestamp": "2026-11-21T00:00:00Z",
        "labels": {"controller-revision-hash": changes.get("revision", f"{set_name}-new"), **changes.get("labels", {})},
        "ownerReferences": [{"uid": changes.get("owner", f"{set_name}-uid"), "controller": True}],
    }
    if changes.get("terminating"):
        grace = changes.get("grace", 30)
        metadata.update(deletionTimestamp="2026-11-21T00:01:00Z", deletionGracePeriodSeconds=grace)
    if "finalizers" in changes:
        metadata["finalizers"] = changes["finalizers"]
    ready = changes.get("ready", True)
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    if "unscheduled" in changes:
        conditions.append({"type": "PodScheduled", "status": "False", "message": changes["unscheduled"]})
    status: Json = {"phase": changes.get("phase", "Running"), "conditions": conditions}
    status["containerStatuses"] = changes.get("containers", [running(ready)])
    status.update({key: changes[key] for key in ("reason", "message", "initContainerStatuses") if key in changes})
    spec: Json = {"containers": [{"name": "server", "image": "opensearch:3.8.0"}]}
    if changes.get("node", "worker-1"):
        spec["nodeName"] = changes.get("node", "worker-1")
    return {"metadata": metadata, "spec": spec, "status": status}


def member(name: str = "data-2", uid: str = "uid-new", **changes: Any) -> Pod:
    """The observation of `pod_json`."""
    return pod(pod_json(name, uid, **changes))
