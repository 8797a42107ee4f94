"""The switch of an engine to another Kubernetes node (`processEngineSwitchover` in `controller/volume_controller.go`).

`preparing`: a new engine, under the next name, takes the replicas that are RW. `switching-over`: the frontend goes over
to it. `finalizing`: the old engine is deleted, which lived until the frontend has reported the new target. Every
error before that reverts the switch: the new engine is deleted, the frontend points at the old one. Nothing checks
the Kubernetes node in `engineNodeID`: with a name that does not exist the switch stays in `preparing`.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, copied
from tests.sandbox.longhorn.controllers.parts import Parts
from tests.sandbox.longhorn.kinds import ENGINES


def process(parts: Parts) -> None:
    """One step."""
    status, target = parts.status, parts.target()
    if not target or not status.get("currentNodeID"):
        return
    active = parts.engine()
    assert active is not None
    status["currentEngineNodeID"] = active["spec"].get("nodeID") or status.get("currentEngineNodeID") or target
    if target == status["currentEngineNodeID"]:
        _settle(parts, active)
        return
    if status.get("robustness") not in {"healthy", "degraded"}:
        return
    if active["status"].get("currentState") != "running":
        _revert(parts, active)
        return
    extras = [each for each in parts.engines.values() if each is not active]
    fitting = [each for each in extras if each["spec"].get("nodeID") in {"", target}]
    if len(extras) > 1 or len(fitting) < len(extras):
        _revert(parts, active)
        return
    status["switchoverState"] = "preparing"
    following = fitting[0] if fitting else _following(parts, active)
    _prepare(parts, active, following, target)


def _settle(parts: Parts, active: Json) -> None:
    """No switch is wanted, or it is done: only extra engines are to go."""
    if len(parts.engines) <= 1:
        parts.status["switchoverState"] = ""
        return
    _delete_extras(parts, active)
    _give(parts, active)
    parts.status["switchoverState"] = "finalizing"
    parts.later(parts.shared.durations.control)


def _delete_extras(parts: Parts, active: Json) -> None:
    for name, each in list(parts.engines.items()):
        if each is not active:
            parts.drop(ENGINES, name)


def _give(parts: Parts, engine: Json) -> None:
    for replica in parts.replicas.values():
        replica["spec"] |= {"migrationEngineName": "", "engineName": engine["metadata"]["name"]}


def _revert(parts: Parts, active: Json) -> None:
    parts.status["switchoverState"] = "reverting"
    _delete_extras(parts, active)
    frontend = parts.frontend()
    if frontend is not None and active["status"].get("ip"):
        _point(frontend, active)
    _give(parts, active)
    parts.later(1.0)


def _point(frontend: Json, engine: Json) -> None:
    status = engine["status"]
    target = {"targetIP": status["ip"], "targetPort": status["port"]}
    frontend["spec"] |= {**target, "engineName": engine["metadata"]["name"]}


def _following(parts: Parts, active: Json) -> Json:
    """Make the next engine; its name is the one after that of the active one (`GenerateEngineNameForVolume`)."""
    number = active["metadata"]["name"].rpartition("-")[2]
    name = f"{parts.name}-e-{int(number) + 1 if number.isdigit() else 1}"
    spec = copied(active["spec"])
    spec |= {"nodeID": "", "desireState": "stopped", "replicaAddressMap": {}, "active": False}
    return parts.add(ENGINES, {"metadata": {"name": name}, "spec": spec})


def _prepare(parts: Parts, active: Json, following: Json, target: str) -> None:
    """`prepareReplicasAndEngineForTargetNode`: a rebuild or an error reverts; then the frontend goes over."""
    following["spec"]["nodeID"] = target
    if following["status"].get("currentState") == "error":
        _revert(parts, active)
        return
    modes = parts.modes(active)
    known = active["spec"].get("replicaAddressMap") or {}
    taken = {}
    for name, replica in parts.replicas.items():
        mode = modes.get(name, "")
        if mode == "WO" or (not mode and name in known):
            _revert(parts, active)
            return
        if mode == "RW" and not parts.node_is_down(replica["spec"].get("nodeID", "")):
            replica["spec"]["migrationEngineName"] = following["metadata"]["name"]
            taken[name] = replica
    if not taken:
        _revert(parts, active)
        return
    running = {name: each for name, each in taken.items() if each["status"].get("currentState") == "running"}
    addresses = {name: f"{each['status']['storageIP']}:{each['status']['port']}" for name, each in running.items()}
    if not _started(parts, active, following, addresses, ready=len(running) == len(taken)):
        return
    _switch(parts, active, following, target)


def _started(parts: Parts, active: Json, following: Json, addresses: dict[str, str], *, ready: bool) -> bool:
    """Whether the new engine runs with exactly these replicas; started, or stopped to be started again, where not."""
    spec, state = following["spec"], following["status"].get("currentState", "stopped")
    if spec.get("desireState") != "stopped":
        if not addresses:
            _revert(parts, active)
            return False
        if not ready or spec.get("replicaAddressMap") != addresses:
            spec |= {"nodeID": "", "replicaAddressMap": {}, "desireState": "stopped"}
            return False
    elif state != "stopped" or not ready:
        return False
    spec |= {"replicaAddressMap": addresses, "desireState": "running"}
    return bool(state == "running" and following["status"].get("replicaModeMap"))


def _switch(parts: Parts, active: Json, following: Json, target: str) -> None:
    parts.status["switchoverState"] = "switching-over"
    frontend = parts.frontend()
    if frontend is None or not following["status"].get("ip"):
        return
    wanted = (following["status"]["ip"], following["status"]["port"])
    spec, status = frontend["spec"], frontend["status"]
    if (spec.get("targetIP"), spec.get("targetPort")) != wanted or spec.get("engineName") != _name(following):
        _point(frontend, following)
        return
    if (status.get("targetIP"), status.get("targetPort")) != wanted:
        return
    if status.get("currentState") != "running":
        _revert(parts, active)
        return
    parts.status["switchoverState"] = "finalizing"
    active["spec"]["active"] = False
    following["spec"]["active"] = True
    _give(parts, following)
    parts.status["currentEngineNodeID"] = target
    parts.drop(ENGINES, _name(active))
    parts.later(parts.shared.durations.control)


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])
