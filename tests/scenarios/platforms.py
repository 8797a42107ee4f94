"""The platform of a scenario: the lab with its real servers, or the servers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from kubernetes import client


class Faults(Protocol):
    """Everything that can be broken on purpose. Each call returns when the switch is on."""

    def never_ready(self, namespace: str, pod: str) -> None:
        """Keep the pod's containers from being Ready, whatever their probes say."""

    def crash_loop(self, namespace: str, pod: str) -> None:
        """Kill the pod's processes as soon as they start."""

    def slow_stop(self, namespace: str, pod: str, seconds: float) -> None:
        """Let the pod take this long to stop; its grace period still ends it."""

    def slow_mounts(self, namespace: str, pod: str, seconds: float) -> None:
        """Let changes of Secrets and ConfigMaps take this long to arrive in the pod's files."""

    def back_off(self, namespace: str, pod: str, seconds: float) -> None:
        """Let the pod's containers wait for at most so long before they are started again."""

    def kill(self, namespace: str, pod: str) -> None:
        """Kill the pod's processes now."""

    def node_dead(self, node: str) -> None:
        """Take a Kubernetes node's power away."""

    def api_server_away(self, seconds: float) -> None:
        """Kill the API server, and start it again after some seconds."""

    def mend(self, namespace: str, pod: str) -> None:
        """Switch everything off for a pod."""

    def mend_node(self, node: str) -> None:
        """Give the Kubernetes node its power back."""

    def mend_all(self) -> None:
        """Switch everything off."""


class Clock(Protocol):
    """The time as the platform has it."""

    def now(self) -> float:
        """Seconds."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class Platform(Protocol):
    """A Kubernetes on which clusters can be started."""

    @property
    def real(self) -> bool:
        """Whether its servers are real ones, which hold documents."""

    @property
    def clock(self) -> Clock:
        """The time that a task takes which runs in this process."""

    @property
    def faults(self) -> Faults:
        """The switches."""

    def apply(self, objects: Sequence[dict[str, Any]]) -> None:
        """Create or change objects as admin, in the order given."""

    def client(self, user: str = "admin") -> client.ApiClient:
        """A new API client; close it, or use it in a `with` statement."""

    def kubeconfig(self, user: str = "admin") -> Path:
        """The kubeconfig of `admin`, or of `upgrader`, who may do only what roles bound to it allow."""

    def pod_address(self, namespace: str, pod: str) -> str:
        """The address of the pod of this name, whether it exists already or not."""
