# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run that has changed settings: it has to be dead before another puts them back."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.task import Task
from ...engine import lock_watch
from ...engine.lock import LockStore
from ...kubernetes import client as kubernetes
from ...kubernetes.lease import Lease
from ..observe.client import OpenSearchClient
from ..observe.settings import Undo
from .cluster_lock import ClusterLock


def judge_writer(task: Task, client: OpenSearchClient, undo: Undo) -> None:
    """Check that the run which wrote the undo is dead, in whichever of both stores its lock is.

    Raises:
        Refusal: that run holds its lock and lives, or the lock cannot be read.
    """
    lock_watch.judge_writer(task, undo.writer, lambda place: _store(task, client, place), "shard_allocation")


def _store(task: Task, client: OpenSearchClient, place: Mapping[str, str]) -> LockStore:
    if place["kept_in"] == "opensearch":
        return ClusterLock(client)
    return Lease(kubernetes.connect(task.params["kubernetes"]), place["namespace"], place["name"])
