"""Attaching and detaching (`ReconcileVolumeState` and its state machine in `controller/volume_controller.go`)."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.controllers.parts import Parts
from tests.sandbox.longhorn.kinds import REPLICAS


def reconcile(parts: Parts) -> None:
    """Faulted where nothing is left; then one step of the state machine."""
    _look_for_faults(parts)
    wanted, current = parts.spec.get("nodeID", ""), parts.status.get("currentNodeID", "")
    state = parts.status.get("state", "")
    if wanted and (not current or wanted == current) and state in {"detached", "attaching", "attached"}:
        if state == "attached" and not current:
            _close(parts)
            parts.status["state"] = "detaching"
            return
        _open(parts)
        if state == "detached":
            parts.status["state"] = "attaching"
        elif state == "attaching" and _opened(parts):
            parts.status |= {"state": "attached", "currentNodeID": wanted}
        return
    if state in {"attached", "attaching", "creating"} or (state == "detached" and current):
        _close(parts)
        parts.status["state"] = "detaching"
    elif state == "detaching":
        _close(parts)
        if _closed(parts):
            parts.status |= {"state": "detached", "currentNodeID": "", "currentEngineNodeID": ""}
    elif state == "detached":
        _close(parts)


def _look_for_faults(parts: Parts) -> None:
    """All replicas failed, or the engine or the frontend died: the volume is faulted until it was detached.

    The attachment controller detaches a faulted volume, and attaches it again where a ticket wants that.
    """
    status, engine = parts.status, parts.engine()
    assert engine is not None
    replicas = parts.replicas.values()
    if replicas and all(each["spec"].get("failedAt") for each in replicas):
        status["robustness"] = "faulted"
        salvage = parts.objects.setting("auto-salvage") == "true"
        if salvage and status.get("state") == "detached" and not status.get("isStandby"):
            _salvage(parts)
        return
    if status.get("robustness") == "faulted" and status.get("state") == "detached":
        status |= {"robustness": "unknown", "remountRequestedAt": parts.shared.now()}
        return
    frontend = parts.frontend()
    died = engine["status"].get("currentState") == "error"
    died = died or (frontend is not None and frontend["status"].get("currentState") == "error")
    if died and (status.get("currentNodeID") or (parts.spec.get("nodeID") and status.get("state") != "attached")):
        status["robustness"] = "faulted"


def _salvage(parts: Parts) -> None:
    """Take the replicas that failed last as good again, where their disk can be used."""
    usable = []
    for replica in parts.replicas.values():
        name = replica["spec"].get("nodeID", "")
        if parts.longhorn_node(name) is None or parts.node_is_down(name) or parts.shared.dead(name):
            continue
        if replica["spec"].get("healthyAt"):
            usable.append(replica)
    last = max((each["spec"]["failedAt"] for each in usable), default="")
    for replica in usable:
        if replica["spec"]["failedAt"] == last:
            replica["spec"]["failedAt"] = ""
            parts.status |= {"robustness": "unknown", "remountRequestedAt": parts.shared.now()}


def _open(parts: Parts) -> None:
    """Start replicas, then the engine, then the frontend (`openVolumeDependentResources`)."""
    for replica in parts.replicas.values():
        spec, status = replica["spec"], replica["status"]
        if not spec.get("nodeID"):
            continue
        if parts.can_launch(spec["nodeID"]):
            if not spec.get("failedAt") and status.get("currentState", "stopped") == "stopped":
                spec["desireState"] = "running"
        elif parts.status.get("state") != "attached":
            parts.fail(replica)
    engine = parts.engine()
    assert engine is not None
    addresses = _addresses(parts, engine)
    if addresses is None:
        return
    target = parts.target()
    switching = in_progress(parts, engine, target)
    if engine["spec"].get("nodeID") and engine["spec"]["nodeID"] != target and not switching:
        return
    if not engine["spec"].get("nodeID"):
        engine["spec"]["nodeID"] = target
    engine["spec"] |= {"replicaAddressMap": addresses, "desireState": "running"}
    engine["spec"] |= {"disableFrontend": bool(parts.status.get("frontendDisabled")), "active": True}
    _open_frontend(parts, engine, switching=switching)


def _addresses(parts: Parts, engine: Json) -> dict[str, str] | None:
    """Name and address of the replicas that the engine should have; None while one of them is to start or none is."""
    found: dict[str, str] = {}
    for name, replica in parts.replicas.items():
        spec, status = replica["spec"], replica["status"]
        if not spec.get("nodeID") or spec.get("engineName") != engine["metadata"]["name"] or spec.get("failedAt"):
            continue
        if status.get("currentState") == "error":
            continue
        if status.get("currentState") != "running":
            return None
        if status.get("ip"):
            found[name] = f"{status['storageIP']}:{status['port']}"
    return found or None


def _open_frontend(parts: Parts, engine: Json, *, switching: bool) -> None:
    frontend, status = parts.frontend(), engine["status"]
    if frontend is None or status.get("currentState") != "running" or not status.get("ip"):
        return
    spec = frontend["spec"]
    spec |= {"size": parts.spec["size"], "volumeSize": parts.spec["size"], "nodeID": parts.spec["nodeID"]}
    spec |= {"frontend": parts.spec.get("frontend", ""), "desireState": "running"}
    spec["disableFrontend"] = bool(parts.status.get("frontendDisabled"))
    if not switching:
        spec |= {"targetIP": status["ip"], "targetPort": status["port"], "engineName": engine["metadata"]["name"]}


def in_progress(parts: Parts, engine: Json, target: str) -> bool:
    """Whether the engine is being switched (`isV2EngineSwitchoverInProgress`)."""
    current = parts.status.get("currentEngineNodeID", "")
    if not target or not current or not parts.status.get("currentNodeID"):
        return False
    return target != current or bool(engine["spec"].get("nodeID") and engine["spec"]["nodeID"] != target)


def _opened(parts: Parts) -> bool:
    engine, frontend = parts.engine(), parts.frontend()
    if engine is None or frontend is None or engine["status"].get("currentState") != "running":
        return False
    if not any(each["status"].get("currentState") == "running" for each in parts.replicas.values()):
        return False
    if frontend["status"].get("currentState") != "running":
        return False
    shown = frontend["spec"].get("frontend") and not frontend["spec"].get("disableFrontend")
    return bool(frontend["status"].get("endpoint")) or not shown


def _close(parts: Parts) -> None:
    """Stop the frontend, then the engine, then the replicas, each when the one before has stopped."""
    if parts.status.get("robustness") != "faulted":
        parts.status["robustness"] = "unknown"
    for frontend in parts.frontends.values():
        if frontend["spec"].get("desireState") != "stopped":
            frontend["spec"] |= {"desireState": "stopped", "nodeID": ""}
    if not all(each["status"].get("currentState", "stopped") == "stopped" for each in parts.frontends.values()):
        return
    for engine in parts.engines.values():
        engine["spec"] |= {"desireState": "stopped", "nodeID": ""}
    if not all(each["status"].get("currentState", "stopped") == "stopped" for each in parts.engines.values()):
        return
    for name, replica in list(parts.replicas.items()):
        spec = replica["spec"]
        if not spec.get("healthyAt") and not spec.get("failedAt"):
            if not spec.get("nodeID"):
                parts.drop(REPLICAS, name)
                continue
            # It was being rebuilt.
            parts.fail(replica)
        spec["desireState"] = "stopped"


def _closed(parts: Parts) -> bool:
    held = [*parts.frontends.values(), *parts.engines.values(), *parts.replicas.values()]
    return all(each["status"].get("currentState", "stopped") == "stopped" for each in held)
