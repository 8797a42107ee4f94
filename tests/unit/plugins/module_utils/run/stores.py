"""A lock in memory that is written only over the version that was read, time that passes when a task sleeps, and runs
of the module `upgrade_lock` on both."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import uuid_for
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.upgrade_lock import manage_lock

Json = dict[str, Any]
DEFAULTS: Json = {
    "lock": None,
    "kubernetes": {},
    "opensearch": {},
    "kept_in": "kubernetes",
    "namespace": "search",
    "cluster_uuid": "uuid",
    "lease_duration": 60,
    "take_over": "",
    "wait": True,
    "wait_timeout": 300,
    "wait_sleep": 1.0,
}
HERE: Json = {
    "place": ancestry.place(),
    "processes": (ancestry.identity_of(os.getppid()), ancestry.identity()),
}
"""A holder that lives on this machine."""
DEAD = "999999999.1"
"""A process that never existed."""
OTHER = Lock(
    run="day",
    who="dev@laptop",
    since="2026-11-21T01:00:00.000000Z",
    renewed="2026-11-21T01:00:00.000000Z",
    seconds=60,
    version="1",
)


@dataclass
class LockMemory:
    """The lock, and what was asked."""

    lock: Lock | None = None
    asked: list[str] = field(default_factory=list)
    between: list[Callable[[], None]] = field(default_factory=list)
    """The acts of others after the next reads, one each: the answer is out of date when it comes."""
    away: bool = False
    lose_answers: int = 0
    """So many writes from now on are made and not answered."""

    def read(self) -> Lock | None:
        """The lock now."""
        self._reached("read")
        lock = self.lock
        if self.between:
            self.between.pop(0)()
        return lock

    def write(self, lock: Lock, over: Lock | None) -> Lock:
        """Compare and swap."""
        self._reached("write")
        self._guarded(over)
        self.set(lock)
        self._answered()
        assert self.lock is not None
        return self.lock

    def remove(self, lock: Lock) -> None:
        """Remove exactly this lock."""
        self._reached("remove")
        self._guarded(lock)
        self.lock = None
        self._answered()

    def set(self, lock: Lock | None) -> None:
        """Write as another run would, whoever holds the lock."""
        number = int(self.lock.version or 0) if self.lock is not None else 0
        self.lock = replace(lock, version=str(number + 1)) if lock is not None else None

    def _guarded(self, over: Lock | None) -> None:
        present = self.lock.version if self.lock is not None else None
        if present != (over.version if over is not None else None):
            raise Conflict(refused("kubernetes_conflict", "It was changed.", ""))

    def _reached(self, what: str) -> None:
        self.asked.append(what)
        if self.away:
            raise out_of_reach()

    def _answered(self) -> None:
        if self.lose_answers:
            self.lose_answers -= 1
            raise out_of_reach()


@dataclass
class Passing:
    """A clock; `on_tick` is what others do while it is slept, one each."""

    time: float = 0.0
    on_tick: list[Callable[[], None]] = field(default_factory=list)

    def now(self) -> float:
        """Seconds."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let them pass."""
        self.time += seconds
        if self.on_tick:
            self.on_tick.pop(0)()


def out_of_reach() -> Unreachable:
    """The failure of a request that got no answer."""
    return Unreachable(refused("kubernetes_unreachable", "The Kubernetes API cannot be reached.", "Check the network."))


def nothing() -> None:
    """Do nothing, as an act of others."""


class Runs:
    """Runs on one cluster, whose tasks share the lock and the time."""

    def __init__(self, lock: Lock | None = None) -> None:
        self.store = LockMemory(lock)
        self.clock = Passing()
        self.said: list[str] = []

    def task(self, state: str, check_mode: bool = False, **params: Any) -> Json:
        """One task of the module."""
        given = {**DEFAULTS, "state": state, **params}
        task = Task(
            params=given, check_mode=check_mode, clock=self.clock, voice=Lines(self.said.append), in_controller=True
        )
        return perform(partial(manage_lock, store_of=lambda _params: self.store, identity_of=uuid_for), task)

    def held_by(self) -> str | None:
        """The run that holds the lock."""
        return self.store.lock.run if self.store.lock is not None else None

    def renewed(self, **fields: Any) -> None:
        """The holder renews its lock."""
        assert self.store.lock is not None
        self.store.set(replace(self.store.lock, renewed=f"at {self.clock.now()} {fields}", **fields))
