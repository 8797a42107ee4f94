# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock that a run holds: its tasks check it before they look and act, and renew it from time to time."""

from __future__ import annotations

from dataclasses import replace

from ..common import ancestry
from ..common.conflicts import until_unchanged
from ..common.errors import Refusal
from ..common.moments import now_text
from ..common.task import Task
from ..common.waiting import Clock
from .lock import Lock, LockStore, judge_ours

RENEWALS = 6
"""Renewals of a lock within the time it lasts, so that an act that began under it ends while it still holds."""

BETWEEN_LOOKS = 1.0
"""Seconds within which a look does not read the lock again; an act always does."""

LONGEST = 500
"""The most characters of the awaited reason in a lock: reasons may name hundreds of things, and notes have a limit."""

ATTEMPTS = 5
"""Conflicts in a row before a renewal is given up. A request to stop is written into the same lock, too."""


class HeldLock:
    """Checks and renews the lock of one run on the clock of one task."""

    def __init__(self, store: LockStore, run: str, clock: Clock, processes: tuple[str, ...]) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._processes = processes
        self._asked_at = float("-inf")
        self._renewed_at = float("-inf")
        self._said = ""

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        if self._clock.now() - self._asked_at >= BETWEEN_LOOKS:
            self._ask(doing, stoppable)

    def before_act(self) -> None:
        """See `Guard`."""
        self._ask("", stoppable=False)

    def _ask(self, waiting_for: str, stoppable: bool) -> None:
        doing = waiting_for if len(waiting_for) <= LONGEST else f"{waiting_for[:LONGEST]}…"
        until_unchanged(lambda: self._renew_if_due(doing, stoppable), ATTEMPTS)
        self._asked_at = self._clock.now()

    def _renew_if_due(self, doing: str, stoppable: bool) -> None:
        lock = self._store.read()
        verdict = judge_ours(lock, self._run, stoppable)
        if not verdict.passed or lock is None:
            raise Refusal(*verdict.reasons)
        if self._clock.now() - self._renewed_at >= lock.seconds / RENEWALS or doing != self._said:
            self._renew(lock, doing)

    def _renew(self, lock: Lock, doing: str) -> None:
        fresh = replace(
            lock,
            renewed=now_text("microseconds"),
            place=ancestry.place(),
            processes=self._processes,
            doing=doing,
        )
        self._store.write(fresh, lock)
        self._renewed_at, self._said = self._clock.now(), doing


def processes_of(task: Task) -> tuple[str, ...]:
    """The processes whose end is the end of the run: controller and worker. None are known for a shipped module."""
    return (*task.parents, ancestry.identity()) if task.in_controller else ()
