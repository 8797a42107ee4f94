# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof of a batch in words: which copies stay, which majority stays. The judgement itself is in `safety`."""

from __future__ import annotations

from collections.abc import Collection

from .state import ClusterState


def proof_of(state: ClusterState, batch: Collection[str]) -> str:
    """One sentence: what stays up while the members named in `batch` are down."""
    down = state.ids(batch)
    shards = {(copy.index, copy.shard, copy.search_only) for copy in state.copies if copy.member in down}
    staying = {
        (copy.index, copy.shard, copy.search_only)
        for copy in state.copies
        if state.serves(copy) and copy.member not in down
    }
    kept = len(shards & staying)
    voters = state.voting.committed | state.voting.accepted
    left = len((voters & state.members.keys()) - down)
    lead = "; it is the elected manager" if state.elected in down else ""
    return (
        f"{kept} of {len(shards)} shards keep a started copy elsewhere,"
        f" {left} of {len(voters)} voting members stay{lead}"
    )
