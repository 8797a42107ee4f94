# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rolling a pool by the partition of its RollingUpdate: what lowering it lets through. Pure.

A partition counts from the first ordinal on. Pods at or above it come back on the new revision and are replaced by the
controller itself, the highest first; pods below come back on the old one (server source, stateful_set_control.go and
`newVersionedStatefulSetPod` in stateful_set_utils.go).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..common.verdict import Verdict, refused
from ..common.words import enumerate_few
from .pool_changes import carried_undo
from .state import StatefulSet


def rolled_by_partition(pool: StatefulSet) -> bool:
    """Whether a run has taken the pool's partition into its hands.

    Raises:
        Refusal: the pool carries an undo that cannot be read.
    """
    undo = carried_undo(pool)
    return undo is not None and undo.strategy_set == "RollingUpdate" and undo.holds(pool)


def lowered_for(pool: StatefulSet, going: Collection[str]) -> StatefulSet:
    """The pool as it is once the partition lets the pods `going` through; itself, where it does or is not ours."""
    places = [pool.place(name) for name in going]
    if not places or not rolled_by_partition(pool) or min(places) >= pool.partition:
        return pool
    rolling = {**(pool.update_strategy.get("rollingUpdate") or {}), "partition": min(places)}
    return replace(pool, update_strategy={**pool.update_strategy, "rollingUpdate": rolling})


def judge_one_at_a_time(pool: StatefulSet, going: Collection[str]) -> Verdict:
    """The controller replaces what a lowered partition lets through by itself, so that is never more than one pod."""
    if len(going) < 2 or not rolled_by_partition(pool):
        return Verdict()
    return Verdict(
        (
            refused(
                "partition_one_at_a_time",
                f"The partition of StatefulSet {pool.name} would let {enumerate_few(going)} through at once, and its"
                " controller would replace the second without any proof.",
                "Replace them one after the other, or roll the pool with strategy OnDelete.",
            ),
        )
    )


def lowering(pool: StatefulSet, wanted: StatefulSet) -> dict[str, Any]:
    """The patch from one to the other, which fails where the pool was changed since it was observed."""
    return {
        "metadata": {"resourceVersion": pool.resource_version},
        "spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": wanted.partition}}},
    }
