"""The daemon's answers on its control socket: the lab's status, pod addresses and the fault switches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.lab.api import Json
from tests.lab.control import Answerer
from tests.lab.errors import LabError
from tests.lab.faults import TIMED, PodName
from tests.lab.kubelet.kubelet import Kubelet
from tests.lab.kubelet.place import Host
from tests.lab.plan import LabPlan

Restart = Callable[[float], Coroutine[Any, Any, None]]
"""Kills the API server, and starts it again after some seconds."""

OF_CONTROL_PLANE = ("api-server-away", "node-dead")
"""The faults that the control plane in memory cannot show: it keeps nothing on disk, and watches over no lease."""


class Switchboard:
    """Answers questions about one lab."""

    def __init__(
        self,
        plan: LabPlan,
        network: str,
        server: str,
        host: Host,
        kubelet: Kubelet,
        pods: dict[str, Json],
        restart_api_server: Restart,
    ) -> None:
        self._in_memory = plan.in_memory
        self._about = {"name": plan.name, "network": network, "server": server}
        self._host = host
        self._kubelet = kubelet
        self._pods = pods
        self._restart_api_server = restart_api_server
        self._restarts: set[asyncio.Task[None]] = set()

    def answerers(self) -> dict[str, Answerer]:
        return {"status": self.status, "address": self.address, "break": self.do_break, "mend": self.mend}

    async def status(self, _question: Json) -> Json:
        """The whole lab at a glance."""
        nodes = [
            {"name": node.place.name, "zone": node.place.zone, "address": node.place.address, "alive": node.alive}
            for node in self._kubelet.nodes.values()
        ]
        pods = sorted((_described(pod) for pod in self._pods.values()), key=lambda pod: (pod["namespace"], pod["name"]))
        dead = [{"fault": "node-dead", "node": node["name"]} for node in nodes if not node["alive"]]
        return {**self._about, "nodes": nodes, "pods": pods, "faults": [*self._host.faults.listed(), *dead]}

    async def address(self, question: Json) -> Json:
        """The address that a pod of this name has, or will have."""
        return {"address": self._host.addresses.address("/".join(_pod_name(question)))}

    async def do_break(self, question: Json) -> Json:
        """Switch a fault on. Raises LabError for one that does not exist."""
        fault = question["fault"]
        if self._in_memory and fault in OF_CONTROL_PLANE:
            raise LabError(f"The fault {fault} needs the real control plane; start the lab without --in-memory.")
        if fault == "node-dead":
            await self._kubelet.kill_node(question["node"])
        elif fault == "api-server-away":
            task = asyncio.create_task(self._restart_api_server(float(question["seconds"])))
            self._restarts.add(task)
            task.add_done_callback(self._restarts.discard)
        elif fault == "kill":
            self._kubelet.kill(_pod_name(question))
        elif fault in ("never-ready", "crash-loop", *TIMED):
            self._host.faults.set(_pod_name(question), fault, float(question.get("seconds", 0.0)))
        else:
            raise LabError(f"There is no fault {fault!r}; see `python -m tests.lab break --help`.")
        self._host.log.write("broken", **question)
        return {}

    async def mend(self, question: Json) -> Json:
        """Switch everything off for a Kubernetes node, for a pod, or for all."""
        if "node" in question:
            await self._kubelet.revive_node(question["node"])
        elif "pod" in question:
            self._host.faults.mend(_pod_name(question))
        else:
            for fault in self._host.faults.listed():
                self._host.faults.mend(_pod_name(fault))
            for name in self._kubelet.nodes:
                await self._kubelet.revive_node(name)
        self._host.log.write("mended", **question)
        return {}


def _pod_name(question: dict[str, Any]) -> PodName:
    return str(question["namespace"]), str(question["pod"])


def _described(pod: Json) -> dict[str, Any]:
    status = pod.get("status", {})
    containers = status.get("containerStatuses", [])
    waiting = [item["state"]["waiting"]["reason"] for item in containers if "waiting" in item.get("state", {})]
    return {
        "namespace": pod["metadata"]["namespace"],
        "name": pod["metadata"]["name"],
        "node": pod["spec"].get("nodeName", ""),
        "address": status.get("podIP", ""),
        "phase": "Terminating" if pod["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        "reason": ", ".join(waiting),
        "ready": all(item["ready"] for item in containers) if containers else False,
        "restarts": sum(item["restartCount"] for item in containers),
    }
