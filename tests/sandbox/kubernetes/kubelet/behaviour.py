"""The processes in containers, as far as a kubelet sees them, and the faults that are made on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.lab.kubelet.execution import Ended
from tests.sandbox.kubernetes.controllers.work import Place
from tests.sandbox.kubernetes.kubelet.commands import Inside
from tests.sandbox.kubernetes.objects import Json

Told = Callable[[Json, str], None]
"""A callback with the pod and the name of one of its containers."""


def _address(namespace: str, pod: str) -> str:
    """An address that a pod of this name always has."""
    number = sum((place + 1) * ord(letter) for place, letter in enumerate(f"{namespace}/{pod}"))
    return f"10.244.{number // 250 % 250}.{number % 250 + 1}"


def _nobody(_pod: Json, _container: str) -> None:
    """Do nothing."""


def _log(pod: Json, container: str, previous: bool) -> list[str]:
    """One line, so that there is something to read."""
    return [f"{container} of {pod['metadata']['name']} {'ran' if previous else 'runs'}"]


def _known(image: str) -> str:
    """Empty if an image can be pulled, else the reason: it has no tag, or the tag `missing`."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return f"{image}: not found" if tag in {"", "missing"} else ""


@dataclass
class Behaviour:
    """Hooks for whoever models what runs in the containers."""

    address: Callable[[str, str], str] = _address
    """The address of the pod of a namespace and name."""
    pull_error: Callable[[str], str] = _known
    """The reason why an image cannot be pulled; empty if it can."""
    exit_code: Callable[[Json, str], int | None] = lambda _pod, _container: None
    """The exit code of a container that has nothing to do; None: it runs until it is stopped."""
    message: Callable[[Json, str], str] = lambda _pod, _container: ""
    """The termination log of a container with such an exit code."""
    started: Told = _nobody
    """The process of a container runs."""
    stopping: Told = _nobody
    """The process was asked to end (SIGTERM)."""
    stopped: Told = _nobody
    """The process is gone, however it ended."""
    ready: Callable[[Json, str], bool] = lambda _pod, _container: True
    """Whether the readiness probe of a container succeeds."""
    alive: Callable[[Json, str], bool] = lambda _pod, _container: True
    """Whether the liveness probe of a container succeeds."""
    execute: Callable[[Json, str, Sequence[str], Inside], Ended | None] = lambda *_about: None
    """The end of a command in a container; None: that of one of the few commands that every container has here."""
    log: Callable[[Json, str, bool], list[str]] = _log
    """The lines of the log of a container, or of its run before the last restart."""
    stop_seconds: Callable[[Json, str], float | None] = lambda _pod, _container: None
    """The seconds that the process takes to end once it was asked to; None: as many as the durations say."""


@dataclass
class Switches:
    """Faults that are made on purpose, by the name of the pod, so that they hold for its successors, too."""

    never_ready: set[Place] = field(default_factory=set)
    unready_daemons: set[str] = field(default_factory=set)
    """The Kubernetes nodes on which no pod of a DaemonSet is Ready."""
    crash_loop: set[Place] = field(default_factory=set)
    slow_stop: dict[Place, float] = field(default_factory=dict)
    slow_mounts: dict[Place, float] = field(default_factory=dict)
    """The seconds that changes of Secrets and ConfigMaps take to arrive in the pod."""
    back_off: dict[Place, float] = field(default_factory=dict)
    """The longest pause before a restart of the pod's containers."""

    def mend(self, pod: Place) -> None:
        """Switch everything off for a pod."""
        self.never_ready.discard(pod)
        self.crash_loop.discard(pod)
        self.slow_stop.pop(pod, None)
        self.slow_mounts.pop(pod, None)
        self.back_off.pop(pod, None)

    def mend_all(self) -> None:
        """Switch everything off."""
        self.never_ready.clear()
        self.unready_daemons.clear()
        self.crash_loop.clear()
        self.slow_stop.clear()
        self.slow_mounts.clear()
        self.back_off.clear()
