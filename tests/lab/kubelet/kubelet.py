"""The process kubelet: gives every pod that is bound to one of its Kubernetes nodes a worker."""

from __future__ import annotations

import asyncio
import shutil
import traceback

from tests.lab.api import Json
from tests.lab.errors import LabError
from tests.lab.faults import PodName
from tests.lab.kubelet.execution import Executor
from tests.lab.kubelet.node import KubernetesNode
from tests.lab.kubelet.place import Host
from tests.lab.kubelet.pod import PodWorker


class Kubelet:
    """Serves all Kubernetes nodes of a lab."""

    def __init__(self, host: Host, nodes: list[KubernetesNode], pods: dict[str, Json]) -> None:
        self._host = host
        self._pods = pods
        self.nodes = {node.place.name: node for node in nodes}
        self._workers: dict[str, PodWorker] = {}
        self._newest: dict[PodName, PodWorker] = {}
        self._finished: set[str] = set()
        host.faults.listeners.append(self._faults_changed)

    def hear(self, kind: str, pod: Json) -> None:
        """Take a change of a pod from the API server."""
        node = self.nodes.get(pod["spec"].get("nodeName", ""))
        if node is None or not node.alive:
            return
        worker = self._workers.get(pod["metadata"]["uid"])
        if pod["metadata"]["uid"] in self._finished:
            return  # a change from before its deletion, reported after it
        if worker is None and kind != "DELETED":
            self._begin(node, pod)
        elif worker and kind == "DELETED":
            worker.gone()
        elif worker:
            worker.update(pod)

    def hear_content(self, kind: str, item: Json) -> None:
        """Take a change of a Secret or ConfigMap (`secret`, `configmap`) from the API server."""
        for worker in self._workers.values():
            if worker.place.name[0] == item["metadata"]["namespace"]:
                worker.content_changed(kind, item["metadata"]["name"])

    def _begin(self, node: KubernetesNode, pod: Json) -> None:
        if (
            pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
            and pod["metadata"].get("deletionTimestamp") is None
        ):
            return
        worker = PodWorker(self._host, node.place, pod)
        predecessor = self._newest.get(worker.place.name)
        self._workers[worker.place.uid] = self._newest[worker.place.name] = worker
        worker.start(predecessor).add_done_callback(lambda task: self._ended(worker, task))

    def _ended(self, worker: PodWorker, task: asyncio.Task[None]) -> None:
        self._workers.pop(worker.place.uid, None)
        if self._newest.get(worker.place.name) is worker:
            del self._newest[worker.place.name]
        error = None if task.cancelled() else task.exception()
        if not error and not worker.frozen:
            self._finished.add(worker.place.uid)
        if error:
            worker.place.note("pod-worker-failed", error="".join(traceback.format_exception(error)))

    def _faults_changed(self, pod: PodName) -> None:
        if pod in self._newest:
            self._newest[pod].obey_faults()

    def executor(self, pod: PodName, container: str) -> Executor | None:
        """Runs commands in a container of a pod; None if the container does not run."""
        return self._newest[pod].executor(container) if pod in self._newest else None

    def kill(self, pod: PodName) -> None:
        """Kill the processes of a pod's containers. Raises LabError where none runs."""
        if pod not in self._newest or not self._newest[pod].kill():
            raise LabError(f"Pod {'/'.join(pod)} has no running process in this lab; see `status`.")
        self._host.log.write("pod-killed", namespace=pod[0], pod=pod[1])

    def node(self, name: str) -> KubernetesNode:
        """The Kubernetes node of this name. Raises LabError where there is none."""
        if name not in self.nodes:
            raise LabError(f"There is no Kubernetes node {name!r}; there are {', '.join(sorted(self.nodes))}.")
        return self.nodes[name]

    async def kill_node(self, name: str) -> None:
        """A Kubernetes node loses its power: its processes end at once, its lease is not renewed."""
        node = self.node(name)
        node.die()
        workers = [worker for worker in self._workers.values() if worker.place.node is node.place]
        for worker in workers:
            worker.freeze()
        for worker in workers:
            await worker.done.wait()

    async def revive_node(self, name: str) -> None:
        """The power is back: pods that were not deleted in between start again, those that were are ended."""
        node = self.node(name)
        if node.alive:
            return
        self._remove_forgotten(node)
        await node.revive()
        for pod in list(self._pods.values()):
            if pod["spec"].get("nodeName") == name:
                self.hear("ADDED", pod)

    def _remove_forgotten(self, node: KubernetesNode) -> None:
        """Remove what is left of pods that were deleted by force while the Kubernetes node was dead."""
        directory = node.place.directory / "pods"
        for left in directory.iterdir() if directory.exists() else ():
            if left.name not in self._pods:
                shutil.rmtree(left, ignore_errors=True)
