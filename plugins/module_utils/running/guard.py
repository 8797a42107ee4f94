# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a task: its run must still hold the lock, which every task renews first and then from time to time.

The place of a lock is chosen here, the only place of a system that `running` knows: a task of any room may belong to a
run whose lock an OpenSearch cluster keeps, since the modules of its pools are guarded by it, too. A system whose lock
is a Lease needs nothing of this. A file is no place, since runs of other controllers would not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..alerting.alert_silence import alertmanager_of
from ..alerting.silence_renewal import SilenceRenewal
from ..common.task import Contract, Guard, Outcome, Task, perform
from ..engine.held_lock import HeldLock, processes_of
from ..engine.lock import LockStore
from ..kubernetes import client as kubernetes
from ..kubernetes.lease import Lease
from ..opensearch.act.cluster_lock import ClusterLock
from ..opensearch.observe import client as opensearch


def perform_guarded(contract: Contract, run: Callable[[Task], Outcome], task: Task) -> dict[str, Any]:
    """Run a module's work and give its result. If a lock is given, it works only while the run holds it."""
    guarded = contract.guarded and bool(task.params.get("lock"))
    return perform(lambda given: run(under_lock(given) if guarded else given), task)


def under_lock(task: Task) -> Task:
    """The same task, with a check of the lock before its looks and acts, and with its silences renewed."""
    guard: Guard = HeldLock(store_of(task.params), task.run, task.clock, processes_of(task))
    if (task.params.get("alertmanager") or {}).get("url"):
        guard = SilenceRenewal(guard, alertmanager_of(task.params), task.clock)
    return replace(task, guard=guard)


def store_of(params: Mapping[str, Any]) -> LockStore:
    """The store of the lock of these arguments. No request is made yet.

    Raises:
        Refusal: the connection options cannot be used.
    """
    lock = params["lock"]
    if lock["kept_in"] == "opensearch":
        return ClusterLock(opensearch.connect(params["opensearch"], params["kubernetes"]))
    return Lease(kubernetes.connect(params["kubernetes"]), lock["namespace"], lock["name"])
