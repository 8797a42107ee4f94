# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to the server: the members to which the copies of members without lasting data could move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from .answers import EXPLAIN, reading
from .client import OpenSearchClient
from .explaining import EXPLANATIONS, answer_about
from .explanation import Move, parse_move
from .state import ClusterState, ShardCopy


def explain_moves(client: OpenSearchClient, state: ClusterState, left: Sequence[ShardCopy]) -> tuple[Move, ...]:
    """The server's explanations of these copies; copies in the same situation share one question.

    Replicas that the server itself adds and takes away with the members (`auto_expand_replicas`) need no other place.

    Raises:
        Refusal: the server refuses the question, or cannot be reached.
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
