"""The frontends of v2 volumes, that is the initiators on the Kubernetes nodes of their workloads."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.instances import MAPS, Instances, held_by
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import FRONTENDS, MANAGERS, VOLUMES
from tests.sandbox.longhorn.objects import Drafts


class Frontends:
    """The frontends of v2 volumes (`controller/engine_frontend_controller.go`): the initiator, and its switch.

    A switch has three phases, each reported when it is done: preparing, switching, promoting. It is made only while the
    volume says that it is being switched (`shouldExecuteEngineFrontendSwitchover`).

    One that is disabled has no path and reports no target (`syncEngineFrontendPathStatus`), so a switch of its volume
    never ends.
    """

    def __init__(self, shared: Shared, instances: Instances) -> None:
        self._shared, self._objects, self._instances = shared, shared.objects, instances
        self.queue = shared.queue(self._look)
        self.outlive = False
        """Whether a frontend outlives the pod of its instance manager. See the README."""

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        name = item["metadata"]["name"]
        if kind == FRONTENDS and gone:
            self._instances.remove(FRONTENDS, name, item.get("status", {}).get("instanceManagerName", ""))
        elif kind == FRONTENDS:
            self.queue.add(name)
        elif kind == MANAGERS:
            for each in held_by(self._objects, FRONTENDS, item):
                self.queue.add(each["metadata"]["name"])

    def _look(self, name: str) -> None:
        item = self._objects.get(FRONTENDS, name)
        if item is None:
            return
        drafts = Drafts(self._objects)
        frontend = drafts.take(FRONTENDS, item)
        spec, status = frontend["spec"], frontend["status"]
        before = status.get("currentState")
        lives = self.outlive and not self._shared.dead(spec.get("nodeID", ""))
        if before == "running" and spec.get("desireState") == "running" and lives:
            self._outlive(frontend)
        else:
            self._instances.look(FRONTENDS, frontend)
        if status["currentState"] != "running":
            status |= {"endpoint": "", "targetIP": "", "targetPort": 0, "switchoverPhase": "", "currentSize": "0"}
            status |= {"activePath": "", "preferredPath": "", "paths": []}
        else:
            hidden = spec.get("disableFrontend") or not spec.get("frontend")
            status["endpoint"] = "" if hidden else f"/dev/longhorn/{spec['volumeName']}"
            status["currentSize"] = spec.get("size", "0")
            if not hidden:
                self._target(frontend)
        drafts.write()

    def _outlive(self, frontend: Json) -> None:
        """The initiator is in the kernel of the Kubernetes node; a new instance manager finds it there."""
        name, status = frontend["metadata"]["name"], frontend["status"]
        manager = self._objects.get(MANAGERS, status.get("instanceManagerName", ""))
        if manager is not None and name in (manager.get("status", {}).get(MAPS[FRONTENDS]) or {}):
            return
        for each in self._objects.of_node(MANAGERS, frontend["spec"]["nodeID"]):
            if each.get("status", {}).get("currentState") == "running":
                port = status.get("port") or 20001
                told = {"type": "engine-frontend", "state": "running", "portStart": port, "portEnd": port}
                status["instanceManagerName"] = each["metadata"]["name"]
                self._run_in(
                    each["metadata"]["name"], name, {"spec": {"name": name, "dataEngine": "v2"}, "status": told}
                )

    def _run_in(self, manager: str, name: str, process: Json) -> None:
        def change(found: Json) -> None:
            key = MAPS[FRONTENDS]
            found[key] = {**(found.get(key) or {}), name: process}

        self._objects.status(MANAGERS, manager, change)

    def _target(self, frontend: Json) -> None:
        spec, status = frontend["spec"], frontend["status"]
        wanted = (spec.get("targetIP", ""), spec.get("targetPort", 0))
        if not status.get("targetIP") and wanted[0]:
            self._arrive(frontend)
        if (status.get("targetIP"), status.get("targetPort")) == wanted:
            status["switchoverPhase"] = ""
            return
        volume = self._volume(spec["volumeName"])
        if volume not in {"preparing", "switching-over", "finalizing", "reverting"}:
            if not status.get("switchoverPhase"):
                # An engine that came back at another port is found by the multipath device itself.
                self._arrive(frontend)
            status["switchoverPhase"] = ""
            return
        name = frontend["metadata"]["name"]
        self._objects.clock.later(self._shared.durations.phase, lambda: self._phase(name, wanted))

    def _volume(self, name: str) -> str:
        found = self._objects.get(VOLUMES, name)
        return str((found or {}).get("status", {}).get("switchoverState", ""))

    def _phase(self, name: str, wanted: tuple[str, int]) -> None:
        """Report the next phase as done, if it is still wanted."""
        item = self._objects.get(FRONTENDS, name)
        if item is None or item["status"].get("currentState") != "running" or self.queue.away:
            return
        spec, status = item["spec"], item["status"]
        if (spec.get("targetIP"), spec.get("targetPort")) != wanted:
            return
        if (status.get("targetIP"), status.get("targetPort")) == wanted or not self._volume(spec["volumeName"]):
            return
        following = {"": "preparing", "preparing": "switching", "switching": "promoting"}
        phase = following.get(status.get("switchoverPhase", ""), "promoting")

        def change(status: Json) -> None:
            if phase != "promoting":
                status["switchoverPhase"] = phase
                return
            draft = {"spec": spec, "status": status}
            self._arrive(draft)
            status["switchoverPhase"] = ""

        self._objects.status(FRONTENDS, name, change)

    def _arrive(self, frontend: Json) -> None:
        spec, status = frontend["spec"], frontend["status"]
        address = f"{spec['targetIP']}:{spec['targetPort']}" if spec.get("targetIP") else ""
        path = {"targetIP": spec.get("targetIP", ""), "targetPort": spec.get("targetPort", 0)}
        path |= {"engineName": spec.get("engineName", ""), "anaState": "optimized"}
        status |= {"targetIP": spec.get("targetIP", ""), "targetPort": spec.get("targetPort", 0)}
        status |= {"activePath": address, "preferredPath": address, "paths": [path]}
