"""Control by the agent: the entry point of the container stops and starts the server by requests (`observe.agent`).

It keeps a process stopped, over restarts of the container as well. The identity of a request comes from the process
that it ends, so a request that is made again after a kill is the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.errors import Conflict, refusal
from ..kubernetes.client import KubernetesClient
from ..kubernetes.port_forward import PodForward
from ..kubernetes.state import Pod
from .by_kubelet import container_of
from .judge.phases import PROCESS, Process
from .observe.agent import PORT, AgentClient, Status, connect

DIRECT, THROUGH_KUBERNETES = "pod_address", "kubernetes"


@dataclass(frozen=True)
class ByAgent:
    """See `Way`."""

    client: KubernetesClient
    options: Mapping[str, Any]
    """Those of the connection to the agents."""
    container: str = ""
    name: str = "agent"
    keeps_container: bool = True
    keeps_stopped: bool = True
    _agents: dict[str, AgentClient] = field(default_factory=dict)

    @classmethod
    def of(cls, params: Mapping[str, Any], client: KubernetesClient) -> ByAgent:
        """The process control with the options of a task."""
        return cls(client, params["agent"] or {}, params["container"] or "")

    def look(self, pod: Pod, file: str = "") -> Process:
        """See `Way`. The agent knows the file by itself. Of a running process it is the content that it started on."""
        if container_of(pod, self.container).state != "running":
            return Process(running=False, identity="", held=False)
        status = self._agent(pod).status()
        checksum = status.running_checksum if status.running else status.checksum
        mounted = status.checksum or ""
        held, ending = status.stopped_by_request, status.stopping or status.stopped_by_request
        return Process(status.running, _identity(status), checksum or "", mounted, held=held, ending=ending)

    def stop(self, pod: Pod, process: Process) -> None:
        """See `Way`. The process that was seen is asked once, whoever asks. One that has ended by itself stays so."""
        if container_of(pod, self.container).state != "running":
            # Its agent answers once the container has started again.
            return
        agent = self._agent(pod)
        status = agent.status()
        if status.running and _identity(status) == process.identity:
            agent.stop(_request(pod, "stop", process.identity))
        elif not (status.running or status.stopped_by_request):
            agent.stop(_request(pod, "stop", f"after {status.ended_at}"))

    def start(self, pod: Pod, expected: str) -> None:
        """See `Way`. The agent starts nothing on another configuration; the next look shows that."""
        if container_of(pod, self.container).state != "running":
            # A process that was started before starts again with its container.
            return
        agent = self._agent(pod)
        status = agent.status()
        if status.running or not status.checksum or (expected and status.checksum != expected):
            return
        ended = pod.annotations.get(PROCESS, "") or str(status.last_stop)
        try:
            agent.start(_request(pod, "start", f"{ended} {status.checksum} {status.ended_at}"), status.checksum)
        except Conflict:
            # The mounted configuration has just changed, or the process has started.
            return

    def _agent(self, pod: Pod) -> AgentClient:
        """The client for the agent of a pod, which keeps its connection as long as the pod has its address."""
        if not pod.address:
            raise refusal(
                "agent_without_address",
                f"Pod {pod.name} has no address, so its agent cannot be asked.",
                "Look at the events of the pod.",
            )
        key = f"{pod.uid} {pod.address}"
        if key not in self._agents:
            port = int(self.options.get("port") or PORT)
            through = self.options.get("through") == THROUGH_KUBERNETES
            forward = PodForward(self.client, pod.namespace, pod.name, port) if through else None
            self._agents[key] = connect(self.options, pod.address, forward)
        return self._agents[key]


def _identity(status: Status) -> str:
    """The name of a process that no other of its pod has, whichever container it is in."""
    return f"{status.pid}@{status.started_at}" if status.running else ""


def _request(pod: Pod, act: str, process: str) -> str:
    """The identity of a request: the same for the same act on the same process of the same pod."""
    return hashlib.sha256(f"{act} {pod.uid} {process}".encode()).hexdigest()[:32]
