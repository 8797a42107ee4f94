"""Instance managers and their pods (`controller/instance_manager_controller.go`).

Two v2 instance managers of one Kubernetes node never run side by side: huge pages, cores and block disks are exclusive.
A stopped one stays stopped while another is not, and starts only with the default image. One that lost its pod gets a
new one with its own image; one that is deleted takes its pod with it. Each running one has a budget, which is lifted
only on a Kubernetes node that is cordoned and from which all volumes are detached (`canDeleteInstanceManagerPDB`).
"""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import BUDGETS, PODS
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind, condition_of, owner_of
from tests.sandbox.longhorn.controllers.backing_images import COPIES
from tests.sandbox.longhorn.controllers.instances import MAPS, state_of
from tests.sandbox.longhorn.controllers.work import Shared, set_condition
from tests.sandbox.longhorn.kinds import ENGINES, FRONTENDS, MANAGERS, NAMESPACE, REPLICAS, manager_labels
from tests.sandbox.longhorn.objects import Drafts

API_VERSION = 6
"""`engineapi.CurrentInstanceManagerAPIVersion`; a switch needs 4."""
LOOK_AGAIN = 5.0


def pod_of(manager: Json, restart_policy: str = "Never") -> Json:
    """The pod of an instance manager."""
    spec, name = manager["spec"], manager["metadata"]["name"]
    container = {"name": "instance-manager", "image": spec["image"]}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": manager_labels(spec["nodeID"], spec["image"])}
    owner = {**owner_of(MANAGERS, manager)}
    metadata["ownerReferences"] = [owner]
    body = {"containers": [container], "nodeName": spec["nodeID"], "restartPolicy": restart_policy}
    body["terminationGracePeriodSeconds"] = 10
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


