"""Longhorn nodes (`controller/node_controller.go`): conditions, disks, and which instance managers there are.

Each gets the default instance manager. Another one is deleted when it holds no instance that runs or starts.
A block disk is served by the instance manager: without one it is not ready, and after a start it has to be found again.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind, condition_of
from tests.sandbox.longhorn.controllers.instances import MAPS, running_manager, state_of
from tests.sandbox.longhorn.controllers.work import Shared, set_condition
from tests.sandbox.longhorn.kinds import MANAGERS, NODES, SETTINGS, manager_labels, manager_name
from tests.sandbox.longhorn.objects import Drafts


def manager_of(node: str, image: str) -> Json:
    """An instance manager, not started yet."""
    metadata = {"name": manager_name(node, image), "labels": manager_labels(node, image)}
    return {"metadata": metadata, "spec": {"image": image, "nodeID": node, "type": "aio", "dataEngine": "v2"}}


class Nodes:
    """Looks at a Longhorn node whenever it, its Kubernetes node or one of its instance managers has changed."""

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.queue = shared.queue(self._look)
        self.lost: set[str] = set()
        """Kubernetes nodes whose disks are not found after the next start of an instance manager."""
        self.beside = True
        """Whether a default instance manager is made next to an old one; v1.13 changes the old one in its place."""
        self._served: dict[str, str] = {}
        """The instance manager, and its pod's address, by which the disks of a Kubernetes node were found."""
        self._searching: set[tuple[str, str]] = set()

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind in {NODES, KUBERNETES_NODES} and not gone:
            self.queue.add(item["metadata"]["name"])
        elif kind == MANAGERS:
            self.queue.add(item["spec"].get("nodeID", ""))
        elif kind == SETTINGS and item["metadata"]["name"] == "default-instance-manager-image":
            for each in self._objects.all(NODES):
                self.queue.add(each["metadata"]["name"])

    def known(self, node: str) -> None:
        """The disks of a Kubernetes node are found already by the instance manager that runs now."""
        self._served[node] = self._serving(node)

    def _serving(self, node: str) -> str:
        manager = running_manager(self._shared, node)
        if manager is None or state_of(manager) != "running":
            return ""
        return f"{manager['metadata']['name']} {manager['status'].get('ip', '')} {self._started(manager)}"

    def _started(self, manager: Json) -> str:
        found = manager["status"].get("conditions") or []
        return next((str(each["lastTransitionTime"]) for each in found if each["type"] == "PodReady"), "")

    def _look(self, name: str) -> None:
        item = self._objects.get(NODES, name)
        if item is None:
            return
        self._managers(name)
        drafts = Drafts(self._objects)
        node = drafts.take(NODES, item)
        self._conditions(node)
        self._disks(node)
        drafts.write()

    def _conditions(self, node: Json) -> None:
        status, now = node["status"], self._shared.now()
        machine = self._objects.get(KUBERNETES_NODES, node["metadata"]["name"])
        ready = machine is not None and condition_of(machine, "Ready").get("status") == "True"
        reason, name = "" if ready else "KubernetesNodeNotReady", node["metadata"]["name"]
        set_condition(status, "Ready", str(ready), now, reason, "" if ready else f"Kubernetes node {name} not ready")
        cordoned = bool((machine or {}).get("spec", {}).get("unschedulable"))
        cordoned = cordoned and self._objects.setting("disable-scheduling-on-cordoned-node") == "true"
        reason = "KubernetesNodeCordoned" if cordoned else ""
        message = f"Node {name} is cordoned" if cordoned else ""
        set_condition(status, "Schedulable", str(not cordoned), now, reason, message)

    def _disks(self, node: Json) -> None:
        name, now = node["metadata"]["name"], self._shared.now()
        serving = self._serving(name)
        if serving and self._served.get(name) != serving:
            self._search(name, serving)
        found = bool(serving) and self._served.get(name) == serving and not self._shared.dead(name)
        manager = running_manager(self._shared, name)
        for disk, status in (node["status"].get("diskStatus") or {}).items():
            reason = "" if found else "DiskNotReady"
            message = "" if found else f"Disk {disk} on node {name} is not ready"
            set_condition(status, "Ready", str(found), now, reason, message)
            spec = node["spec"].get("disks", {}).get(disk, {})
            allowed = found and spec.get("allowScheduling", False)
            reason = "" if allowed else ("DiskNotReady" if not found else "DiskNotSchedulable")
            set_condition(status, "Schedulable", str(bool(allowed)), now, reason, message)
            status["instanceManagerName"] = manager["metadata"]["name"] if manager is not None and found else ""

    def _search(self, node: str, serving: str) -> None:
        if (node, serving) in self._searching:
            return
        self._searching.add((node, serving))

        def found() -> None:
            self._searching.discard((node, serving))
            if node in self.lost:
                return
            if self._serving(node) == serving:
                self._served[node] = serving
            self.queue.add(node)

        self._objects.clock.later(self._shared.durations.disk, found)

    def find_again(self, node: str) -> None:
        """A disk that was lost is there again."""
        self.lost.discard(node)
        self.queue.add(node)

    def _managers(self, node: str) -> None:
        """`syncInstanceManagers`."""
        image = self._objects.setting("default-instance-manager-image")
        there = False
        for each in self._objects.of_node(MANAGERS, node):
            if each["spec"]["image"] == image:
                there = True
            elif self.beside and not _holds(each) and state_of(each) != "unknown":
                self._objects.delete(MANAGERS, each["metadata"]["name"])
        if not self.beside and self._objects.of_node(MANAGERS, node):
            return
        if not there and image:
            self._objects.create(MANAGERS, manager_of(node, image))


def _holds(manager: Json) -> bool:
    """Whether it runs instances that run or start."""
    if state_of(manager) != "running":
        return False
    maps = [manager["status"].get(key) or {} for key in MAPS.values()]
    return any(each["status"]["state"] in {"running", "starting"} for found in maps for each in found.values())
