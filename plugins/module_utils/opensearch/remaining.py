# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: how much is left of what a gate waits for: shards, and the bytes and operations of those that recover.

A gate that waits for shards has no deadline as long as this falls; what stands still has one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .progress import Explanation, unassigned
from .state import ClusterState

OF_SHARDS = (
    "allocating",
    "last_started_copy",
    "not_green",
    "primary_unassigned",
    "recovering",
    "recovery_running",
)
"""The codes of the reasons that end when shards are started."""


@dataclass(frozen=True)
class Recoveries:
    """What the recoveries under way have still to copy (bytes), and to replay (operations)."""

    bytes: float = 0
    operations: float = 0


UNKNOWN = Recoveries(math.inf, math.inf)


def parse_recoveries(answer: Mapping[str, Any]) -> Recoveries:
    """What is left of all recoveries of `_recovery?active_only=true`.

    How many operations there will be is not always known yet (total -1; server source, RecoveryState.Translog).

    Raises:
        KeyError: a figure is missing.
    """
    found = [recovery for index in answer.values() for recovery in index["shards"]]
    sizes = [recovery["index"]["size"] for recovery in found]
    return Recoveries(
        sum(max(0, s["total_in_bytes"] - s["reused_in_bytes"] - s["recovered_in_bytes"]) for s in sizes),
        sum(max(0, r["translog"]["total"] - r["translog"]["recovered"]) for r in found),
    )


def under_way(state: ClusterState) -> bool:
    """Whether any copy recovers or moves."""
    return any(copy.state in {"INITIALIZING", "RELOCATING"} for copy in state.copies)


def remaining(
    state: ClusterState, explanations: Collection[Explanation], recoveries: Recoveries
) -> Mapping[str, tuple[float, ...]]:
    """By the code of a reason, what is left of what it waits for: shards first, then bytes, then operations."""
    shards = sum(copy.state != "STARTED" for copy in state.copies)
    explained = {(one.index, one.shard) for one in explanations}
    unexplained = sum((copy.index, copy.shard) not in explained for copy in unassigned(state))
    left = (float(shards), recoveries.bytes, recoveries.operations)
    return {**dict.fromkeys(OF_SHARDS, left), "unassigned": (float(unexplained),)}
