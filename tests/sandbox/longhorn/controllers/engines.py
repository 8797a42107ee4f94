"""Engines: their instance, the modes of their replicas, rebuilds (`controller/engine_controller.go`, its monitor)."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.instances import MAPS, Instances, held_by
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import ENGINES, MANAGERS, REPLICAS
from tests.sandbox.longhorn.objects import Drafts

STEPS = 4
"""The steps in which the progress of a rebuild is shown."""


class Engines:
    """A new engine takes every replica that answers as RW; whatever is added later is rebuilt: WO, then RW."""

    def __init__(self, shared: Shared, instances: Instances) -> None:
        self._shared, self._objects, self._instances = shared, shared.objects, instances
        self.queue = shared.queue(self._look)
        self.stuck: set[str] = set()
        """Volumes whose rebuilds do not go on."""

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        name = item["metadata"]["name"]
        if kind == ENGINES and gone:
            place = item.get("status", {}).get("instanceManagerName", "")
            self._instances.remove(ENGINES, name, place)
        elif kind == ENGINES:
            self.queue.add(name)
        elif kind == MANAGERS:
            for engine in self._on(item):
                self.queue.add(engine)
        elif kind == REPLICAS:
            for each in self._objects.of_volume(ENGINES, item["spec"].get("volumeName", "")):
                self.queue.add(each["metadata"]["name"])

    def _on(self, manager: Json) -> set[str]:
        name, node = manager["metadata"]["name"], manager["spec"].get("nodeID", "")
        found = {each["metadata"]["name"] for each in held_by(self._objects, ENGINES, manager)}
        found |= (manager.get("status", {}).get(MAPS[ENGINES]) or {}).keys()
        for replica in self._objects.of_node(REPLICAS, node):
            if replica.get("status", {}).get("instanceManagerName") in {"", name}:
                volume = replica["spec"]["volumeName"]
                found |= {each["metadata"]["name"] for each in self._objects.of_volume(ENGINES, volume)}
        return found

    def _look(self, name: str) -> None:
        item = self._objects.get(ENGINES, name)
        if item is None:
            return
        drafts = Drafts(self._objects)
        engine = drafts.take(ENGINES, item)
        self._instances.look(ENGINES, engine)
        status = engine["status"]
        if status["currentState"] == "running":
            status["currentSize"] = status.get("currentSize") or engine["spec"].get("volumeSize", "0")
            if not self._shared.dead(engine["spec"]["nodeID"]):
                self._modes(engine)
        else:
            status |= {"replicaModeMap": None, "replicaTransitionTimeMap": None, "rebuildStatus": None}
            status["currentReplicaAddressMap"] = None
        drafts.write()

    def _modes(self, engine: Json) -> None:
        status, now = engine["status"], self._shared.now()
        wanted: dict[str, str] = engine["spec"].get("replicaAddressMap") or {}
        new = status.get("replicaModeMap") is None
        modes: dict[str, str] = dict(status.get("replicaModeMap") or {})
        since: dict[str, str] = dict(status.get("replicaTransitionTimeMap") or {})
        for name in [name for name in modes if name not in wanted]:
            del modes[name]
            since.pop(name, None)
        rebuilding = "WO" in modes.values()
        for name in sorted(wanted):
            mode = self._mode(name, modes.get(name, ""), new=new)
            if mode == "WO" and name not in modes:
                if rebuilding:
                    continue
                rebuilding = True
                self._begin_rebuild(engine, name)
            if mode and modes.get(name) != mode:
                modes[name], since[name] = mode, now
        status |= {"replicaModeMap": modes, "replicaTransitionTimeMap": since}
        status["currentReplicaAddressMap"] = {name: wanted[name] for name in modes}
        if not any(mode == "WO" for mode in modes.values()):
            status["rebuildStatus"] = {}

    def _mode(self, name: str, before: str, *, new: bool) -> str:
        replica = self._objects.get(REPLICAS, name)
        if replica is None or not self._instances.alive(replica):
            return "ERR" if before or new else ""
        if before:
            return before
        return "RW" if new else "WO"

    def _begin_rebuild(self, engine: Json, name: str) -> None:
        address = engine["spec"]["replicaAddressMap"][name]
        told = {"isRebuilding": True, "progress": 0, "state": "in_progress", "error": ""}
        engine["status"]["rebuildStatus"] = {f"tcp://{address}": told}
        self._step(engine["metadata"]["name"], name, address)

    def _step(self, engine: str, name: str, address: str) -> None:
        seconds = self._shared.durations.rebuild / STEPS
        self._objects.clock.later(seconds, lambda: self._rebuilt(engine, name, address))

    def _rebuilt(self, engine: str, name: str, address: str) -> None:
        """One step of a rebuild; an engine that is gone or a replica that has failed ends it."""
        item, replica = self._objects.get(ENGINES, engine), self._objects.get(REPLICAS, name)
        if item is None or replica is None or not self._instances.alive(replica):
            return
        status = item["status"]
        told = (status.get("rebuildStatus") or {}).get(f"tcp://{address}")
        if told is None or (status.get("replicaModeMap") or {}).get(name) != "WO":
            return
        if item["spec"].get("volumeName") in self.stuck:
            self._step(engine, name, address)
            return
        progress = min(100, told["progress"] + 100 // STEPS)

        def change(status: Json) -> None:
            if progress < 100:
                status["rebuildStatus"][f"tcp://{address}"]["progress"] = progress
                return
            status["rebuildStatus"] = {}
            status["replicaModeMap"][name] = "RW"
            status["replicaTransitionTimeMap"][name] = self._shared.now()

        self._objects.status(ENGINES, engine, change)
        if progress < 100:
            self._step(engine, name, address)
