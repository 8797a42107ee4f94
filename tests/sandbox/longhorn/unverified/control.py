"""`InstanceManagerUpgradeControl` of v1.13, unverified: one node at a time, in the order of their names.

It is there while the setting allows an upgrade and a node runs another image. When the setting is turned off, the node
under way is finished, and work on no other one starts. A node that failed is tried again, five times.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind, seconds_of
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import CONTROLS, MANAGER_UPGRADES, MANAGERS, NODES, SETTINGS, checksum
from tests.sandbox.longhorn.unverified.in_place import CONTROL
from tests.sandbox.longhorn.unverified.steps import Cluster, Troubles, name

STEP = 10.0
MOST_RETRIES = 5
ALLOWED = "allow-v2-instance-manager-automatic-upgrade"
START = "v2-instance-manager-upgrade-start-time"
SETTINGS_OF_V1_13 = {ALLOWED: "false", START: "", "v2-instance-manager-upgrade-timeout": "60"}
"""Names as read in August 2026; a reviewer asked to drop `v2` from them."""


class Control:
    """Looks every ten seconds."""

    def __init__(self, shared: Shared, troubles: Troubles) -> None:
        self._shared, self._objects, self._troubles = shared, shared.objects, troubles
        self._cluster = Cluster(shared)
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        made = kind == CONTROLS and not item.get("status")
        if not gone and (made or (kind == SETTINGS and name(item) == ALLOWED)):
            self.queue.add(CONTROL)

    def _look(self, _called: str) -> None:
        allowed = self._objects.setting(ALLOWED) == "true"
        control = self._objects.get(CONTROLS, CONTROL)
        image = self._objects.setting("default-instance-manager-image")
        if control is None:
            if allowed and self._behind(image):
                spec = {"targetImage": image, "startAt": self._objects.setting(START)}
                self._objects.create(CONTROLS, {"metadata": {"name": CONTROL}, "spec": spec})
            return
        status = control.get("status", {})
        nodes = {key: dict(each) for key, each in (status.get("nodes") or {}).items()}
        if not nodes:
            nodes = {each: {"state": "pending", "retryCount": 0} for each in self._behind(image)}
        before = {key: each["state"] for key, each in nodes.items()}
        current = self._follow(nodes)
        just_ended = before != {key: each["state"] for key, each in nodes.items()}
        begin = ""
        if not current and not just_ended and allowed and not self._early(control):
            begin = self._next(nodes)
        if begin:
            self._begin(nodes, begin, image)
            current = begin
        self._tell(nodes, current)
        if begin:
            spec = {"nodeID": begin, "targetImage": image}
            self._objects.create(MANAGER_UPGRADES, {"metadata": {"name": nodes[begin]["imuName"]}, "spec": spec})
        if current or (allowed and self._next(nodes)):
            self.queue.add(CONTROL, STEP)

    def _early(self, control: Json) -> bool:
        start = control["spec"].get("startAt", "")
        return bool(start) and seconds_of(start) > self._objects.clock.now()

    def _behind(self, image: str) -> list[str]:
        found = []
        for node in self._objects.all(NODES):
            managers = self._objects.of_node(MANAGERS, name(node))
            if any(each["spec"]["image"] != image and each["spec"].get("dataEngine") == "v2" for each in managers):
                found.append(name(node))
        return found

    def _next(self, nodes: dict[str, Json]) -> str:
        for node, told in sorted(nodes.items()):
            failed = told["state"] == "failed" and told.get("retryCount", 0) < MOST_RETRIES
            if told["state"] == "pending" or failed:
                return node
        return ""

    def _begin(self, nodes: dict[str, Json], node: str, image: str) -> None:
        told = nodes[node]
        if told["state"] == "failed":
            told["retryCount"] = told.get("retryCount", 0) + 1
        suffix = checksum(f"{node} {image} {told.get('retryCount', 0)} {self._objects.clock.now()}")[:8]
        told |= {"state": "in-progress", "imuName": f"imu-{node}-{suffix}", "startedAt": self._shared.now()}
        told["errorMsg"] = ""

    def _follow(self, nodes: dict[str, Json]) -> str:
        """Take over how the upgrade under way has ended; gives the node whose upgrade has not."""
        for node, told in sorted(nodes.items()):
            if told["state"] != "in-progress":
                continue
            upgrade = self._objects.get(MANAGER_UPGRADES, told.get("imuName", ""))
            status = (upgrade or {}).get("status", {})
            state = status.get("state", "failed" if upgrade is None else "pending")
            if state not in {"completed", "failed"}:
                return node
            told |= {"state": state, "completedAt": self._shared.now(), "errorMsg": status.get("errorMsg", "")}
            if state == "completed":
                told["errorMsg"] = ""
            if upgrade is not None:
                self._objects.delete(MANAGER_UPGRADES, name(upgrade))
        return ""

    def _tell(self, nodes: dict[str, Json], current: str) -> None:
        self._cluster.tell(CONTROLS, CONTROL, {"nodes": nodes, "currentNode": current})
