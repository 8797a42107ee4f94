"""What stops and starts the process of a pod while the pod stays, behind one contract."""

from __future__ import annotations

from typing import Protocol

from ..kubernetes.state import Pod
from .judge.phases import Process


class ProcessControl(Protocol):
    """Stops and starts processes. Each of its acts may be repeated: then it does nothing.

    The field `joined` of the processes that it sees is left to the caller, who knows the cluster.
    """

    @property
    def name(self) -> str:
        """Its name in options and results."""

    @property
    def container(self) -> str:
        """The name of the server's container that the user gives; empty if it is found by its image."""

    @property
    def keeps_container(self) -> bool:
        """Whether the container stays as well, with all that is on none of its volumes."""

    @property
    def keeps_stopped(self) -> bool:
        """Whether a process that was stopped stays so until it is started. Otherwise it comes back by itself."""

    def look(self, pod: Pod, file: str = "") -> Process:
        """The process of a pod now. The checksum is that of this file in its container; without one it may be empty.

        Raises:
            Unreachable: there is no answer, which may pass.
            Refusal: it cannot be used with this pod.
        """

    def stop(self, pod: Pod, process: Process) -> None:
        """Ask exactly this process to end. One that was started since is left alone.

        Raises:
            Refusal: it may not be stopped.
        """

    def start(self, pod: Pod, expected: str) -> None:
        """Ask for a process with the expected configuration, if none runs. An empty checksum stands for any.

        Raises:
            Refusal: it may not be started.
        """
