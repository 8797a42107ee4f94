"""The volume controller (`controller/volume_controller.go`, `syncVolume`): replicas, state, switch of the engine."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers import attaching, replenishing, switching
from tests.sandbox.longhorn.controllers.instances import Instances
from tests.sandbox.longhorn.controllers.parts import Parts
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import (
    ENGINES,
    FRONTENDS,
    MANAGER_UPGRADES,
    MANAGERS,
    NODES,
    REPLICAS,
    SNAPSHOTS,
    VOLUMES,
)

_FOLLOWED = frozenset({ENGINES, FRONTENDS, REPLICAS})


class Volumes:
    """Looks at a volume whenever something of it has changed."""

    def __init__(self, shared: Shared, instances: Instances) -> None:
        self._shared, self._objects, self._instances = shared, shared.objects, instances
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == VOLUMES and gone:
            self._clear(item["metadata"]["name"])
        elif kind == VOLUMES:
            self.queue.add(item["metadata"]["name"])
        elif kind in _FOLLOWED:
            self.queue.add(item["spec"].get("volumeName", ""))
        elif kind in {MANAGERS, NODES}:
            self._place_changed(kind, item)
        elif kind == MANAGER_UPGRADES:
            # It closes its node to replicas for a time, and ends that without a change of the node.
            self._degraded()

    def _place_changed(self, kind: Kind, item: Json) -> None:
        """Only volumes that wait for a place, or have something there, can mean the change."""
        node = item["metadata"]["name"] if kind == NODES else item["spec"].get("nodeID", "")
        for replica in self._objects.of_node(REPLICAS, node):
            self.queue.add(replica["spec"]["volumeName"])
        if kind == NODES:
            self._degraded()

    def _degraded(self) -> None:
        for volume in self._objects.all(VOLUMES):
            if volume.get("status", {}).get("robustness") == "degraded":
                self.queue.add(volume["metadata"]["name"])

    def _clear(self, volume: str) -> None:
        """Remove all that a deleted volume consisted of; a snapshot loses its finalizer by itself."""
        for kind in (FRONTENDS, ENGINES, REPLICAS, SNAPSHOTS):
            for each in self._objects.of_volume(kind, volume):
                self._objects.delete(kind, each["metadata"]["name"])

    def _look(self, name: str) -> None:
        item = self._objects.get(VOLUMES, name)
        if item is None or item["spec"].get("dataEngine") != "v2":
            return
        parts = Parts(self._shared, self._instances, item)
        parts.later = lambda seconds: self.queue.add(name, seconds)
        if not parts.engines:
            return
        try:
            _reconcile_replicas(parts)
            attaching.reconcile(parts)
            switching.process(parts)
            replenishing.clean(parts)
        finally:
            parts.write()


def _reconcile_replicas(parts: Parts) -> None:
    """Robustness from the modes of the active engine (`ReconcileEngineReplicaState`)."""
    engine, status, spec = parts.engine(), parts.status, parts.spec
    assert engine is not None
    state = engine["status"].get("currentState", "stopped")
    if state == "unknown":
        status["robustness"] = "unknown"
        return
    modes = parts.modes(engine)
    for name, replica in parts.replicas.items():
        in_error = not replica["spec"].get("failedAt") and replica["status"].get("currentState") == "error"
        if in_error or modes.get(name) == "ERR":
            parts.fail(replica)
        elif modes.get(name) == "RW":
            _healthy(parts, replica)
    if state != "running":
        return
    healthy = sum(modes.get(name) == "RW" for name in parts.replicas)
    before = status.get("robustness")
    if healthy == 0:
        return
    if healthy >= spec.get("numberOfReplicas", 0):
        status |= {"robustness": "healthy", "lastDegradedAt": ""}
        return
    if before != "degraded":
        status |= {"robustness": "degraded", "lastDegradedAt": parts.shared.now()}
    expanding = spec["size"] != engine["status"].get("currentSize")
    if len(parts.engines) == 1 and not expanding:
        replenishing.replenish(parts, engine)


def _healthy(parts: Parts, replica: Json) -> None:
    spec = replica["spec"]
    if not spec.get("healthyAt"):
        spec |= {"healthyAt": parts.shared.now(), "rebuildRetryCount": 0}
    spec["lastHealthyAt"] = spec.get("lastHealthyAt") or spec["healthyAt"]
