# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the server says of a copy that has no member, or that is to leave one (`_cluster/allocation/explain`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...common.reading import Json, flag, listed, one_of, text, whole


@dataclass(frozen=True)
class Explanation:
    """`_cluster/allocation/explain` of one unassigned copy: per member the deciders that say no."""

    index: str
    shard: int
    primary: bool
    can_allocate: str
    refusing: Mapping[str, frozenset[str]]
    """Member id → names of the deciders that answered NO."""


def parse_explanation(answer: Json) -> Explanation:
    """An explanation from its JSON.

    Raises:
        Unreadable: a field that decides is missing.
    """
    return Explanation(
        index=text(answer, "index"),
        shard=whole(answer, "shard"),
        primary=flag(answer, "primary"),
        can_allocate=text(answer, "can_allocate"),
        refusing=dict(
            listed(
                answer, "node_allocation_decisions", lambda each: (text(each, "node_id"), refusing_deciders(each)), ()
            )
        ),
    )


DECISIONS = frozenset({"ALWAYS", "NO", "THROTTLE", "YES"})
"""What a decider says (server source, Decision.Type)."""


def refusing_deciders(decision: Json) -> frozenset[str]:
    """The deciders that say no to one member, in `node_allocation_decisions`.

    Raises:
        Unreadable: one says nothing that is known.
    """
    said = listed(decision, "deciders", lambda each: (text(each, "decider"), one_of(each, "decision", DECISIONS)), ())
    return frozenset(name for name, decided in said if decided == "NO")


@dataclass(frozen=True)
class Move:
    """What the server says of a copy that is to leave its member."""

    shards: tuple[str, ...]
    """The copies that this was said of, all in the same situation."""
    refusing: Mapping[str, frozenset[str]]
    """Name of every other data member -> names of the deciders that say no."""


def parse_move(shards: tuple[str, ...], answer: Json) -> Move:
    """What is said of copies, from the JSON.

    Raises:
        Unreadable: a field that decides is missing.
    """
    decisions = listed(
        answer, "node_allocation_decisions", lambda each: (text(each, "node_name"), refusing_deciders(each)), ()
    )
    return Move(shards, dict(decisions))
