"""Engines, frontends and replicas as instances of an instance manager (`controller/instance_handler.go`).

The instances that run are those in the status of the instance manager: they are gone with its pod, as processes are.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.backing_images import has_copy
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import ENGINES, FRONTENDS, MANAGERS, REPLICAS
from tests.sandbox.longhorn.objects import Objects

MAPS = {ENGINES: "instanceEngines", FRONTENDS: "instanceEngineFrontends", REPLICAS: "instanceReplicas"}
TYPES = {ENGINES: "engine", FRONTENDS: "engine-frontend", REPLICAS: "replica"}
_FIRST_PORT = 20001
_NO_ADDRESS = {"currentImage": "", "ip": "", "storageIP": "", "port": 0}


def running_manager(shared: Shared, node: str) -> Json | None:
    """The v2 instance manager of a Kubernetes node that runs, the default one first.

    After `datastore.GetRunningInstanceManagerByNodeRO`. The one that has not started is given where none runs.
    """
    image = shared.objects.setting("default-instance-manager-image")
    found = [each for each in shared.objects.of_node(MANAGERS, node) if each["spec"].get("dataEngine") == "v2"]
    found.sort(key=lambda each: each["spec"]["image"] != image)
    running = [each for each in found if state_of(each) == "running"]
    return next(iter([*running, *found]), None)


def held_by(objects: Objects, kind: Kind, manager: Json) -> list[Json]:
    """The engines or frontends that an instance manager may run; one that is to stop is on no Kubernetes node."""
    stopping = [each for each in objects.of_node(kind, "") if _named(each) == manager["metadata"]["name"]]
    return [*objects.of_node(kind, manager["spec"].get("nodeID", "")), *stopping]


def _named(item: Json) -> str:
    return str(item.get("status", {}).get("instanceManagerName", ""))


def state_of(manager: Json) -> str:
    """The state of an instance manager."""
    return str(manager.get("status", {}).get("currentState", ""))


class Instances:
    """`look` makes one instance as its object wants it, and its object as the instance is."""

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.refuse: Callable[[Kind, Json], str] = lambda _kind, _item: ""
        """The error with which an instance cannot be made; empty where it can."""

    def look(self, kind: Kind, draft: Json) -> None:
        """Work on the draft of an engine, a frontend or a replica."""
        name, spec, status = draft["metadata"]["name"], draft["spec"], draft["status"]
        manager = self._manager(spec, status)
        instances = self._instances(kind, manager)
        instance = instances.get(name)
        if spec.get("desireState") == "running":
            if instance is not None and instance["status"]["state"] == "running":
                status |= {"started": True, "starting": False}
            elif instance is None and manager is not None and status.get("currentState", "stopped") == "stopped":
                self._begin(draft, kind, manager)
        else:
            if instance is not None and manager is not None:
                self.remove(kind, name, manager["metadata"]["name"])
                instance = None
            status |= {"started": False, "starting": False}
        self._tell(manager, instance, spec, status)

    def _manager(self, spec: Json, status: Json) -> Json | None:
        known = self._objects.get(MANAGERS, status.get("instanceManagerName", ""))
        return known or (running_manager(self._shared, spec["nodeID"]) if spec.get("nodeID") else None)

    def _instances(self, kind: Kind, manager: Json | None) -> Json:
        if manager is None or "deletionTimestamp" in manager["metadata"]:
            return {}
        return manager.get("status", {}).get(MAPS[kind]) or {}

    def _begin(self, draft: Json, kind: Kind, manager: Json) -> None:
        """Start an instance; while its manager does not run, nothing can be started in it."""
        name, status = draft["metadata"]["name"], draft["status"]
        if state_of(manager) != "running" or status.get("starting") or not has_copy(self._objects, draft["spec"]):
            return
        status |= {"starting": True, "instanceManagerName": manager["metadata"]["name"]}
        place = manager["metadata"]["name"]
        self._objects.clock.later(self._shared.durations.instance, lambda: self._started(kind, name, place))

    def _started(self, kind: Kind, name: str, place: str) -> None:
        manager, item = self._objects.get(MANAGERS, place), self._objects.get(kind, name)
        if manager is None or state_of(manager) != "running" or self._shared.dead(manager["spec"]["nodeID"]):
            return
        if item is None or item["spec"].get("desireState") != "running":
            return
        error = self.refuse(kind, item)
        ports = [each["status"]["portStart"] for key in MAPS.values() for each in self._all(manager, key)]
        port = max(ports, default=_FIRST_PORT - 1) + 1
        told: Json = {"type": TYPES[kind], "state": "error" if error else "running", "errorMsg": error}
        told |= {"portStart": port, "portEnd": port, "uuid": self._uuid(name)}
        process = {"spec": {"name": name, "dataEngine": "v2"}, "status": told}

        def change(status: Json) -> None:
            status[MAPS[kind]] = {**(status.get(MAPS[kind]) or {}), name: process}

        self._objects.status(MANAGERS, place, change)

    def _all(self, manager: Json, key: str) -> list[Json]:
        return list((manager["status"].get(key) or {}).values())

    def _uuid(self, name: str) -> str:
        return f"{name}-{int(self._objects.clock.now() * 1000)}"

    def remove(self, kind: Kind, name: str, place: str) -> None:
        """End an instance."""

        def change(status: Json) -> None:
            left = {key: each for key, each in (status.get(MAPS[kind]) or {}).items() if key != name}
            status[MAPS[kind]] = left

        self._objects.status(MANAGERS, place, change)

    def _tell(self, manager: Json | None, instance: Json | None, spec: Json, status: Json) -> None:
        """As `syncStatusWithInstanceManager`."""
        state = "" if manager is None else state_of(manager)
        started = bool(status.get("started"))
        if manager is None or state == "unknown":
            status |= {**_NO_ADDRESS, "currentState": "unknown" if started else "stopped"}
        elif state == "starting" and not started:
            status.setdefault("currentState", "stopped")
        elif instance is None or state in {"stopped", "error", "starting", "upgrading"}:
            status |= {**_NO_ADDRESS, "currentState": "error" if started else "stopped"}
            if state != "running":
                status["starting"] = False
        elif instance["status"]["state"] == "error":
            status |= {**_NO_ADDRESS, "currentState": "error"}
        else:
            status["instanceManagerName"] = manager["metadata"]["name"]
            address = manager["status"].get("ip", "")
            status |= {"currentState": "running", "ip": address, "storageIP": address}
            status["port"] = instance["status"]["portStart"]
            status["currentImage"] = status.get("currentImage") or spec["image"]
        if status["currentState"] == "stopped" and not status.get("starting"):
            status["instanceManagerName"] = ""

    def alive(self, item: Json) -> bool:
        """Whether the instance of a replica answers, noticed or not: its manager runs, and has power."""
        name = item["metadata"]["name"]
        manager = self._objects.get(MANAGERS, item.get("status", {}).get("instanceManagerName", ""))
        if manager is None or state_of(manager) != "running" or self._shared.dead(manager["spec"]["nodeID"]):
            return False
        return name in (manager["status"].get(MAPS[REPLICAS]) or {})
