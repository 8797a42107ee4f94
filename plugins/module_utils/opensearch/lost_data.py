# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would not come back with a member that keeps no data over a restart. Pure judgement over one cluster state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..common.verdict import State, Verdict, refused
from ..common.words import enumerate_few
from .safety import Policy, judge_consent
from .state import ClusterState, ShardCopy


def judge_lost(state: ClusterState, going: Collection[str], pool: str, *, awaits_data: bool = False) -> Verdict:
    """What would be lost for good with these members of a pool that keeps no data; no consent covers that.

    What the servers make anew is not. The primary of an index with a remote store is not made anew: without a copy on
    a member it stays red (server source, PrimaryShardAllocator: `NO_VALID_SHARD_COPY`).
    `awaits_data` is that of `Policy`.
    """
    kept = replace(state, copies=tuple(copy for copy in state.copies if not is_made_anew(state, copy)))
    return Verdict(
        tuple(
            refused(
                "ephemeral_pool",
                f"{reason.message} Pool {pool} keeps no data over a restart, so it would be lost for good."
                f"{_of_remote_store(kept, going)}",
                "Give these indices a replica, run three manager-eligible members, or keep the data in volumes.",
            )
            for reason in judge_consent(kept, going, Policy(awaits_data=awaits_data)).reasons
            if reason.state is State.REFUSED
        )
    )


def is_made_anew(state: ClusterState, copy: ShardCopy) -> bool:
    """Whether the servers make a copy anew where every member that held one has lost it.

    A shard of a searchable snapshot reads from its repository. A copy for search only begins with an empty store, and
    is filled with what the primary has written (server source, ShardRouting: `EmptyStoreRecoverySource`).
    """
    return copy.search_only or (copy.index in state.indices and state.indices[copy.index].of_snapshot)


def _of_remote_store(state: ClusterState, going: Collection[str]) -> str:
    down = state.ids(going)
    held = {copy.index for copy in state.copies if copy.member in down}
    stored = sorted(index for index in held & state.indices.keys() if state.indices[index].in_remote_store)
    if not stored:
        return ""
    return f" What {enumerate_few(stored)} has in a remote store stays away until POST _remotestore/_restore."
