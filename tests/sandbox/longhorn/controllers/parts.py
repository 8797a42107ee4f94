"""A volume with its engines, frontends and replicas as drafts, on which the volume controller works."""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind, condition_of
from tests.sandbox.longhorn.controllers.instances import Instances, running_manager, state_of
from tests.sandbox.longhorn.controllers.work import Shared, condition
from tests.sandbox.longhorn.kinds import ENGINES, FRONTENDS, NODES, REPLICAS, VOLUMES, volume_of
from tests.sandbox.longhorn.objects import Drafts


class Parts:
    """Drafts of a volume and of all that it consists of. `write` writes them as `syncVolume` does."""

    def __init__(self, shared: Shared, instances: Instances, item: Json) -> None:
        self.shared, self.objects, self.instances = shared, shared.objects, instances
        self.drafts = Drafts(self.objects)
        self.name: str = item["metadata"]["name"]
        self.replicas = self._drafts(REPLICAS)
        self.engines = self._drafts(ENGINES)
        self.frontends = self._drafts(FRONTENDS)
        self.volume = self.drafts.take(VOLUMES, item, status_only=True)
        self.spec: Json = self.volume["spec"]
        self.status: Json = self.volume["status"]
        self.later: Callable[[float], None] = lambda _seconds: None
        """Have the volume looked at again after so many seconds."""

    def _drafts(self, kind: Kind) -> dict[str, Json]:
        found = self.objects.of_volume(kind, self.name)
        return {
            each["metadata"]["name"]: self.drafts.take(kind, each)
            for each in found
            if "deletionTimestamp" not in each["metadata"]
        }

    def engine(self) -> Json | None:
        """The engine that serves now (`datastore.GetCurrentEngineAndExtras`: the one that is active)."""
        active = [each for each in self.engines.values() if each["spec"].get("active")]
        return next(iter([*active, *self.engines.values()]), None)

    def frontend(self) -> Json | None:
        """The frontend that serves now."""
        active = [each for each in self.frontends.values() if each["spec"].get("active")]
        return next(iter([*active, *self.frontends.values()]), None)

    def modes(self, engine: Json | None) -> dict[str, str]:
        """The modes of the replicas in an engine."""
        return dict((engine or {}).get("status", {}).get("replicaModeMap") or {})

    def target(self) -> str:
        """The Kubernetes node on which the engine should run."""
        return str(self.spec.get("engineNodeID") or self.spec.get("nodeID", ""))

    def drop(self, kind: Kind, name: str) -> None:
        """Delete an engine, a frontend or a replica."""
        held = {ENGINES: self.engines, FRONTENDS: self.frontends, REPLICAS: self.replicas}[kind]
        held.pop(name, None)
        self.drafts.drop(kind, name)

    def add(self, kind: Kind, body: Json) -> Json:
        """Make an engine or a replica of the volume, and give a draft of it."""
        metadata = {"name": body["metadata"]["name"], "labels": {"longhornvolume": self.name}}
        owner = {"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "name": self.name}
        metadata["ownerReferences"] = [{**owner, "uid": self.volume["metadata"]["uid"]}]
        made = self.objects.create(kind, {**body, "metadata": metadata})
        assert volume_of(kind, made) == self.name
        draft = self.drafts.take(kind, made)
        {ENGINES: self.engines, FRONTENDS: self.frontends, REPLICAS: self.replicas}[kind][metadata["name"]] = draft
        return draft

    def fail(self, replica: Json) -> None:
        """Mark a replica as failed (`setReplicaFailedAt`), and stop it."""
        spec = replica["spec"]
        if not spec.get("failedAt"):
            spec["failedAt"] = spec["lastFailedAt"] = self.shared.now()
        spec["desireState"] = "stopped"

    def node_is_down(self, name: str) -> bool:
        """Whether a Kubernetes node is down or there is none (`datastore.IsNodeDownOrDeleted`)."""
        item = self.objects.get(KUBERNETES_NODES, name)
        return item is None or condition_of(item, "Ready").get("status") != "True"

    def can_launch(self, node: str) -> bool:
        """Whether an instance manager starts or runs there (`canInstanceManagerLaunchReplica`)."""
        manager = running_manager(self.shared, node)
        return not self.node_is_down(node) and manager is not None and state_of(manager) in {"running", "starting"}

    def takes_replicas(self, node: Json) -> bool:
        """Whether replicas are scheduled to a Longhorn node (`scheduler.ListSchedulableNodes`, its disks)."""
        status = node.get("status", {})
        if condition(status, "Ready") != "True" or condition(status, "Schedulable") != "True":
            return False
        if node["metadata"]["name"] in self.shared.closed:
            return False
        if not node["spec"].get("allowScheduling") or "deletionTimestamp" in node["metadata"]:
            return False
        disks = (status.get("diskStatus") or {}).values()
        return any(condition(each, "Schedulable") == "True" for each in disks)

    def longhorn_node(self, name: str) -> Json | None:
        """The Longhorn node of this name."""
        return self.objects.get(NODES, name)

    def write(self) -> None:
        """Write all that has changed: replicas, engines, frontends, then the volume."""
        self.drafts.write()
