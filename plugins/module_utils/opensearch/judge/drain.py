# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draining: do the shards of members that keep no data fit elsewhere, and have they gone there?

`_cluster/allocation/explain` says of a copy that has a member which deciders keep it off every other one, before its
member is excluded and after, also with rebalancing switched off (seen on 2.19 and 3.8). What it says in one word once
the member is excluded, `can_move_to_other_node`, is `no` also where a copy only waits for its turn, so nothing is made
of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from ...common.verdict import Verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.explanation import Move
from ..observe.state import ShardCopy

_REMEDY = (
    "Add a member, or cure what the deciders name. Or replace these members without draining them"
    " (upgrade_ephemeral: restart), which is safe as long as every shard has a started copy elsewhere."
)


def judge_room(names: Collection[str], moves: Iterable[Move]) -> Verdict:
    """By what the deciders say, some member that stays takes each copy, at once or when it is its turn."""
    by_deciders: dict[str, list[str]] = defaultdict(list)
    for move in moves:
        others = [deciders for name, deciders in move.refusing.items() if name not in names]
        if not all(others):
            continue
        count = Counter(decider for deciders in others for decider in deciders)
        said = ", ".join(f"{decider} on {number}" for decider, number in sorted(count.items()))
        by_deciders[said or "there is no other data member"].extend(move.shards)
    return Verdict(
        tuple(
            refused(
                "drain_impossible",
                f"{enumerate_few(shards)} cannot leave {enumerate_few(names)}: no other member takes them ({said}).",
                _REMEDY,
            )
            for said, shards in by_deciders.items()
        )
    )


def judge_drained(names: Collection[str], left: Sequence[ShardCopy], moves: Iterable[Move]) -> Verdict:
    """Whether the members hold nothing any more; refused where what is left has no place elsewhere."""
    if not left:
        return Verdict()
    said = f"Shards move away from {enumerate_few(names)}: {len(left)} left."
    moving = waiting("draining", said, "It ends by itself; indices.recovery.max_bytes_per_sec sets its pace.")
    return Verdict(judge_room(names, moves).reasons or (moving,))