class Managers:
    """Looks at an instance manager whenever it, its pod or its Kubernetes node has changed."""

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.queue = shared.queue(self._look)
        self.held: set[str] = set()
        """Kubernetes nodes on which no pod of an instance manager is made."""
        self.in_place: set[str] = set()
        """Instance managers whose pod gets another image in its place, as v1.13 does it."""
        self.restart_policy = "Never"
        """`Always` where the pod gets another image in its place."""

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        name = item["metadata"]["name"]
        if kind == MANAGERS and gone:
            self._objects.delete(PODS, name)
            self._objects.delete(BUDGETS, name)
        if kind in {MANAGERS, PODS}:
            self.queue.add(name)
        if kind == MANAGERS:
            self._beside(item)
        elif kind == KUBERNETES_NODES:
            self._beside({"spec": {"nodeID": name}, "metadata": {"name": ""}})
        elif kind in {REPLICAS, ENGINES, FRONTENDS} and self._cordoned(item["spec"].get("nodeID", "")):
            self._beside(item)

    def _beside(self, item: Json) -> None:
        for each in self._objects.of_node(MANAGERS, item["spec"].get("nodeID", "")):
            if each["metadata"]["name"] != item["metadata"]["name"]:
                self.queue.add(each["metadata"]["name"])

    def _look(self, name: str) -> None:
        item = self._objects.get(MANAGERS, name)
        if item is None or "deletionTimestamp" in item["metadata"]:
            return
        drafts = Drafts(self._objects)
        manager = drafts.take(MANAGERS, item)
        status = manager["status"]
        self._from_pod(manager)
        if status["currentState"] == "stopped" and not self._may_start(manager):
            drafts.write()
            return
        self._from_node(manager)
        if status["currentState"] == "starting" and name in self.in_place:
            status["currentState"] = "upgrading"
        if status["currentState"] in {"stopped", "error", "starting", "upgrading"}:
            for key in (*MAPS.values(), COPIES):
                status[key] = {}
        if status["currentState"] == "running":
            status |= {"apiVersion": API_VERSION, "apiMinVersion": 1, "proxyApiVersion": 7, "proxyApiMinVersion": 1}
        elif status["currentState"] != "unknown":
            status |= {"apiVersion": 0, "apiMinVersion": 0}
        drafts.write()
        if status["currentState"] in {"stopped", "error"}:
            self._make_pod(manager)
        elif status["currentState"] == "running":
            self._budget(manager)

    def _from_pod(self, manager: Json) -> None:
        """`syncStatusWithPod`."""
        status, now = manager["status"], self._shared.now()
        pod = self._objects.get(PODS, manager["metadata"]["name"])
        if pod is None:
            set_condition(status, "PodReady", "False", now, "NotFound")
            status["currentState"] = "stopped" if status.get("currentState", "") in {"", "stopped"} else "error"
        elif "deletionTimestamp" in pod["metadata"]:
            set_condition(status, "PodReady", "False", now, "Deleting")
            status["currentState"] = "error"
        elif pod["status"].get("phase") == "Pending":
            status["currentState"] = "starting"
        elif pod["status"].get("phase") == "Running":
            told = pod["status"].get("containerStatuses", [])
            ready = bool(told) and all(each.get("ready") for each in told)
            status["currentState"] = "running" if ready else "starting"
            if ready:
                status["ip"] = pod["status"].get("podIP", "")
            set_condition(status, "PodReady", str(ready), now, "Running" if ready else "Starting")
        else:
            set_condition(status, "PodReady", "False", now, "Failed")
            status["currentState"] = "error"

    def _may_start(self, manager: Json) -> bool:
        """Whether its pod may be started (`canProceedWithInstanceManagerSync`)."""
        for each in self._objects.of_node(MANAGERS, manager["spec"]["nodeID"]):
            if each["metadata"]["name"] == manager["metadata"]["name"]:
                continue
            if state_of(each) not in {"", "stopped"}:
                return False
        return bool(manager["spec"]["image"] == self._objects.setting("default-instance-manager-image"))

    def _from_node(self, manager: Json) -> None:
        """`syncStatusWithNode`: unknown where the Kubernetes node is lost."""
        status, now = manager["status"], self._shared.now()
        node = self._objects.get(KUBERNETES_NODES, manager["spec"]["nodeID"])
        if node is None or condition_of(node, "Ready").get("status") != "True":
            if status["currentState"] not in {"error", "unknown"}:
                status["currentState"] = "unknown"
            set_condition(status, "NodeReady", "False", now, "Down", "Instance manager node is down or deleted")
        elif node["spec"].get("unschedulable"):
            message = f"Instance manager node {manager['spec']['nodeID']} is unschedulable"
            set_condition(status, "NodeReady", "False", now, "Unschedulable", message)
        else:
            set_condition(status, "NodeReady", "True", now)

    def _make_pod(self, manager: Json) -> None:
        """`handlePod`: never on a cordoned Kubernetes node, and only once the old pod is gone."""
        name, node = manager["metadata"]["name"], manager["spec"]["nodeID"]
        pod = self._objects.get(PODS, name)
        if pod is not None:
            self._objects.delete(PODS, name)
            return
        if self._cordoned(node) or node in self.held or self._objects.get(KUBERNETES_NODES, node) is None:
            self.queue.add(name, LOOK_AGAIN)
            return
        if any(each["spec"].get("nodeName") == node for each in self._pods_beside(name)):
            self.queue.add(name, 1.0)
            return
        self._objects.create(PODS, pod_of(manager, self.restart_policy))

    def _pods_beside(self, name: str) -> list[Json]:
        key = "longhorn.io/data-engine"
        found = self._objects.all(PODS)
        return [each for each in found if each["metadata"]["name"] != name and self._label(each, key) == "v2"]

    def _label(self, item: Json, key: str) -> str:
        return str(item["metadata"].get("labels", {}).get(key, ""))

    def _cordoned(self, node: str) -> bool:
        item = self._objects.get(KUBERNETES_NODES, node)
        return bool((item or {}).get("spec", {}).get("unschedulable"))

    def _budget(self, manager: Json) -> None:
        """`syncInstanceManagerPDB`."""
        name, spec = manager["metadata"]["name"], manager["spec"]
        there = self._objects.get(BUDGETS, name) is not None
        if self._cordoned(spec["nodeID"]):
            if there and self._may_lift(manager):
                self._objects.delete(BUDGETS, name)
        elif not there:
            selector = {"matchLabels": manager_labels(spec["nodeID"], spec["image"])}
            metadata = {"name": name, "namespace": NAMESPACE}
            body = {"metadata": metadata, "spec": {"minAvailable": 1, "selector": selector}}
            self._objects.create(BUDGETS, body)

    def _may_lift(self, manager: Json) -> bool:
        """Whether its budget may be lifted (`canDeleteInstanceManagerPDB`)."""
        node, policy = manager["spec"]["nodeID"], self._objects.setting("node-drain-policy")
        for each in self._objects.of_node(MANAGERS, node):
            status = each.get("status", {})
            if status.get("instanceEngines") or status.get("instanceEngineFrontends"):
                return False
        replicas = self._objects.of_node(REPLICAS, node)
        if policy == "always-allow":
            return True
        if policy == "block-for-eviction" and replicas:
            return False
        if policy == "allow-if-replica-is-stopped":
            replicas = [each for each in replicas if each.get("status", {}).get("currentState") != "stopped"]
        return all(self._protected_elsewhere(each, node) for each in replicas)

    def _protected_elsewhere(self, replica: Json, node: str) -> bool:
        spec = replica["spec"]
        if not spec.get("healthyAt") and not spec.get("failedAt"):
            return True
        for each in self._objects.of_volume(REPLICAS, spec["volumeName"]):
            there = each["spec"].get("nodeID", "")
            healthy = each["spec"].get("healthyAt") and not each["spec"].get("failedAt")
            budgets = [self._objects.get(BUDGETS, found["metadata"]["name"]) for found in self._there(there)]
            if there != node and healthy and any(budgets) and not self._cordoned(there):
                return True
        return False

    def _there(self, node: str) -> list[Json]:
        return self._objects.of_node(MANAGERS, node)
