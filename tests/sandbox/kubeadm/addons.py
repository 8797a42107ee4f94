"""kube-proxy on each Kubernetes node, and CoreDNS: the pods of a DaemonSet and a Deployment, which no controller of the
Kubernetes in memory makes."""

from __future__ import annotations

from tests.sandbox.kubeadm import building
from tests.sandbox.kubeadm.building import DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, SYSTEM
from tests.sandbox.kubeadm.description import DNS, PROXY, image_of
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.controllers.work import Place, Work
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json, Kind, controller_of, is_ready
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.kubernetes.store import Change

_STATUS = Writing(manager="kube-controller-manager", subresource="status")


class Addons:
    """Looks after the pods of both, one at a time."""

    def __init__(self, kubernetes: Kubernetes, version: str) -> None:
        self._kubernetes, self._resources = kubernetes, kubernetes.server.resources
        self._work = Work(self._resources, kubernetes.durations.control, self._look)
        self._resources.create(DAEMON_SETS, SYSTEM, building.kube_proxy(version))
        made = self._resources.create(DEPLOYMENTS, SYSTEM, building.coredns(version))
        self._resources.create(REPLICA_SETS, SYSTEM, building.replica_set(made))
        self._resources.store.listeners.append(self._changed)
        self._work.add((SYSTEM, PROXY))
        self._work.add((SYSTEM, DNS))

    def upgrade(self, version: str) -> None:
        """Give both the images of a version."""
        for kind, name in ((DAEMON_SETS, PROXY), (DEPLOYMENTS, DNS)):
            wanted = image_of(name, version)

            def change(item: Json, image: str = wanted) -> None:
                item["spec"]["template"]["spec"]["containers"][0]["image"] = image

            self._resources.change(kind, SYSTEM, name, change)
        wanted_set = building.replica_set(self._resources.get(DEPLOYMENTS, SYSTEM, DNS))
        name = wanted_set["metadata"]["name"]
        if self._resources.store.kept(REPLICA_SETS, SYSTEM, name) is None:
            for old in self._resources.store.list(REPLICA_SETS, SYSTEM):
                self._resources.change(
                    REPLICA_SETS, SYSTEM, old["metadata"]["name"], lambda item: item["spec"].update(replicas=0)
                )
            self._resources.create(REPLICA_SETS, SYSTEM, wanted_set)
        self._work.add((SYSTEM, PROXY))
        self._work.add((SYSTEM, DNS))

    def _changed(self, change: Change) -> None:
        if change.kind == NODES and change.type == "ADDED":
            self._work.add((SYSTEM, PROXY))
        if change.kind == PODS and change.item["metadata"]["namespace"] == SYSTEM:
            owner = (controller_of(change.item) or {}).get("kind")
            if owner == DAEMON_SETS.kind:
                self._work.add((SYSTEM, PROXY))
            elif owner == REPLICA_SETS.kind:
                self._work.add((SYSTEM, DNS))

    def _look(self, place: Place) -> None:
        self._proxies() if place[1] == PROXY else self._servers()

    def _pods(self, owner: Json) -> list[Json]:
        uid = owner["metadata"]["uid"]
        return [
            each for each in self._resources.store.each(PODS, SYSTEM) if (controller_of(each) or {}).get("uid") == uid
        ]

    def _proxies(self) -> None:
        owner = self._resources.get(DAEMON_SETS, SYSTEM, PROXY)
        there = {each["spec"]["nodeName"]: each for each in self._pods(owner)}
        nodes = [each["metadata"]["name"] for each in self._resources.store.each(NODES)]
        for node in nodes:
            if node not in there:
                self._resources.create(PODS, SYSTEM, building.pod_of(DAEMON_SETS, owner, node))
        if all(is_ready(each) for each in there.values()) and len(there) == len(nodes):
            self._replace_one(owner, [*there.values()])
        ready = sum(is_ready(each) for each in there.values())
        new = sum(_image(each) == _image_of_set(owner) for each in there.values())
        counts = {"desiredNumberScheduled": len(nodes), "currentNumberScheduled": len(there), "numberReady": ready}
        counts |= {"numberMisscheduled": 0, "updatedNumberScheduled": new, "numberAvailable": ready}
        self._tell(DAEMON_SETS, owner, {**counts, "observedGeneration": owner["metadata"]["generation"]})

    def _replace_one(self, owner: Json, pods: list[Json]) -> None:
        old = next((each for each in pods if _image(each) != _image_of_set(owner)), None)
        if old is not None and "deletionTimestamp" not in old["metadata"]:
            self._resources.delete(PODS, SYSTEM, old["metadata"]["name"])

    def _servers(self) -> None:
        deployment = self._resources.get(DEPLOYMENTS, SYSTEM, DNS)
        image, wanted = _image_of_set(deployment), deployment["spec"]["replicas"]
        ready = new = 0
        for owner in self._resources.store.list(REPLICA_SETS, SYSTEM):
            pods = [each for each in self._pods(owner) if "deletionTimestamp" not in each["metadata"]]
            is_new = _image_of_set(owner) == image
            of_set = sum(is_ready(each) for each in pods)
            ready += of_set
            self._tell(REPLICA_SETS, owner, {"replicas": len(pods), "readyReplicas": of_set})
            new += len(pods) if is_new else 0
            for _missing in range(owner["spec"]["replicas"] - len(pods)):
                self._resources.create(PODS, SYSTEM, building.pod_of(REPLICA_SETS, owner))
            if not is_new and pods and self._ready_of(image) >= wanted:
                self._resources.delete(PODS, SYSTEM, pods[0]["metadata"]["name"])
        counts = {"replicas": wanted, "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": new}
        self._tell(DEPLOYMENTS, deployment, {**counts, "observedGeneration": deployment["metadata"]["generation"]})

    def _ready_of(self, image: str) -> int:
        return sum(is_ready(each) and _image(each) == image for each in self._resources.store.each(PODS, SYSTEM))

    def _tell(self, kind: Kind, owner: Json, status: Json) -> None:
        if {key: (owner.get("status") or {}).get(key) for key in status} != status:
            name = owner["metadata"]["name"]
            self._resources.change(kind, SYSTEM, name, lambda item: item.update(status=status), _STATUS)


def _image(pod: Json) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def _image_of_set(owner: Json) -> str:
    return str(owner["spec"]["template"]["spec"]["containers"][0]["image"])
