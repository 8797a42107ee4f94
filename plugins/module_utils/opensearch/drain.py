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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..common.reading import Json, listed, text
from ..common.verdict import Verdict, refused, waiting
from ..common.words import enumerate_few
from .answers import EXPLAIN, reading
from .client import OpenSearchClient
from .explanations import EXPLANATIONS, answer_about
from .progress import refusing_deciders
from .state import ClusterState, ShardCopy

_REMEDY = (
    "Add a member, or cure what the deciders name. Or replace these members without draining them"
    " (upgrade_ephemeral: restart), which is safe as long as every shard has a started copy elsewhere."
)


@dataclass(frozen=True)
class Move:
    """What the server says of a copy that is to leave its member."""

    shards: tuple[str, ...]
    """The copies that this was said of, all in the same situation."""
    refusing: Mapping[str, frozenset[str]]
    """Name of every other data member -> names of the deciders that say no."""


def left_on(state: ClusterState, names: Collection[str]) -> tuple[ShardCopy, ...]:
    """The copies that the named members hold; one that relocates, as long as it has not arrived."""
    members = state.ids(names)
    return tuple(copy for copy in state.copies if copy.member in members)


def standing_still(state: ClusterState) -> bool:
    """Whether no copy is under way anywhere: as long as one is, others may just be waiting for their turn."""
    return not any(copy.state in {"INITIALIZING", "RELOCATING"} for copy in state.copies)


def explain_moves(client: OpenSearchClient, state: ClusterState, left: Sequence[ShardCopy]) -> tuple[Move, ...]:
    """What the server says of these copies; those in the same situation share one question.

    Replicas that the server itself adds and takes away with the members (`auto_expand_replicas`) need no other place.

    Raises:
        Refusal: the server does not let us ask, or cannot be reached.
    """
    found = []
    holders = {copy.member for copy in left}
    there_are_others = any(member.holds_data and member.id not in holders for member in state.members.values())
    for group in list(_alike(state, left))[:EXPLANATIONS]:
        answer = answer_about(client, group[0], "node_allocation_decisions.node_name", member=group[0].member)
        if answer is None or (there_are_others and "node_allocation_decisions" not in answer):
            continue  # It has begun to move between the two calls.
        with reading(EXPLAIN):
            found.append(parse_move(tuple(f"{each.index}[{each.shard}]" for each in group), answer))
    return tuple(found)


def parse_move(shards: tuple[str, ...], answer: Json) -> Move:
    """What is said of copies, from the JSON.

    Raises:
        Unreadable: a field that decides is missing.
    """
    decisions = listed(
        answer, "node_allocation_decisions", lambda each: (text(each, "node_name"), refusing_deciders(each)), ()
    )
    return Move(shards, dict(decisions))


def _alike(state: ClusterState, left: Iterable[ShardCopy]) -> Iterable[list[ShardCopy]]:
    """Copies in groups of the same index and member, with the same other holders."""
    holders: dict[tuple[str, int], set[str | None]] = defaultdict(set)
    for copy in state.copies:
        holders[(copy.index, copy.shard)].add(copy.member)
    groups: dict[object, list[ShardCopy]] = defaultdict(list)
    for copy in left:
        index = state.indices.get(copy.index)
        if copy.state == "STARTED" and not (index and index.auto_expand):
            others = frozenset(holders[(copy.index, copy.shard)])
            groups[(copy.index, copy.member, copy.primary, copy.search_only, others)].append(copy)
    return groups.values()


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
