"""Asking the server why copies are not assigned, or where they could move: the questions of one look are limited, so it
takes a few looks until all are answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...common.errors import Refusal
from ...common.reading import Json
from .answers import EXPLAIN, reading
from .client import OpenSearchClient
from .explanation import Explanation, Move, parse_explanation, parse_move
from .state import ClusterState, ShardCopy

EXPLANATIONS = 500
"""The most questions of one look: each costs the elected manager all deciders times all data members."""

_Place = tuple[str, int, bool]
"""Index, shard, and whether it is the primary: the subject of a question to the server."""


def explain(
    client: OpenSearchClient, state: ClusterState, copies: Collection[ShardCopy], former: Sequence[Explanation] = ()
) -> tuple[Explanation, ...]:
    """Explanations of these unassigned copies, the oldest first; copies in the same situation share one question.

    `former` are explanations of an earlier look that are still true, the oldest first. If there are more questions than
    one look may ask, copies that were never explained come first, then those explained longest ago. So after a few
    looks all are explained.
    """
    age = {_place(explanation): number for number, explanation in enumerate(former)}
    groups = sorted(_alike(state, copies), key=lambda group: age.get(_place(group[0]), -1))
    asked = groups[:EXPLANATIONS]
    fresh = [explanation for group in asked for explanation in _ask(client, group)]
    left = {_place(copy) for group in groups[EXPLANATIONS:] for copy in group}
    return (*(explanation for explanation in former if _place(explanation) in left), *fresh)


def still_true(former: Sequence[Explanation], then: ClusterState, now: ClusterState) -> tuple[Explanation, ...]:
    """The former explanations that are still true: the same processes are there, and the copies of the shard too."""
    if {m.ephemeral_id for m in then.members.values()} != {m.ephemeral_id for m in now.members.values()}:
        return ()
    before, after = _by_shard(then), _by_shard(now)
    return tuple(
        explanation
        for explanation in former
        if before.get((explanation.index, explanation.shard)) == after.get((explanation.index, explanation.shard))
    )


def answer_about(client: OpenSearchClient, copy: ShardCopy, fields: str, member: str | None = None) -> Json | None:
    """These fields of the server's explanation of a copy, and the deciders; of the copy on `member`, if that is given.

    It is None if the copy was assigned or has gone between two calls, or its index is gone: the next look sees that.
    """
    body = {"index": copy.index, "shard": copy.shard, "primary": copy.primary}
    deciders = "node_allocation_decisions.deciders"
    try:
        answer: Json = client.post(
            "/_cluster/allocation/explain",
            {**body, "current_node": member} if member else body,
            filter_path=f"{fields},{deciders}.decider,{deciders}.decision",
        )
    except Refusal as error:
        if any(reason.code != "opensearch_answer" for reason in error.verdict.reasons):
            raise
        return None
    return answer


def _ask(client: OpenSearchClient, group: Sequence[ShardCopy]) -> Iterator[Explanation]:
    answer = answer_about(client, group[0], "index,shard,primary,can_allocate,node_allocation_decisions.node_id")
    if answer is None or "can_allocate" not in answer:
        return  # It was assigned between the two calls.
    with reading(EXPLAIN):
        explanation = parse_explanation(answer)
    for each in group:
        yield Explanation(each.index, each.shard, each.primary, explanation.can_allocate, explanation.refusing)


def explain_moves(client: OpenSearchClient, state: ClusterState, left: Sequence[ShardCopy]) -> tuple[Move, ...]:
    """The server's explanations of these copies; copies in the same situation share one question.

    Replicas that the server itself adds and takes away with the members (`auto_expand_replicas`) need no other place.
    """
    found = []
    holders = {copy.member for copy in left}
    there_are_others = any(member.holds_data and member.id not in holders for member in state.members.values())
    for group in list(_leaving(state, left))[:EXPLANATIONS]:
        answer = answer_about(client, group[0], "node_allocation_decisions.node_name", member=group[0].member)
        if answer is None or (there_are_others and "node_allocation_decisions" not in answer):
            continue  # It has begun to move between the two calls.
        with reading(EXPLAIN):
            found.append(parse_move(tuple(f"{each.index}[{each.shard}]" for each in group), answer))
    return tuple(found)


def _place(about: Explanation | ShardCopy) -> _Place:
    return about.index, about.shard, about.primary


def _by_shard(state: ClusterState) -> Mapping[tuple[str, int], Sequence[ShardCopy]]:
    found: dict[tuple[str, int], list[ShardCopy]] = defaultdict(list)
    for copy in state.copies:
        found[(copy.index, copy.shard)].append(copy)
    return found


def _alike(state: ClusterState, copies: Iterable[ShardCopy]) -> Iterable[list[ShardCopy]]:
    """Unassigned copies in groups of the same index, the same member with the primary, and the same other holders."""
    siblings = _by_shard(state)
    groups: dict[object, list[ShardCopy]] = defaultdict(list)
    for copy in copies:
        others = siblings[(copy.index, copy.shard)]
        holders = frozenset(other.member for other in others if other.member)
        primary = next((other.member for other in others if other.primary), None)
        groups[(copy.index, copy.primary, primary, holders)].append(copy)
    return groups.values()


def _leaving(state: ClusterState, left: Iterable[ShardCopy]) -> Iterable[list[ShardCopy]]:
    """Copies in groups of the same index and member, with the same other holders."""
    siblings = _by_shard(state)
    groups: dict[object, list[ShardCopy]] = defaultdict(list)
    for copy in left:
        index = state.indices.get(copy.index)
        if copy.state == "STARTED" and not (index and index.auto_expand):
            others = frozenset(other.member for other in siblings[(copy.index, copy.shard)])
            groups[(copy.index, copy.member, copy.primary, copy.search_only, others)].append(copy)
    return groups.values()
