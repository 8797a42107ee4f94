# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the run live that has changed settings which are to be put back?

Whoever puts back what another run has set watches the lock that the undo names: nothing of a living run is undone.

The same cluster can be reached from several namespaces, each of which has its own lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ...common.errors import Refusal, Unreachable, refusal
from ...common.task import Task, passed_or_raise
from ...common.waiting import Patience, wait_for
from ...engine.lock import LockStore, Sight, judge_free
from ...engine.lock_watch import Watch, place_of
from ...kubernetes import client as kubernetes
from ...kubernetes.lease import Lease
from ..observe.client import OpenSearchClient
from ..observe.settings import Undo
from .cluster_lock import ClusterLock

Seen = TypeVar("Seen")


PAUSE = 1.0
"""Seconds between two looks at a lock."""
LONGEST = 3600.0
"""Seconds that a lock is watched at the most; it ends with the time that the lock lasts."""


def judge_writer(task: Task, client: OpenSearchClient, undo: Undo) -> None:
    """See that the run which wrote an undo lives no more, where its lock is not the one that this task is under.

    That lock is watched for as long as it lasts. An undo without one was written by an older version, or outside a run.

    Raises:
        Refusal: that run holds its lock and lives, or the lock cannot be read.
    """
    own = place_of(task.params.get("lock"))
    if not undo.lock or undo.run in {task.run, task.params.get("take_over")} or undo.lock == own:
        return

    def asked(ask: Callable[[], Seen]) -> Seen:
        try:
            return ask()
        except Unreachable:
            raise
        except Refusal as error:
            raise _unreadable(undo, error) from error

    watch = Watch(task, asked(lambda: _store(task, client, undo.lock)))

    def look() -> Sight:
        task.may_look()
        sight = asked(watch.look)
        return sight if sight.lock is not None and sight.lock.run == undo.run else Sight(None)

    patience = Patience(LONGEST, PAUSE)
    _sight, verdict = wait_for(
        look, lambda sight: judge_free(sight, task.run, ""), patience, task.clock, task.progress, task.waited
    )
    passed_or_raise(verdict)


def _store(task: Task, client: OpenSearchClient, place: Mapping[str, str]) -> LockStore:
    if place["kept_in"] == "opensearch":
        return ClusterLock(client)
    return Lease(kubernetes.connect(task.params["kubernetes"]), place["namespace"], place["name"])


def _unreadable(undo: Undo, error: Refusal) -> Refusal:
    place = undo.lock
    within = f"in namespace {place['namespace']}" if place["kept_in"] != "opensearch" else "in OpenSearch"
    return refusal(
        "undo_lock_not_readable",
        f"The settings to be put back were changed by run {undo.run}. Its lock {place['name']} {within} cannot be read,"
        f" so it is not known whether that run lives. {error.verdict.reasons[0].message}",
        f"Settle as a user who may read the lock {within}. If that run is certainly dead, restore with the module"
        f" shard_allocation, and name run {undo.run} in its option for taking over.",
    )
