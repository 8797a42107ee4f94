"""Watching a lock that another run may hold, to find out whether that run is alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...common import ancestry
from ...common.errors import Refusal, Unreachable, refusal
from ...common.task import Task, passed_or_raise
from ...common.timestamps import now_text, utc_now
from ...common.verdict import Reason, remark
from ...common.waiting import Patience
from ..record.figures import timestamp
from ..undo.undo import Writer, place_of
from .lock import SHORTEST, Life, Lock, LockStore, Sight, judge_free

Seen = TypeVar("Seen")

PAUSE = 1.0
"""Seconds between two looks at a lock."""
LONGEST = 3600.0
"""The most seconds of a watch, which ends anyway after the time that the lock lasts."""


@dataclass
class Watch:
    """A lock as it was first seen, on the clock of the task."""

    task: Task
    store: LockStore
    first: Lock | None = None
    since: float = 0.0
    before: dict[str, Any] | None = None
    """The holder at the first look, as results show it."""
    heard: float = 0.0
    """The time of the last answer."""
    silent: bool = False
    """Whether the store has given no answer since."""

    def look(self) -> Sight:
        """The lock now, compared with the first look.

        A slow answer may be as old as its request, so time is counted from the first answer to the last request. A time
        without answers does not count: a holder that gets none either cannot renew its lock.
        """
        asked = self.task.clock.now()
        try:
            lock = self.store.read()
        except Unreachable:
            self.silent = True
            raise
        if self.silent:
            self.since += asked - self.heard
        self.heard, self.silent = self.task.clock.now(), False
        self.before = shown(lock) if self.before is None else self.before
        if self.first is None or lock is None or lock.run != self.first.run:
            self.begin(lock)
        renewed = lock is not None and self.first is not None and lock.renewed != self.first.renewed
        process = living_process(lock, self.task.parents)
        return Sight(lock, life_of(lock), max(0.0, asked - self.since), renewed, process)

    def begin(self, lock: Lock | None) -> None:
        """Watch this lock from now on."""
        self.first, self.since = lock, self.task.clock.now()


def life_of(lock: Lock | None) -> Life:
    """The state of the processes of the lock's holder, as far as this machine knows it."""
    if lock is None or not lock.processes or not lock.place or lock.place != ancestry.place():
        return Life.UNKNOWN
    controller, *workers = lock.processes
    if ancestry.alive(controller):
        return Life.ALIVE
    return Life.ENDING if any(ancestry.alive(worker) for worker in workers) else Life.GONE


def living_process(lock: Lock | None, own: Sequence[str]) -> int:
    """The number of the controller of the lock's holder, if exactly that process is alive in this place, else 0.

    `own` are the processes above this task: a controller that could not give back the lock of its last run still holds
    it, and has to stay alive to take it over. Jobs in containers have a place each, so nothing is known of another's.
    """
    if life_of(lock) is not Life.ALIVE or lock is None or lock.processes[0] in own:
        return 0
    return ancestry.number_of(lock.processes[0]) if ancestry.certainly_alive(lock.processes[0]) else 0


def shown(lock: Lock | None) -> dict[str, Any]:
    """The holder of a lock, as results show it."""
    if lock is None or not lock.run:
        return {"run": None}
    names = ("run", "who", "since", "renewed", "doing", "stop")
    return {name: getattr(lock, name) for name in names if getattr(lock, name)}


def holder_of(lock: Lock | None) -> dict[str, Any] | None:
    """The holder of a lock with all that people want to know of it; None without one.

    The clocks of two machines may differ, so that it is `overdue` is no proof that its run is dead.
    """
    if lock is None or not lock.run:
        return None
    names = ("run", "who", "since", "renewed", "seconds", "doing", "stop")
    renewed = timestamp(lock.renewed)
    overdue = renewed is not None and (utc_now() - renewed).total_seconds() > max(SHORTEST, lock.seconds)
    return {**{name: getattr(lock, name) for name in names}, "processes": life_of(lock).value, "overdue": overdue}


def writer_of(task: Task) -> Writer:
    """The writer in the undo of a change that this task makes now."""
    return Writer(task.run, now_text(), place_of(task.params.get("lock")))


@dataclass
class Writers:
    """Checks whether the runs that wrote undos are dead. Watching one takes a minute, so each is watched once."""

    task: Task
    store_of: Callable[[Mapping[str, str]], LockStore]
    """Gives the store of a lock from its place."""
    module: str
    """The module that puts back with the option `take_over`."""
    dead: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def judge(self, writer: Writer) -> None:
        """Check that the run which wrote an undo is dead, unless its lock is this task's own.

        The other lock is watched for as long as it lasts. An undo without one was written by an older version, or
        outside a run.

        Raises:
            Refusal: that run is alive and holds its lock, or the lock cannot be read.
        """
        task, own = self.task, place_of(self.task.params.get("lock"))
        taken = {task.run, task.params.get("take_over")}
        if not writer.lock or writer.run in taken or writer.lock == own or (writer.run, writer.lock) in self.dead:
            return
        watch = Watch(task, self._asked(writer, lambda: self.store_of(writer.lock)))

        def look() -> Sight:
            sight = self._asked(writer, watch.look)
            return sight if sight.lock is not None and sight.lock.run == writer.run else Sight(None)

        _sight, verdict = task.wait_apart(look, lambda sight: judge_free(sight, task.run, ""), Patience(LONGEST, PAUSE))
        passed_or_raise(verdict)
        self.dead.append((writer.run, writer.lock))

    def left_to(self, writer: Writer, what: str) -> Reason | None:
        """The remark on a change of a run on another cluster, which only that cluster's runs put back; None for others.

        The name of a lock is that of its cluster, wherever it is kept. `what` names the change in the sentence.
        """
        own, name = place_of(self.task.params.get("lock")).get("name", ""), writer.lock.get("name", "")
        if not own or name in {"", own} or writer.run in {self.task.run, self.task.params.get("take_over")}:
            return None
        return remark(
            "undo_of_another_cluster",
            f"{what} carries the undo of run {writer.run}, which has the lock {name} of another cluster, and is left to"
            " the runs on that.",
            "If that run was killed, settle with the connection to its cluster. If that cluster does not exist any"
            f" more, take over from run {writer.run} with the module {self.module} and its option take_over.",
        )

    def _asked(self, writer: Writer, ask: Callable[[], Seen]) -> Seen:
        try:
            return ask()
        except Unreachable:
            raise
        except Refusal as error:
            raise _unreadable(writer, error, self.module) from error


def _unreadable(writer: Writer, error: Refusal, module: str) -> Refusal:
    place = writer.lock
    within = f"in namespace {place['namespace']}" if place["namespace"] else "in the cluster"
    return refusal(
        "undo_lock_not_readable",
        f"Run {writer.run} made the change that is to be put back. Its lock {place['name']} {within} cannot be read,"
        f" so it is not known whether that run lives. {error.verdict.reasons[0].message}",
        f"Settle as a user who may read the lock {within}. If that run is certainly dead, restore with the module"
        f" {module}, and name run {writer.run} in its option for taking over.",
    )
