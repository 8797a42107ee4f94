# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Last copies whose replicas have no place: taking their member down makes the index red. Pure.

The proof alone would wait for the replica, since it cannot know that the replica never comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.copies import Shard, last_copies
from ..observe.state import ClusterState


@as_verdict
def judge_last_copies(
    state: ClusterState, going: Collection[str], without_place: Mapping[Shard, str], may_be_red: Collection[str]
) -> Iterator[Reason]:
    """Whether no member of `going` (ids) holds a last copy whose replicas have no place.

    `without_place` holds the deciders that leave a shard's replicas without a place.
    """
    stuck: dict[tuple[str, str], list[str]] = defaultdict(list)
    for shard, copy in last_copies(state).items():
        if copy.member in going and shard in without_place and copy.index not in may_be_red:
            holder = state.members.get(copy.member or "")
            stuck[(holder.name if holder else "?", without_place[shard])].append(f"{copy.index}[{copy.shard}]")
    for (name, deciders), shards in sorted(stuck.items()):
        yield refused(
            "last_started_copy",
            f"{name} holds the only copy of {enumerate_few(shards)} that can be assigned; the replicas fit on no member"
            f" (deciders: {deciders}).",
            "Cure what the deciders name; or accept with allow_red_indices that these indices are red while that member"
            " restarts.",
        )
