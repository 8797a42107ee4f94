"""Copies on members where allocation awareness does not want them. Pure.

Of each shard the members with one value of an attribute may hold an equal part of the copies, and a member without the
attribute none (server source, AwarenessAllocationDecider). Copies that were there before stay if they fit on no other
member, and the cluster is green. Once their member restarts, they do not come back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterator

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.copies import copies_move
from ..observe.settings import ROUTING, Settings, names_in
from ..observe.state import ClusterState
from .filters import to_come_back

ATTRIBUTES = f"{ROUTING}awareness.attributes"


@as_verdict
def judge_awareness(
    state: ClusterState, settings: Settings, going: Collection[str], left: Container[str] = ()
) -> Iterator[Reason]:
    """Whether awareness lets the replicas of the members that are `going` to restart come back to them.

    The indices in `left` are left as they are (`allow_red_indices`).
    """
    moves = copies_move(state)
    for attribute in names_in(settings.effective(ATTRIBUTES)):
        forced = names_in(settings.effective(f"{ROUTING}awareness.force.{attribute}.values"))
        unwanted: dict[str, set[str]] = defaultdict(set)
        for index, shard, identity in _beyond(state, attribute, forced, going, left):
            unwanted[state.members[identity].name].add(f"{index}[{shard}]")
        if unwanted:
            shards = sorted({shard for found in unwanted.values() for shard in found})
            yield (waiting if moves else refused)(
                "members_excluded",
                f"{ATTRIBUTES} is set to {settings.effective(ATTRIBUTES)}, by which copies of {enumerate_few(shards)}"
                f" may not be on {enumerate_few(sorted(unwanted))} (no {attribute}, or too many copies with the same"
                f" one), where they {'still are' if moves else 'stay'}: those could not come back after a restart.",
                "Set it to null if it was left behind, or give the copies a place elsewhere (GET"
                " _cluster/allocation/explain), then run again.",
            )


def _beyond(
    state: ClusterState, attribute: str, forced: Collection[str], going: Collection[str], left: Container[str]
) -> Iterator[tuple[str, int, str]]:
    """The copies, each with its member, that are more than their value of the attribute may have.

    Indices whose replicas follow the members, and search-only copies, have rules of their own.
    """
    of = {identity: member.attributes.get(attribute) for identity, member in state.members.items()}
    values = {of[identity] for identity, member in state.members.items() if member.holds_data} | {*forced}
    number = max(1, len(values - {None}))
    held: dict[tuple[str, int], list[str]] = defaultdict(list)
    for copy in state.copies:
        if copy.member in of and not copy.search_only:
            held[copy.index, copy.shard].append(copy.relocating_to or copy.member)
    for name, shard, member in to_come_back(state, going, left):
        index, places = state.indices.get(name), held[name, shard]
        if index is None or index.auto_expand or member.id not in places:
            continue
        own, most = of[member.id], -(-(index.replicas + 1) // number)
        if own is None or sum(of.get(place) == own for place in places) > most:
            yield name, shard, member.id
