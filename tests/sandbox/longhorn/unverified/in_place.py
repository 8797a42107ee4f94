"""`InstanceManagerUpgrade` of v1.13, unverified: one node, whose instance manager gets another image in its place.

Its states: pending, relocating-engines, waiting-for-source-im, restoring-engines, waiting-for-healthy-volumes, then
completed or failed. Every abort goes through restoring-engines before failed.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json, Kind, seconds_of
from tests.sandbox.longhorn.controllers.managers import Managers
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import CONTROLS, MANAGER_UPGRADES, MANAGERS, REPLICAS, VOLUMES, manager_labels
from tests.sandbox.longhorn.unverified.steps import Cluster, Troubles, name

STEP = 2.0
ENDED = frozenset({"completed", "failed"})
CONTROL = "longhorn-instance-manager-upgrade-control"
TIMEOUT = "v2-instance-manager-upgrade-timeout"
_ORPHAN_AFTER = 15.0
_FOLLOWING = {
    "pending": "relocating-engines",
    "relocating-engines": "waiting-for-source-im",
    "waiting-for-source-im": "restoring-engines",
    "restoring-engines": "waiting-for-healthy-volumes",
    "waiting-for-healthy-volumes": "completed",
}


class OneManager:
    """Looks at an upgrade until it has ended."""

    def __init__(self, shared: Shared, managers: Managers, troubles: Troubles) -> None:
        self._shared, self._managers, self._troubles = shared, managers, troubles
        self._cluster, self._objects = Cluster(shared), shared.objects
        self.queue = shared.queue(self._look)
        self._acts: dict[str, Callable[[Json, str], bool]] = {
            "pending": self._check,
            "relocating-engines": self._relocate,
            "waiting-for-source-im": self._replace,
            "restoring-engines": self._restore,
            "waiting-for-healthy-volumes": self._healthy,
        }

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind != MANAGER_UPGRADES:
            return
        if gone:
            self._shared.closed.discard(item["spec"].get("nodeID", ""))
        else:
            self.queue.add(name(item))

    def _look(self, called: str) -> None:
        item = self._objects.get(MANAGER_UPGRADES, called)
        if item is None:
            return
        status = item.get("status", {})
        state = status.get("state") or "pending"
        if state in ENDED:
            return
        self.queue.add(called, STEP)
        if not status.get("startedAt"):
            self._tell(called, {"startedAt": self._shared.now(), "state": state})
            return
        reason = "" if status.get("abortReason") else self._abort_reason(item, state)
        if reason:
            self._abort(called, reason)
        elif (MANAGER_UPGRADES, state) in self._troubles.stalls:
            self._tell(called, {"state": state})
        elif (MANAGER_UPGRADES, state) in self._troubles.errors:
            self._shared.closed.discard(item["spec"]["nodeID"])
            self._tell(called, {"state": "failed", "errorMsg": self._troubles.errors[MANAGER_UPGRADES, state]})
        elif self._acts[state](item, item["spec"]["nodeID"]):
            self._leave(item, state)

    def _leave(self, item: Json, state: str) -> None:
        following = _FOLLOWING[state]
        if state == "restoring-engines":
            self._shared.closed.discard(item["spec"]["nodeID"])
            if item["status"].get("abortReason"):
                following = "failed"
        self._tell(name(item), {"state": following})

    def _tell(self, called: str, told: Json) -> None:
        self._cluster.tell(MANAGER_UPGRADES, called, told)

    def _abort(self, called: str, reason: str, message: str = "") -> None:
        told = {"abortRequested": True, "abortReason": reason, "state": "restoring-engines"}
        self._tell(called, {**told, "errorMsg": message or f"upgrade aborted: {reason}"})

    def _abort_reason(self, item: Json, state: str) -> str:
        if state in {"restoring-engines", "waiting-for-healthy-volumes"}:
            return ""
        status, moment = item["status"], self._objects.clock.now()
        age = moment - seconds_of(status["startedAt"])
        if self._is_orphan(item) and age > _ORPHAN_AFTER:
            return "orphaned-imu"
        if item["spec"].get("targetImage") != self._objects.setting("default-instance-manager-image"):
            return "target-image-changed"
        if status.get("abortRequested"):
            return str(status.get("abortReason") or "timeout")
        minutes = float(self._objects.setting(TIMEOUT) or 60)
        return "timeout" if age > minutes * 60 else ""

    def _is_orphan(self, item: Json) -> bool:
        """Whether the control is at the node with another upgrade (`recoverOrphanedNodes`); it knows no others."""
        node, control = item["spec"]["nodeID"], self._objects.get(CONTROLS, CONTROL) or {}
        known = (control.get("status", {}).get("nodes") or {}).get(node, {})
        return known.get("state") == "in-progress" and known.get("imuName") != name(item)

    def _check(self, item: Json, node: str) -> bool:
        """Refuse a node that can never be upgraded, and wait for volumes that are not healthy."""
        refused = self._cluster.refusals(node)
        if refused:
            self._tell(name(item), {"state": "failed", "errorMsg": "; ".join(refused)})
            return False
        ill = [name(each) for each in self._cluster.touched(node) if each["status"].get("robustness") != "healthy"]
        if ill or self._shared.dead(node):
            self._tell(name(item), {"errorMsg": f"waiting for healthy volumes: {', '.join(ill)}"})
            return False
        self._shared.closed.add(node)
        engines = {each: {"originalNodeID": node, "temporaryNodeID": ""} for each in self._served(node)}
        self._tell(name(item), {"engines": engines, "errorMsg": ""})
        return True

    def _served(self, node: str) -> list[str]:
        """The volumes whose engine has to go; standby volumes without a frontend are skipped."""
        found = []
        for volume in self._cluster.engines_on(node):
            item = self._objects.get(VOLUMES, volume) or {"status": {}}
            if not (item["status"].get("isStandby") and item["status"].get("frontendDisabled")):
                found.append(volume)
        return found

    def _relocate(self, item: Json, node: str) -> bool:
        engines = self._engines(item)
        for volume, told in engines.items():
            place = told["temporaryNodeID"]
            if not place or not self._cluster.manager_runs(place):
                place = self._place(volume, node, engines)
                if not place:
                    self._abort(name(item), "no-temporary-node", f"no temporary node for volume {volume}")
                    return False
                told["temporaryNodeID"] = place
            self._cluster.switch(volume, place)
        self._tell(name(item), {"engines": engines})
        if not all(self._cluster.is_switched(each, told["temporaryNodeID"]) for each, told in engines.items()):
            return False
        planned = self._let_go(node)
        self._tell(name(item), {"plannedDetachedReplicas": planned})
        return True

    def _engines(self, item: Json) -> dict[str, Json]:
        """The engines that are away or to go; volumes that were deleted are dropped."""
        found = item["status"].get("engines") or {}
        return {key: dict(each) for key, each in found.items() if self._objects.get(VOLUMES, key) is not None}

    def _place(self, volume: str, node: str, engines: dict[str, Json]) -> str:
        """A node with a healthy replica and a running manager: fewest engines first, then by name."""
        found = [each for each in self._cluster.healthy_places(volume) if each != node]
        found = [each for each in found if self._cluster.manager_runs(each)]
        planned = [each["temporaryNodeID"] for each in engines.values()]
        return min(found, key=lambda each: (self._engines_at(each) + planned.count(each), each), default="")

    def _engines_at(self, node: str) -> int:
        return len(self._cluster.engines_on(node))

    def _let_go(self, node: str) -> list[str]:
        """Take the replicas of a node out of their engines, before anything ends them."""
        found = []
        for replica in self._objects.of_node(REPLICAS, node):
            if replica.get("status", {}).get("currentState") == "running" and not replica["spec"].get("failedAt"):
                now = self._shared.now()
                told = {"failedAt": now, "lastFailedAt": now, "desireState": "stopped"}
                found.append(name(replica))
                self._objects.change(REPLICAS, name(replica), lambda each, told=told: each["spec"].update(told))  # type: ignore[misc]
        return found

    def _replace(self, item: Json, node: str) -> bool:
        """Change the image of the pod in its place, then wait until it is Ready and its disk takes replicas."""
        image = item["spec"]["targetImage"]
        for manager in self._cluster.managers(node):
            called = name(manager)
            pod = self._objects.get(PODS, called)
            if manager["spec"]["image"] != image:
                self._managers.in_place.add(called)
                self._put_image(called, node, image)
            if pod is not None and pod["spec"]["containers"][0]["image"] != image:
                self._objects.change(PODS, called, lambda each: each["spec"]["containers"][0].update(image=image))
                return False
        if not self._cluster.manager_runs(node, image) or not self._restarted(node, image):
            return False
        if not self._cluster.disks_ready(node):
            return False
        self._managers.in_place -= {name(each) for each in self._cluster.managers(node)}
        return True

    def _restarted(self, node: str, image: str) -> bool:
        for manager in self._cluster.managers(node):
            pod = self._objects.get(PODS, name(manager))
            statuses = (pod or {}).get("status", {}).get("containerStatuses", [])
            if any(each.get("image") == image and each.get("ready") for each in statuses):
                return True
        return False

    def _put_image(self, called: str, node: str, image: str) -> None:
        def change(item: Json) -> None:
            item["spec"]["image"] = image
            item["metadata"]["labels"] = manager_labels(node, image)

        self._objects.change(MANAGERS, called, change)

    def _restore(self, item: Json, node: str) -> bool:
        """Engines go home if there is an instance manager to go to; otherwise they stay, and that is waited for."""
        engines = {key: each for key, each in self._engines(item).items() if each["temporaryNodeID"]}
        if not engines:
            return True
        if not self._cluster.manager_runs(node):
            return bool(item["status"].get("abortReason"))
        for volume, told in engines.items():
            self._cluster.switch(volume, self._home(volume, told["originalNodeID"]))
        return all(self._cluster.is_switched(each, told["originalNodeID"]) for each, told in engines.items())

    def _home(self, volume: str, node: str) -> str:
        item = self._objects.get(VOLUMES, volume) or {"spec": {}}
        return "" if item["spec"].get("nodeID") == node else node

    def _healthy(self, item: Json, node: str) -> bool:
        return all(each["status"].get("robustness") == "healthy" for each in self._cluster.touched(node))
