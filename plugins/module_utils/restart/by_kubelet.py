"""Process control by the kubelet: a signal to the first process of the container, which the kubelet then starts again.

It needs nothing but `sh` in the image. It cannot keep a process stopped: the kubelet starts the container at once. If
the container was restarted a short while ago, that start waits for the back-off of the kubelet: 10 s, doubled each
time, and forgotten once the container has run for ten minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..common.errors import Refusal, Unreachable, refusal
from ..kubernetes.client import KubernetesClient
from ..kubernetes.execution import ContainerCommand, Ended, execute
from ..kubernetes.pods import list_pods
from ..kubernetes.state import Container, Pod
from ..opensearch.judge.set_pools import server_container
from .judge.phases import Process

SECONDS = 15.0
"""Seconds for a command in a container."""
_FIRST = 'read -r line < /proc/1/stat; name=${line#*\\(}; name=${name%\\)*}; set -- "$1" ${line##*\\) };'
STARTED = f'{_FIRST} echo "${{21}} $name"'
"""The script that shows when the first process of a container was started (proc(5), in ticks), and its name."""
END = f'{_FIRST} [ "${{21}}" = "$1" ] && kill -TERM 1'
"""The script that ends the first process, if it is the one that was started at the given time."""
CHECKSUM = 'sha256sum "$1"'
"""The script that shows the checksum of a file."""
NO_PROGRAM = 127
"""The exit code of a shell that does not find a program (POSIX, Shell Command Language 2.8.2)."""
PAUSES = frozenset({"pause", "systemd", "init"})
"""Names of first processes that are no server: that of a pod whose containers share their processes, or a system's."""


@dataclass(frozen=True)
class ByKubelet:
    """See `Way`."""

    client: KubernetesClient
    container: str = ""
    """The name of the server's container; empty if it is found by its image."""
    name: str = "kubelet"
    keeps_container: bool = False
    keeps_stopped: bool = False

    @classmethod
    def of(cls, params: Mapping[str, Any], client: KubernetesClient) -> ByKubelet:
        """The process control with the options of a task."""
        return cls(client, params["container"] or "")

    def look(self, pod: Pod, file: str = "") -> Process:
        """See `Way`: the start of the server's container, which is one with its process."""
        found = container_of(pod, self.container)
        if found.state != "running":
            return Process(running=False, identity="")
        checksum = self._checksum(pod, found.name, file) if file else ""
        return Process(running=True, identity=found.identity, checksum=checksum)

    def _checksum(self, pod: Pod, container: str, file: str) -> str:
        """The checksum of a file in a container; empty if the container is ending, or has no such file.

        Raises:
            Unreachable: there is no answer.
            Refusal: the image has no program for it, or the right is missing.
        """
        try:
            ended = self._run(pod, container, CHECKSUM, file)
        except Refusal as error:
            if error.verdict.reasons[0].code != "kubernetes_exec":
                raise
            return ""
        if ended.code == NO_PROGRAM:
            raise refusal(
                "checksum_unknown",
                f"Container {container} of pod {pod.name} has no program sha256sum, so it cannot be seen when a new"
                " configuration has reached it.",
                "Add sha256sum (coreutils) to the image, or restart by the agent, which reports it by itself.",
            )
        return ended.output.partition(" ")[0].lstrip("\\") if ended.code == 0 else ""

    def stop(self, pod: Pod, process: Process) -> None:
        """See `Way`. The signal goes to the process that was seen, which is proven to be that of the container."""
        container = container_of(pod, self.container).name
        try:
            started, _space, name = self._run(pod, container, STARTED).output.strip().partition(" ")
            if name in PAUSES:
                raise _not_the_server(pod, container, name)
            if self._identity(pod) == process.identity:
                self._run(pod, container, END, started)
        except Unreachable:
            raise
        except Refusal as error:
            # A container that is ending has no program any more.
            if error.verdict.reasons[0].code != "kubernetes_exec" or self._identity(pod) == process.identity:
                raise

    def start(self, pod: Pod, expected: str) -> None:
        """See `Way`: the kubelet starts the container by itself."""

    def _run(self, pod: Pod, container: str, script: str, *arguments: str) -> Ended:
        words = ("sh", "-c", script, "sh", *(arguments or ("",)))
        return execute(self.client, ContainerCommand(pod.namespace, pod.name, container, words), SECONDS)

    def _identity(self, pod: Pod) -> str:
        """The start of the container that runs now; empty if none runs, or the pod is another one."""
        there = [each for each in list_pods(self.client, pod.namespace) if each.uid == pod.uid]
        return self.look(there[0]).identity if there else ""


def container_of(pod: Pod, named: str) -> Container:
    """The container of the server; one that has not started if the kubelet has not reported any yet."""
    name = server_container(pod, named)
    for each in pod.containers:
        if each.name == name and not each.init:
            return each
    return Container(name, "", "", "", "", None, 0, "", None, ready=False, init=False)


def _not_the_server(pod: Pod, container: str, name: str) -> Refusal:
    return refusal(
        "first_process_unknown",
        f"The first process of container {container} of pod {pod.name} is {name} and not the server, so a signal to it"
        " would not restart the server.",
        "Replace the pod instead: module stateful.upgrade.pod_ondelete_roll does it with the same proof.",
    )
