# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The amount that a gate still waits for: shards, and bytes and operations of those that recover. Pure.

A gate that waits for shards has no deadline as long as this falls; once it stands still, the deadline counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..observe.copies import unassigned
from ..observe.explanation import Explanation
from ..observe.recoveries import Recoveries
from ..observe.state import ClusterState

OF_SHARDS = (
    "allocating",
    "last_started_copy",
    "not_green",
    "primary_unassigned",
    "recovering",
    "recovery_running",
)
"""The codes of the reasons that end when shards are started."""


def remaining(
    state: ClusterState, explanations: Collection[Explanation], recoveries: Recoveries
) -> Mapping[str, tuple[float, ...]]:
    """The amount that is left to wait for, by the code of the reason: shards first, then bytes, then operations."""
    shards = sum(copy.state != "STARTED" for copy in state.copies)
    explained = {(one.index, one.shard) for one in explanations}
    unexplained = sum((copy.index, copy.shard) not in explained for copy in unassigned(state))
    left = (float(shards), recoveries.bytes, recoveries.operations)
    return {**dict.fromkeys(OF_SHARDS, left), "unassigned": (float(unexplained),)}
