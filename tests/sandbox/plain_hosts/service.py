"""A service of systemd in memory, whose process is a member of a cluster in memory.

It is as the packages of OpenSearch and Elasticsearch have it: `Type=notify`, so that a start is over once the REST port
is open, `TimeoutStartSec=75`, and no end of the time that a stop may take (`TimeoutStopSec=0`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import MemberSpec

START_TIMEOUT = 75.0
RESTART = 5.0
"""Seconds from the end of a process until systemd starts another one, where the unit says so (RestartSec)."""
Job = Callable[[], "str | None"]
"""The fault at the end of a job, or nothing; None while it goes on."""


class Service:
    """The service of one member."""

    def __init__(self, clock: Clock, cluster: Cluster, spec: MemberSpec, *, restarts: bool = False) -> None:
        """`restarts` is `Restart=on-failure`."""
        self._clock, self._cluster, self._spec, self._restarts = clock, cluster, spec, restarts
        self.installed = spec.version
        """The version that the next process has."""
        self.fails = False
        """Whether each process ends as soon as it is started."""
        self.slow = 0.0
        """Seconds that the next stop takes longer."""
        self._gone = clock.now()
        """The time from which nothing of the process that was stopped is there."""
        self._wanted = False
        self._number, self._said = 0, ""
        """The number of the last process, and the cause of its end."""

    @property
    def name(self) -> str:
        """The name of the member."""
        return self._spec.name

    @property
    def runs(self) -> bool:
        """Whether its process runs, and was not asked to end."""
        return self._cluster.runs(self.name)

    @property
    def is_active(self) -> bool:
        """Whether systemd calls it active or activating, as while it waits for the next attempt to start it."""
        return self.runs or self._wanted

    @property
    def has_failed(self) -> bool:
        """Whether its last process has ended by itself, and systemd starts no other."""
        return bool(self._said) and not self.is_active

    def start(self) -> Job:
        """`systemctl start`. It waits for the end of a process that was asked to end."""
        if self.is_active:
            return lambda: ""
        self._wanted, number = True, self._number + 1
        wait = self._gone - self._clock.now()
        self._clock.later(wait, self._again) if wait > 0 else self._begin()

        def job() -> str | None:
            if self._number < number:
                return None if self._wanted else f"Unable to start service {self.name}: Job canceled."
            if self._cluster.ready(self.name):
                return ""
            if self.runs and self._number == number:
                return None
            return f"Unable to start service {self.name}: Job failed because {self._said or 'it was canceled'}."

        return job

    def stop(self) -> Job:
        """`systemctl stop`: the process leaves the cluster at once, and is gone after some time."""
        self._wanted, self._said = False, ""
        if self.runs:
            self._cluster.stop(self.name)
            self._gone = self._clock.now() + self._cluster.state.durations.stop + self.slow
            self.slow = 0.0
        return lambda: "" if self._clock.now() >= self._gone else None

    def end(self, why: str = "the main process was killed") -> None:
        """Its process is killed, by something else than systemd."""
        if self.runs:
            self._cluster.kill(self.name)
            self._said, self._wanted = why, self._restarts
            if self._restarts:
                self._clock.later(RESTART, self._again)

    def power_off(self) -> None:
        """The machine stops at once."""
        self._wanted = False
        if self.runs:
            self._cluster.kill(self.name)
            self._said = "the machine had no power"

    def _again(self) -> None:
        if self._wanted and not self.runs:
            self._begin()

    def _begin(self) -> None:
        self._wanted, self._said = True, ""
        self._number += 1
        number = self._number
        self._cluster.start(replace(self._spec, version=self.installed))
        self._clock.later(START_TIMEOUT, lambda: self._timed_out(number))
        if self.fails:
            self.end("the control process exited with error code")

    def _timed_out(self, number: int) -> None:
        if number == self._number and not self._cluster.ready(self.name):
            self.end("a timeout was exceeded")
