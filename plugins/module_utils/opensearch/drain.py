# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draining: do the shards of members that keep no data fit elsewhere, and have they gone there?

Asked before anything is excluded, `_cluster/allocation/explain` says of a copy that has a member which deciders keep it
off every other one. Once its member is excluded, it also says whether it can move at all (`can_move_to_other_node`).
Seen on 2.19 and 3.8, also with rebalancing switched off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.errors import Refusal
from ..common.verdict import Verdict, refused, waiting
from ..common.words import enumerate_few
from .client import OpenSearchClient
from .state import ClusterState, ShardCopy

EXPLANATIONS = 500
"""At most so many explanations per look: each costs the elected manager all deciders times all data members."""

_REMEDY = (
    "Add a member, or cure what the deciders name; or replace these members without draining them"
    " (upgrade_ephemeral: restart), which a started copy elsewhere makes safe."
)


@dataclass(frozen=True)
class Move:
    """What the server says of a copy that is to leave its member."""

    shards: tuple[str, ...]
    """The copies that this was said of, all in the same situation."""
    answer: str | None
    """Whether it can move: `yes`, `no`, `throttled`, `awaiting_info`; None while it may stay where it is."""
    refusing: Mapping[str, frozenset[str]]
    """Name of every other data member -> names of the deciders that say no."""


def left_on(state: ClusterState, names: Collection[str]) -> tuple[ShardCopy, ...]:
    """The copies that the named members hold; one that relocates, as long as it has not arrived."""
    members = state.ids(names)
    return tuple(copy for copy in state.copies if copy.member in members)


def standing_still(state: ClusterState) -> bool:
    """Whether no copy is under way anywhere: as long as one is, others may just be waiting for their turn."""
    return not any(copy.state in {"INITIALIZING", "RELOCATING"} for copy in state.copies)


def explain_moves(client: OpenSearchClient, state: ClusterState, left: Iterable[ShardCopy]) -> tuple[Move, ...]:
    """What the server says of these copies; those in the same situation share one question.

    Replicas that the server itself adds and takes away with the members (`auto_expand_replicas`) need no other place.

    Raises:
        Refusal: the server does not let us ask, or cannot be reached.
    """
    found = []
    for group in list(_alike(state, left))[:EXPLANATIONS]:
        copy = group[0]
        body = {"index": copy.index, "shard": copy.shard, "primary": copy.primary, "current_node": copy.member}
        try:
            answer = client.post(
                "/_cluster/allocation/explain",
                body,
                filter_path="can_move_to_other_node,node_allocation_decisions.node_name,"
                "node_allocation_decisions.deciders.decider,node_allocation_decisions.deciders.decision",
            )
        except Refusal as error:
            if any(reason.code != "opensearch_answer" for reason in error.verdict.reasons):
                raise
            # The copy has gone between the two calls: the next look sees it.
            continue
        found.append(parse_move(tuple(f"{each.index}[{each.shard}]" for each in group), answer))
    return tuple(found)


def parse_move(shards: tuple[str, ...], answer: Mapping[str, Any]) -> Move:
    """What is said of copies, from the JSON."""
    return Move(
        shards,
        answer.get("can_move_to_other_node"),
        {
            decision["node_name"]: frozenset(
                decider["decider"] for decider in decision.get("deciders", ()) if decider["decision"] == "NO"
            )
            for decision in answer.get("node_allocation_decisions", ())
        },
    )


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
    """Before anything is excluded: some member that stays takes each copy, by what the deciders say."""
    return _stuck(names, [move for move in moves if all(_of_others(names, move).values())])


def judge_drained(names: Collection[str], left: Sequence[ShardCopy], moves: Iterable[Move]) -> Verdict:
    """Whether the members hold nothing any more; refused where the server says that what is left cannot move."""
    if not left:
        return Verdict()
    stuck = _stuck(names, [move for move in moves if move.answer == "no"])
    if stuck.reasons:
        return stuck
    text = f"Shards move away from {enumerate_few(names)}: {len(left)} left."
    return Verdict((waiting("draining", text, "It ends by itself; indices.recovery.max_bytes_per_sec sets its pace."),))


def _of_others(names: Collection[str], move: Move) -> dict[str, frozenset[str]]:
    return {name: deciders for name, deciders in move.refusing.items() if name not in names}


def _stuck(names: Collection[str], moves: Iterable[Move]) -> Verdict:
    by_deciders: dict[str, list[str]] = defaultdict(list)
    for move in moves:
        count: dict[str, int] = defaultdict(int)
        for deciders in _of_others(names, move).values():
            for decider in deciders:
                count[decider] += 1
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
