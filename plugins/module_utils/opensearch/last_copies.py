# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: last copies whose replicas have no place: nobody can take their member down without the index being red.

The proof alone would wait for the replica, since it cannot know that it never comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from ..common.verdict import Verdict, refused
from ..common.words import enumerate_few
from .safety import copy_sets
from .state import ClusterState, ShardCopy

Shard = tuple[str, int]


def last_copies(state: ClusterState) -> Mapping[Shard, ShardCopy]:
    """The shards of which a single copy is assigned while others are not, and that copy; search-only ones are left out.

    A replica is a last copy of this kind only where its primary is not assigned, which is told otherwise.
    """
    lone: dict[Shard, ShardCopy] = {}
    for (index, shard, search_only), copies in copy_sets(state).items():
        held = [copy for copy in copies if copy.member is not None]
        if not search_only and len(held) == 1 and held[0].primary and len(copies) > 1:
            lone[index, shard] = held[0]
    return lone


def judge_last_copies(
    state: ClusterState, going: Collection[str], without_place: Mapping[Shard, str], may_be_red: Collection[str]
) -> Verdict:
    """No member of `going` (ids) holds a last copy whose replicas have no place; `without_place` gives the deciders."""
    stuck: dict[tuple[str, str], list[str]] = defaultdict(list)
    for shard, copy in last_copies(state).items():
        if copy.member in going and shard in without_place and copy.index not in may_be_red:
            holder = state.members.get(copy.member or "")
            stuck[(holder.name if holder else "?", without_place[shard])].append(f"{copy.index}[{copy.shard}]")
    return Verdict(
        tuple(
            refused(
                "last_started_copy",
                f"{name} holds the only copy of {enumerate_few(shards)} that can be assigned; the replicas fit on no"
                f" member (deciders: {deciders}).",
                "Cure what the deciders name; or accept with allow_red_indices that these indices are red while that"
                " member restarts.",
            )
            for (name, deciders), shards in sorted(stuck.items())
        )
    )
