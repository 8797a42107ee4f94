"""Replicas (`controller/replica_controller.go`): their instance, and the slots of a Kubernetes node for rebuilds."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.instances import Instances
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import BACKING_IMAGES, MANAGERS, REPLICAS
from tests.sandbox.longhorn.objects import Drafts

LOOK_AGAIN = 2.0


def is_rebuilding(replica: Json) -> bool:
    """Whether a replica is to become healthy, or on its way to it."""
    spec = replica["spec"]
    return not spec.get("healthyAt") and not spec.get("failedAt")


class Replicas:
    """A rebuild that finds no slot on its Kubernetes node waits there, stopped (`CanStartRebuildingReplica`)."""

    def __init__(self, shared: Shared, instances: Instances) -> None:
        self._shared, self._objects, self._instances = shared, shared.objects, instances
        self.queue = shared.queue(self._look)
        self.taken: dict[str, int] = {}
        """Slots that rebuilds of others hold, by Kubernetes node."""

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        name = item["metadata"]["name"]
        if kind == REPLICAS and gone:
            self._instances.remove(REPLICAS, name, item.get("status", {}).get("instanceManagerName", ""))
        elif kind == REPLICAS:
            self.queue.add(name)
        elif kind == BACKING_IMAGES:
            for each in self._objects.all(REPLICAS):
                if each["spec"].get("backingImage") == name:
                    self.queue.add(each["metadata"]["name"])
        elif kind == MANAGERS:
            for each in self._objects.of_node(REPLICAS, item["spec"].get("nodeID", "")):
                self.queue.add(each["metadata"]["name"])

    def _look(self, name: str) -> None:
        item = self._objects.get(REPLICAS, name)
        if item is None:
            return
        if self._waits_for_slot(item):
            self.queue.add(name, LOOK_AGAIN)
            return
        drafts = Drafts(self._objects)
        self._instances.look(REPLICAS, drafts.take(REPLICAS, item))
        drafts.write()

    def _waits_for_slot(self, replica: Json) -> bool:
        status, spec = replica.get("status", {}), replica["spec"]
        if spec.get("desireState") != "running" or not is_rebuilding(replica):
            return False
        if status.get("currentState", "stopped") != "stopped" or status.get("starting"):
            return False
        limit = int(self._objects.setting("concurrent-replica-rebuild-per-node-limit") or 5)
        busy = self.taken.get(spec["nodeID"], 0)
        for each in self._objects.of_node(REPLICAS, spec["nodeID"]):
            found = each.get("status", {})
            if is_rebuilding(each) and (found.get("starting") or found.get("currentState") == "running"):
                busy += 1
        return 0 < limit <= busy
