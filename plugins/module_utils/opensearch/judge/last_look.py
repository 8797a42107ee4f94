# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof immediately before a batch goes down, with allocation restricted for it."""

from __future__ import annotations

from collections.abc import Collection

from ...common.verdict import Verdict, combine
from ..observe.copies import copy_sets
from ..observe.state import ClusterState
from .policy import Policy, awaiting
from .safety import judge_batch, judge_blocks, judge_present


def prove(
    state: ClusterState,
    members: Collection[str],
    batch: Collection[str],
    policy: Policy,
    gone: Collection[str] = frozenset(),
) -> Verdict:
    """The proof that the members named in `batch` may go down now; `members` are all that should be in the cluster.

    `gone` are those of the batch that were stopped already: they count as down, and are not missed.
    """
    policy = awaiting(policy, state, members, batch)
    present = {member.name for member in state.members.values()}
    away = set(gone) - present
    there = judge_present(state, set(members) - away, set(batch) - away)
    return combine((judge_blocks(state), there, judge_batch(state, batch, policy, gone)))


def needs_allocation(state: ClusterState, batch: Collection[str], may_be_red: Collection[str] = ()) -> frozenset[str]:
    """The shards that need an allocation outside the batch: no copy of them is there, nor has one begun to recover.

    A recovery that has begun goes on under every restriction; an allocation does not (server source,
    EnableAllocationDecider).
    """
    down = state.ids(batch)
    return frozenset(
        f"{index}[{shard}]"
        for (index, shard, _search_only), copies in copy_sets(state).items()
        if index not in may_be_red
        and any(copy.member in down for copy in copies)
        and any(copy.state == "UNASSIGNED" for copy in copies)
        and all(copy.member in down or copy.state == "UNASSIGNED" for copy in copies)
    )
