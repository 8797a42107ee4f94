"""The parts that both generations share: a loop over states, faults of a state, and acts on volumes and managers."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.instances import running_manager, state_of
from tests.sandbox.longhorn.controllers.work import Shared, condition
from tests.sandbox.longhorn.kinds import ENGINES, MANAGERS, NODES, REPLICAS, VOLUMES
from tests.sandbox.longhorn.objects import Objects


@dataclass
class Troubles:
    """Faults of a state: it is not left, or it ends in an error."""

    stalls: set[tuple[Kind, str]] = field(default_factory=set)
    errors: dict[tuple[Kind, str], str] = field(default_factory=dict)

    def clear(self) -> None:
        """End all of them."""
        self.stalls.clear()
        self.errors.clear()


class Cluster:
    """Questions about volumes and nodes, and the few acts on them."""

    def __init__(self, shared: Shared) -> None:
        self.shared, self.objects = shared, shared.objects

    def tell(self, kind: Kind, called: str, told: Json) -> None:
        """Write the status of an upgrade, with the node whose longhorn-manager has taken it up: the first one."""
        owner = next(map(name, self.objects.all(NODES)), "")
        self.objects.status(kind, called, lambda status: status.update({"ownerID": owner, **told}))

    def engine(self, volume: str) -> Json | None:
        """The active engine of a volume."""
        found = self.objects.of_volume(ENGINES, volume)
        return next((each for each in found if each["spec"].get("active")), None)

    def attached(self) -> list[Json]:
        """The attached v2 volumes."""
        found = self.objects.all(VOLUMES)
        return [each for each in found if each["status"].get("state") == "attached" and _v2(each)]

    def engines_on(self, node: str) -> list[str]:
        """The attached volumes whose engine is on a Kubernetes node."""
        return [name(each) for each in self.attached() if each["status"].get("currentEngineNodeID") == node]

    def touched(self, node: str) -> list[Json]:
        """The attached volumes with an engine or a replica there."""
        held = {each["spec"]["volumeName"] for each in self.objects.of_node(REPLICAS, node)}
        return [each for each in self.attached() if name(each) in held or name(each) in self.engines_on(node)]

    def healthy_places(self, volume: str) -> set[str]:
        """The Kubernetes nodes with a replica of a volume that is RW."""
        modes = (self.engine(volume) or {}).get("status", {}).get("replicaModeMap") or {}
        found = self.objects.of_volume(REPLICAS, volume)
        return {each["spec"]["nodeID"] for each in found if modes.get(name(each)) == "RW"}

    def manager_runs(self, node: str, image: str = "") -> bool:
        """Whether the v2 instance manager of a Kubernetes node runs, and with this image."""
        manager = running_manager(self.shared, node)
        if manager is None or state_of(manager) != "running" or self.shared.dead(node):
            return False
        return not image or manager["spec"]["image"] == image

    def disks_ready(self, node: str) -> bool:
        """Whether a block disk of a Longhorn node takes replicas."""
        item = self.objects.get(NODES, node)
        disks = ((item or {}).get("status", {}).get("diskStatus") or {}).values()
        return any(condition(each, "Schedulable") == "True" for each in disks)

    def image_is_there(self, node: str, image: str) -> bool:
        """Whether an image is in the status of a Kubernetes node."""
        item = self.objects.get(KUBERNETES_NODES, node) or {}
        return any(image in each.get("names", []) for each in item.get("status", {}).get("images", []))

    def switch(self, volume: str, node: str) -> None:
        """Have the engine of a volume somewhere else; empty: at its workload."""
        self.objects.change(VOLUMES, volume, lambda item: item["spec"].update(engineNodeID=node))

    def is_switched(self, volume: str, node: str) -> bool:
        """Whether the engine of a volume is there, with no switch under way; a volume that is gone is no hindrance."""
        item = self.objects.get(VOLUMES, volume)
        if item is None or item["status"].get("state") != "attached":
            return True
        wanted = node or item["spec"].get("nodeID", "")
        status = item["status"]
        return status.get("currentEngineNodeID") == wanted and not status.get("switchoverState")

    def refusals(self, node: str) -> list[str]:
        """The reasons for which no generation upgrades this node."""
        found = []
        for volume in self.touched(node):
            places = {each["spec"].get("nodeID") for each in self.objects.of_volume(REPLICAS, name(volume))}
            if volume["spec"].get("numberOfReplicas", 0) < 2:
                found.append(f"volume {name(volume)} has a single replica")
            elif len(places) < 2:
                found.append(f"all replicas of volume {name(volume)} are on node {node}")
            elif volume["spec"].get("frontend") == "ublk":
                found.append(f"volume {name(volume)} uses the ublk frontend")
        if len(list(self.objects.all(NODES))) < 2:
            found.append("the cluster has a single node")
        return found

    def managers(self, node: str) -> list[Json]:
        """The instance managers of a Kubernetes node."""
        return self.objects.of_node(MANAGERS, node)


def name(item: Json) -> str:
    """The name of an object."""
    return str(item["metadata"]["name"])


def _v2(volume: Json) -> bool:
    return bool(volume["spec"].get("dataEngine") == "v2")


def state_in(objects: Objects, kind: Kind, called: str, default: str) -> str:
    """The state of an upgrade."""
    item = objects.get(kind, called)
    return str((item or {}).get("status", {}).get("state") or default)
