"""The server's explanations of copies that have no member, or are to leave one (`_cluster/allocation/explain`)."""

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
    """The names of the deciders that answered NO, by member id."""


def parse_explanation(answer: Json) -> Explanation:
    """An explanation from its JSON."""
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
"""The answers of a decider (server source, Decision.Type)."""


def refusing_deciders(decision: Json) -> frozenset[str]:
    """The deciders that say no to one member, in `node_allocation_decisions`."""
    said = listed(decision, "deciders", lambda each: (text(each, "decider"), one_of(each, "decision", DECISIONS)), ())
    return frozenset(name for name, decided in said if decided == "NO")


@dataclass(frozen=True)
class Move:
    """The server's explanation of copies that are to leave their member."""

    shards: tuple[str, ...]
    """The copies, all in the same situation."""
    refusing: Mapping[str, frozenset[str]]
    """The names of the deciders that say no, by the name of every other data member."""


def parse_move(shards: tuple[str, ...], answer: Json) -> Move:
    """The explanation of these copies, from its JSON."""
    decisions = listed(
        answer, "node_allocation_decisions", lambda each: (text(each, "node_name"), refusing_deciders(each)), ()
    )
    return Move(shards, dict(decisions))
