"""The sets of places that decide whether a cluster can spare others of which some are away at once. Pure.

A place is a Kubernetes node with the members on it. What may be away at once is too much to list, so the sets are found
from what could be lost: of each shard the places of its copies, of each configuration those of its voters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ...run.away_sets import AwaySets
from ..observe.copies import copy_sets
from ..observe.state import ClusterState
from .quorum import can_be_elected
from .roles import members_serving

SERVING = 1_000
"""The weight of a copy that serves: it counts more than any number of others of its shard."""


def deciding_sets(state: ClusterState, places: Mapping[str, str], away: AwaySets) -> Iterator[tuple[str, ...]]:
    """Each place with members by itself, then those that together take away the last copy, a majority, or a role.

    `places` has those of the members by name. If no set passes that takes all of something, no greater one does.
    """
    of_ids = {identity: places.get(member.name, "") for identity, member in state.members.items()}
    there = {identity: place for identity, place in of_ids.items() if place in away.names}
    found: dict[tuple[str, ...], None] = {(place,): None for place in sorted({*there.values()})}
    for sets in (_of_copies(state, there, away), _of_votes(state, there, away), _of_services(state, there, away)):
        found.update(dict.fromkeys(tuple(sorted(each)) for each in sets if each))
    yield from found


def _of_copies(state: ClusterState, there: Mapping[str, str], away: AwaySets) -> Iterator[list[str]]:
    """The places without which a shard has no copy that serves."""
    for copies in copy_sets(state).values():
        held, serving = Counter[str](), 0
        for copy in copies:
            serves = state.serves(copy)
            serving += serves
            if place := there.get(copy.member or ""):
                held[place] += SERVING if serves else 1
            if place := there.get(copy.relocating_to or ""):
                held[place] += 1
        worst = away.worst(held)
        if serving <= sum(held[place] for place in worst) // SERVING:
            yield worst


def _of_votes(state: ClusterState, there: Mapping[str, str], away: AwaySets) -> Iterator[list[str]]:
    """The places without which a configuration has no majority, and those with which the elected manager goes."""
    voting = [_counted(each, there) for each in (state.voting.committed, state.voting.accepted, can_be_elected(state))]
    if place := there.get(state.elected or ""):
        elected = {place: SERVING}
        others = [each for each in away.worst({**dict.fromkeys(there.values(), 1), **elected}) if each != place]
        yield [place, *others[:1]]
        yield from (away.worst({**held, **elected}) for held in voting)
    for held, voters in zip(voting, (state.voting.committed, state.voting.accepted), strict=False):
        worst = away.worst(held)
        if 2 * (len(voters & state.members.keys()) - sum(held[place] for place in worst)) <= len(voters):
            yield worst


def _of_services(state: ClusterState, there: Mapping[str, str], away: AwaySets) -> Iterator[list[str]]:
    """The places with all members that can be elected, or that serve a role."""
    for members in (can_be_elected(state), *members_serving(state).values()):
        held = _counted(members, there)
        worst = away.worst(held)
        if sum(held[place] for place in worst) == len(members):
            yield worst


def _counted(members: Iterable[str], there: Mapping[str, str]) -> Counter[str]:
    return Counter(there[each] for each in members if each in there)
