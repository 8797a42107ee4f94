"""The lock of a run: taken, checked and renewed by the tasks that look and act under it, and given back."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...common import ancestry
from ...common.attempts import until_unchanged
from ...common.errors import Conflict, Refusal, Unreachable
from ...common.task import Outcome, Task
from ...common.timestamps import now_text, timestamp_of, utc_now
from ...common.verdict import Verdict, remark, waiting
from ...common.voice import Lines
from ...common.waiting import Clock, Patience, wait_for
from ...common.words import shortened
from .lock import Lock, LockStore, held_remedy, held_sentence, judge_free, judge_ours
from .lock_watch import Watch, shown

RENEWALS = 6
"""Renewals of a lock within the time it lasts, so that an act which started under it ends while it is still held."""
UNKNOWN = float("inf")
"""The age of a renewal whose time is not known."""

BETWEEN_LOOKS = 1.0
"""Seconds within which a look does not read the lock again. An act always reads it, or writes over what was read."""

LONGEST = 500
"""The most characters of the awaited reason in a lock: reasons may name hundreds of things, and space is limited."""

ATTEMPTS = 5
"""Conflicts in a row before a renewal is given up. Requests to stop are written into the same lock."""

BUSY = Patience(timeout=2.0, sleep=1.0, hands_back=True)
"""How long a store that does not answer, or rejects requests, is asked again before an act."""


class HeldLock:
    """Checks and renews the lock of one run on the clock of one task.

    A task that only looks mostly finds the lock renewed by the tasks before it. Before its first act, a task writes its
    own process into the lock, so that no other run counts this one as dead while that process acts.
    """

    def __init__(self, store: LockStore, run: str, clock: Clock, processes: tuple[str, ...]) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._processes = processes
        self._asked_at = float("-inf")
        self._renewed_at: float | None = None
        self._is_named = False
        """Whether this task has written its process into the lock."""
        self._lock: Lock | None = None
        """The lock as this task has read it last."""

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        if self._clock.now() - self._asked_at >= BETWEEN_LOOKS:
            self._ask(doing, stoppable)

    def before_act(self) -> None:
        """See `Guard`. Not every act is part of a wait, so a busy store is asked again here."""
        quiet = Lines()
        wait_for(lambda: self._ask("", acts=True), lambda _none: Verdict(), BUSY, self._clock, quiet)

    def _ask(self, waiting_for: str, stoppable: bool = False, acts: bool = False) -> None:
        doing = shortened(waiting_for, LONGEST)
        until_unchanged(lambda: self._renew_if_due(doing, stoppable, acts), ATTEMPTS)
        self._asked_at = self._clock.now()

    def _renew_if_due(self, doing: str, stoppable: bool, acts: bool) -> None:
        lock = self._read(acts)
        verdict = judge_ours(lock, self._run, stoppable)
        if not verdict.passed or lock is None:
            raise Refusal(*verdict.reasons)
        now = self._clock.now()
        if self._renewed_at is None:
            self._renewed_at = now - self._age(lock)
        # The end of a wait shows in the lock at the next act or the next wait.
        differs = doing != lock.doing and bool(doing or acts)
        if (acts and not self._is_named) or differs or now - self._renewed_at >= lock.seconds / RENEWALS:
            self._renew(lock, doing)

    def _read(self, acts: bool) -> Lock | None:
        """The lock now. Before a write, that of the last look will do: the write fails if it has changed."""
        lock, self._lock = self._lock, None
        if not acts or self._is_named or lock is None or self._clock.now() - self._asked_at >= BETWEEN_LOOKS:
            lock = self._store.read()
            self._lock = lock
        return lock

    def _age(self, lock: Lock) -> float:
        """Seconds since another task of this controller has renewed the lock, by the clock of this machine."""
        if not lock.place or lock.place != ancestry.place() or lock.processes[:1] != self._processes[:1]:
            return UNKNOWN
        try:
            seconds = (utc_now() - timestamp_of(lock.renewed)).total_seconds()
        except Refusal:
            return UNKNOWN
        return seconds if seconds >= 0 else UNKNOWN

    def _renew(self, lock: Lock, doing: str) -> None:
        fresh = replace(
            lock, renewed=now_text("microseconds"), place=ancestry.place(), processes=self._processes, doing=doing
        )
        self._lock = None
        self._store.write(fresh, lock)
        self._renewed_at, self._is_named = self._clock.now(), True


def processes_of(task: Task) -> tuple[str, ...]:
    """The processes whose end is the end of the run: controller and worker; none for a shipped module."""
    return (*task.parents, ancestry.identity()) if task.in_controller else ()


def see_free(task: Task, watch: Watch, lock: Mapping[str, Any]) -> Outcome:
    """Check that no other live run holds the lock."""
    sight = watch.look()
    verdict = judge_free(sight, lock["run"], task.params["take_over"])
    return Outcome(verdict, before=shown(sight.lock), more={"name": lock["name"]})


def take(task: Task, watch: Watch, wanted: Mapping[str, Any]) -> Outcome:
    """Take the lock, unless another live run holds it."""
    sight = watch.look()
    verdict = judge_free(sight, wanted["run"], task.params["take_over"])
    before = shown(sight.lock)
    if not verdict.passed:
        return Outcome(verdict, before=before)
    ours = sight.lock is not None and sight.lock.run == wanted["run"]
    fresh = _fresh(task, wanted)
    following, more = "plan again, then act", {"lock": dict(wanted)}
    if ours:
        return Outcome(verdict, False, before, before, following, more)
    try:
        with task.journal.doing(("take_lock", wanted["name"], {"run": wanted["run"]})):
            if not task.check_mode:
                watch.store.write(fresh, sight.lock)
    except Conflict:
        return Outcome(_contended(), before=before)
    return Outcome(verdict, True, before, shown(fresh), following, more)


def ask_to_stop(task: Task, watch: Watch) -> Outcome:
    """Ask the holder of the lock to stop, and wait until the lock is free, or its holder turns out to be dead."""
    sight = watch.look()
    held, before = sight.lock, watch.before or {}
    verdict = judge_free(sight, "", "")
    wanted = task.params.get("holders") or ()
    if held is not None and held.run and wanted and held.run not in wanted:
        # What becomes of another run is up to the next task, which waits for it or wants the lock for itself.
        return Outcome(Verdict(), bool(task.journal.as_result()), before)
    if held is None or verdict.passed:
        reasons = [remark("run_is_dead", f"No run has to be stopped. {reason.message}") for reason in verdict.reasons]
        return Outcome(Verdict(tuple(reasons)), bool(task.journal.as_result()), before)
    if sight.renewed_since:
        watch.begin(held)  # the holder may die later, so the watch starts again at its last renewal
    if not held.stop:
        asked = replace(held, stop=f"by {who()} at {now_text()}")
        try:
            with task.journal.doing(("ask_to_stop", held.run, {})):
                if not task.check_mode:
                    watch.store.write(asked, held)
        except Conflict:
            task.progress("the lock was renewed just now; asking again")
    if task.check_mode:
        return Outcome(Verdict(), not held.stop, before)
    said = f"Run {held.run} of {held.who} is asked to stop and finishes what it has begun"
    verdict = Verdict((waiting("run_is_stopping", f"{said}{_doing(held)}."),))
    return Outcome(verdict, bool(task.journal.as_result()), before)


def _doing(lock: Lock) -> str:
    return f" ({lock.doing.rstrip('.')})" if lock.doing else ""


def await_end(task: Task, watch: Watch) -> Outcome:
    """Wait until no live run holds the lock. No run is asked to stop."""
    sight = watch.look()
    held, before = sight.lock, watch.before or {}
    if task.check_mode or held is None or judge_free(sight, "", "").passed:
        return Outcome(Verdict(), before=before)
    if sight.renewed_since:
        watch.begin(held)  # the holder may die later, so the watch starts again at its last renewal
    said = f"Run {held.run} of {held.who} is at work{_doing(held)}, and its end is waited for."
    return Outcome(Verdict((waiting("run_awaited", said, held_remedy(held)),)), before=before)


def give_back(task: Task, store: LockStore, lock: Mapping[str, Any]) -> Outcome:
    """Give the lock back, if the run still holds it.

    The lock ends by itself if it is not renewed, so a store that never answers gives only a remark.
    """
    giving = _GivingBack(task, store, lock)
    try:
        return task.settled(giving.again)
    except Unreachable:
        raise
    except Refusal as error:
        if giving.unanswered is None:
            raise
        cause = error.verdict.reasons[0].message
        text = (
            f"The lock {lock['name']} of run {lock['run']} was not given back, and ends by itself within"
            f" {lock['lease_duration']} s. {cause}"
        )
        return Outcome(Verdict((remark("lock_not_given_back", text),)), bool(task.journal.as_result()))


@dataclass
class _GivingBack:
    """The attempts to give a lock back."""

    task: Task
    store: LockStore
    lock: Mapping[str, Any]
    unanswered: Unreachable | None = None
    """The failure of the last attempt, if the store gave no answer."""
    asked: Lock | None = None
    """The lock that an attempt has asked to remove: without an answer, it may still have been removed."""

    def again(self) -> Outcome:
        """One attempt."""
        try:
            done = self._attempt()
        except Conflict:
            done = Outcome(_contended())
        except Unreachable as error:
            self.unanswered = error
            raise
        self.unanswered = None
        return done

    def _attempt(self) -> Outcome:
        held, run, name = self.store.read(), self.lock["run"], self.lock["name"]
        if held is None and self.asked is not None:
            return Outcome(Verdict(), True, shown(self.asked), shown(None))
        before = shown(held)
        if held is None or held.run != run:
            text = f"Run {run} no longer holds the lock. {held_sentence(held) if held else ''}".rstrip()
            return Outcome(Verdict((remark("lock_not_ours", text),)), before=before, after=before)
        with self.task.journal.doing(("release_lock", name, {"run": run})):
            if not self.task.check_mode:
                self.asked = held
                self.store.remove(held)
        return Outcome(Verdict(), True, before, shown(None))


def _contended() -> Verdict:
    return Verdict((waiting("lock_contended", "Another run is writing the lock."),))


def _fresh(task: Task, wanted: Mapping[str, Any]) -> Lock:
    now = now_text("microseconds")
    processes = processes_of(task)
    return Lock(
        run=wanted["run"],
        who=who(),
        since=now,
        renewed=now,
        seconds=wanted["lease_duration"],
        place=ancestry.place() if processes else "",
        processes=processes,
    )


def who() -> str:
    """The user and the machine of this run, for others to read, and the job of AWX, which shows who launched it.

    Source of the names: AWX, build_env in awx/main/tasks/jobs.py.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    job, of = os.environ.get("JOB_ID"), os.environ.get("AWX_HOST")
    return f"{user}@{socket.gethostname()}{f' (job {job} of {of})' if job and of else ''}"
