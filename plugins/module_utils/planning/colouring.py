# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members that can go down together, in as few batches as are found. Pure: no client, no clock.

Members may share a batch when every set of copies keeps a holder outside it and every voting configuration its
majority. Finding the fewest such batches is colouring a graph, so it is done greedily, the member with the fewest
batches left to it first (Brélaz 1979, DSATUR).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .pools import Member


@dataclass(frozen=True)
class Placement:
    """Where the copies are and who votes, by the names of members."""

    holders: Sequence[frozenset[str]] = ()
    """For each set of copies that can stand in for one another, the members that hold one."""
    voters: Sequence[frozenset[str]] = ()
    """The voting configurations."""
    electable: frozenset[str] = frozenset()
    """Who can be elected, whether it votes now or not."""
    held: Mapping[str, Sequence[int]] = field(init=False)
    """Member → the places in `holders` of the sets of which it holds a copy."""

    def __post_init__(self) -> None:
        """Index the sets by member."""
        held: dict[str, list[int]] = defaultdict(list)
        for place, names in enumerate(self.holders):
            for name in names:
                held[name].append(place)
        object.__setattr__(self, "held", dict(held))

    def keeping_one_of(self, groups: Iterable[frozenset[str]]) -> Placement:
        """This placement, where of each group, too, one member has to stay."""
        return Placement([*self.holders, *(group for group in groups if len(group) > 1)], self.voters, self.electable)


def keeps_majority(names: Collection[str], placement: Placement) -> bool:
    """Whether there are voting configurations, and each keeps its majority without these members."""
    configurations = placement.voters
    return bool(configurations) and all(2 * len(voters.difference(names)) > len(voters) for voters in configurations)


def may_join(member: Member, batch: Sequence[Member], most: Mapping[str, int | None], placement: Placement) -> bool:
    """Whether one more member may go with a batch: copies, majorities and `most` of its pool are kept."""
    names = {member.name, *(each.name for each in batch)}
    if not _has_room(member, batch, most):
        return False
    held = [placement.holders[place] for place in placement.held.get(member.name, ())]
    return keeps_majority(names, placement) and all(len(holders) == 1 or holders - names for holders in held)


def _has_room(member: Member, batch: Sequence[Member], most: Mapping[str, int | None]) -> bool:
    """Whether the batch has fewer members of its pool than may be away at once."""
    limit = most[member.pool]
    return limit is None or sum(each.pool == member.pool for each in batch) < limit


def disjoint(
    members: Sequence[Member], most: Mapping[str, int | None], placement: Placement
) -> list[tuple[Member, ...]]:
    """Members in as few batches as greedy colouring finds, in the order of the first member of each.

    `most` is for each pool the greatest number of its members in one batch; None sets no limit.
    """
    colouring = _Colouring(members, most, placement)
    for _member in members:
        colouring.place_next()
    order = {member.name: number for number, member in enumerate(members)}
    batches = [sorted(batch, key=lambda member: order[member.name]) for batch in colouring.batches]
    return [tuple(batch) for batch in sorted(batches, key=lambda batch: order[batch[0].name])]


class _Colouring:
    """Batches as they grow."""

    def __init__(self, members: Sequence[Member], most: Mapping[str, int | None], placement: Placement) -> None:
        self.batches: list[list[Member]] = []
        self._most = most
        self._placement = placement
        self._left = {member.name: member for member in members}
        self._order = {member.name: number for number, member in enumerate(members)}
        # Of each set of copies, how many holders each batch has; and the batches closed to each member by it.
        self._count: dict[tuple[int, int], int] = defaultdict(int)
        self._closed: dict[str, set[int]] = {member.name: set() for member in members}

    def place_next(self) -> None:
        """Place the member that has the fewest batches left to it; of the same ones that with the most copies."""
        name = max(
            self._left,
            key=lambda name: (len(self._closed[name]), len(self._placement.held.get(name, ())), -self._order[name]),
        )
        member = self._left.pop(name)
        number = next((n for n in range(len(self.batches)) if self._fits(member, n)), len(self.batches))
        if number == len(self.batches):
            self.batches.append([])
        self.batches[number].append(member)
        self._close(name, number)

    def _fits(self, member: Member, number: int) -> bool:
        batch = self.batches[number]
        if number in self._closed[member.name] or not _has_room(member, batch, self._most):
            return False
        names = {member.name, *(each.name for each in batch)}
        return all(not names & voters or 2 * len(voters - names) > len(voters) for voters in self._placement.voters)

    def _close(self, name: str, number: int) -> None:
        """Close the batch to every member that would take the last copy outside it away."""
        for place in self._placement.held.get(name, ()):
            holders = self._placement.holders[place]
            self._count[place, number] += 1
            if self._count[place, number] == len(holders) - 1:
                for other in holders:
                    if other in self._left:
                        self._closed[other].add(number)
