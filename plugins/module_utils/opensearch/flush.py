# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flushing what restarts: its shards start without replaying the translog."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..common.task import Task
from .client import OpenSearchClient
from .state import ShardCopy

FLUSH_BY_NAME = 50
"""Up to so many indices are flushed by name; more would make the request line too long, so all are."""


def flush(task: Task, client: OpenSearchClient, indices: Collection[str]) -> None:
    """Flush the indices with shards on the batch, so that they start without replaying the translog."""
    if not indices:
        return
    task.still_wanted()
    target = ",".join(sorted(indices)) if len(indices) <= FLUSH_BY_NAME else "_all"
    client.post(f"/{target}/_flush", expand_wildcards="open,hidden", ignore_unavailable="true")
    task.journal.did("flushed", f"{len(indices)} indices")


def indices_on(members: frozenset[str], copies: Iterable[ShardCopy]) -> set[str]:
    """The indices with copies on these members, without those of which a copy recovers: their flush would wait."""
    recovering = {copy.index for copy in copies if copy.state == "INITIALIZING"}
    return {copy.index for copy in copies if copy.member in members} - recovering
