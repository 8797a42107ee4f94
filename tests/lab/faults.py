"""The fault switches of pods. A switch belongs to a pod's name, so it holds for the pod's successors too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

PodName = tuple[str, str]
"""Namespace and name."""

TIMED = ("slow-stop", "slow-mounts", "back-off")
"""The faults that have a number of seconds."""


@dataclass
class Faults:
    """The faults that are switched on. Listeners get the pod whose switches changed."""

    never_ready: set[PodName] = field(default_factory=set)
    crash_loop: set[PodName] = field(default_factory=set)
    slow_stop: dict[PodName, float] = field(default_factory=dict)
    slow_mounts: dict[PodName, float] = field(default_factory=dict)
    """The seconds that changes of Secrets and ConfigMaps take to arrive in the pod's files."""
    back_off: dict[PodName, float] = field(default_factory=dict)
    """The longest pause before a restart of the pod's containers."""
    listeners: list[Callable[[PodName], None]] = field(default_factory=list)

    def set(self, pod: PodName, fault: str, seconds: float = 0.0) -> None:
        """Switch `never-ready` or `crash-loop` on for a pod, or one of the faults that take some seconds."""
        if fault in TIMED:
            self._timed()[fault][pod] = seconds
        else:
            {"never-ready": self.never_ready, "crash-loop": self.crash_loop}[fault].add(pod)
        self._tell(pod)

    def mend(self, pod: PodName) -> None:
        """Switch everything off for a pod."""
        self.never_ready.discard(pod)
        self.crash_loop.discard(pod)
        for timed in self._timed().values():
            timed.pop(pod, None)
        self._tell(pod)

    def _tell(self, pod: PodName) -> None:
        for listener in self.listeners:
            listener(pod)

    def listed(self) -> list[dict[str, object]]:
        """Every switch that is on, for people and for JSON."""
        plain = [("never-ready", pod) for pod in sorted(self.never_ready)]
        plain += [("crash-loop", pod) for pod in sorted(self.crash_loop)]
        found: list[dict[str, object]] = [{"fault": fault, "namespace": pod[0], "pod": pod[1]} for fault, pod in plain]
        for fault, pods in self._timed().items():
            for pod, seconds in sorted(pods.items()):
                found.append({"fault": fault, "namespace": pod[0], "pod": pod[1], "seconds": seconds})
        return found

    def _timed(self) -> dict[str, dict[PodName, float]]:
        return dict(zip(TIMED, (self.slow_stop, self.slow_mounts, self.back_off), strict=True))
