# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a task: its run still holds the lock, which every task renews first and then from time to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..common import ancestry
from ..common.conflicts import until_unchanged
from ..common.errors import Refusal
from ..common.moments import now_text
from ..common.task import Contract, Outcome, Task
from ..common.task import perform as perform_unguarded
from ..common.waiting import Clock
from ..kubernetes import client as kubernetes
from ..kubernetes.lease import Lease
from ..opensearch import client as opensearch
from ..opensearch.cluster_lock import ClusterLock
from ..record.lock import Lock, LockStore, judge_ours

RENEWALS = 6
"""How often a lock is renewed within the time it lasts, so that an act begun with it ends while it still holds."""

BETWEEN_LOOKS = 1.0
"""Seconds within which a look does not ask for the lock again; an act always does."""

LONGEST = 500
"""Characters of what is waited for that a lock carries: reasons may name hundreds of shards, and notes have a limit."""

ATTEMPTS = 5
"""Somebody who asks the run to stop writes into the same lock; so many in a row are no accident."""


class HeldLock:
    """Asks for the lock of one run on the clock of one task."""

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


def perform(contract: Contract, run: Callable[[Task], Outcome], task: Task) -> dict[str, Any]:
    """Run a module's work and give its result; where a lock is given, only while the run holds it."""
    guarded = contract.guarded and bool(task.params.get("lock"))
    return perform_unguarded(lambda given: run(under_lock(given) if guarded else given), task)


def under_lock(task: Task) -> Task:
    """The same task, whose looks and acts ask for the lock first.

    Raises:
        Refusal: the connection options cannot be used.
    """
    return replace(task, guard=HeldLock(store_of(task.params), task.run, task.clock, processes_of(task)))


def processes_of(task: Task) -> tuple[str, ...]:
    """The processes whose end is the end of the run: controller and worker. None are known of a shipped module."""
    return (*task.parents, ancestry.identity()) if task.in_controller else ()


def store_of(params: Mapping[str, Any]) -> LockStore:
    """Where the lock of these arguments is kept. No request is made yet.

    Raises:
        Refusal: the connection options cannot be used.
    """
    lock = params["lock"]
    if lock["kept_in"] == "opensearch":
        return ClusterLock(opensearch.connect(params["opensearch"], params["kubernetes"]))
    return Lease(kubernetes.connect(params["kubernetes"]), lock["namespace"], lock["name"])
