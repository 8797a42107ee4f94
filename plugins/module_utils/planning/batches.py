# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches cut from a pool: which members can go down together. Pure: no client, no clock.

Members may share a batch when every set of copies keeps a holder outside it, every voting configuration its majority,
and none of them is the elected manager. Finding the fewest such batches is colouring a graph, so it is done greedily,
the member with the fewest batches left to it first (Brélaz 1979, DSATUR).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .pools import Member, Pool, order_members
from .versions import Version

BATCHING = ("serial", "zones", "disjoint")


@dataclass(frozen=True)
class Placement:
    """Where the copies are and who votes, by the names of members."""

    holders: Sequence[frozenset[str]] = ()
    """For each set of copies that can stand in for one another, the members that hold one."""
    voters: Sequence[frozenset[str]] = ()
    """The voting configurations."""
    held: Mapping[str, Sequence[int]] = field(init=False)
    """Member → the places in `holders` of the sets of which it holds a copy."""

    def __post_init__(self) -> None:
        """Index the sets by member."""
        held: dict[str, list[int]] = defaultdict(list)
        for place, names in enumerate(self.holders):
            for name in names:
                held[name].append(place)
        object.__setattr__(self, "held", dict(held))


@dataclass(frozen=True)
class Cutting:
    """How batches are cut."""

    batching: str = "serial"
    """One of `BATCHING`: one at a time, members of one zone together, or whichever members can go together."""
    max_unavailable: str | None = None
    """The most members of a pool that may be away at once, as a number or a percentage."""


@dataclass(frozen=True)
class Batch:
    """Members taken down together, and why at this place."""

    name: str
    pool: str
    members: tuple[str, ...]
    reason: str


def batches_of(
    pools: Iterable[Pool], target: Version, only: Collection[str], cutting: Cutting, placement: Placement
) -> tuple[Batch, ...]:
    """The batches of all pools in order; broken members of all pools come first: nothing else goes while one is away.

    Raises ValueError where `max_unavailable` is neither a number nor a percentage.
    """
    found = []
    for pool in pools:
        most = most_of(cutting.max_unavailable, len(pool.members))
        found += [(pool, batch) for batch in cut(pool, target, only, cutting.batching, most, placement)]
    found.sort(key=lambda step: step[1][0].version is not None)
    return tuple(
        Batch(_name(number, members), pool.name, tuple(member.name for member in members), _reason(pool, members))
        for number, (pool, members) in enumerate(found, start=1)
    )


def _name(number: int, members: Sequence[Member]) -> str:
    more = f"-and-{len(members) - 1}-more" if len(members) > 1 else ""
    return f"batch-{number:02d}.{members[0].name}{more}"


def _reason(pool: Pool, members: Sequence[Member]) -> str:
    first, words = members[0], pool.kind.words
    if len(members) > 1:
        zones = {member.zone for member in members}
        common = f"of zone {first.zone}" if len(zones) == 1 and first.zone else "without whom every shard keeps a copy"
        return f"{words}; {len(members)} members {common}"
    if first.version is None:
        return f"{words}; not in the cluster, so it is cured first"
    return f"{words}; the elected manager goes last" if first.elected else words


def cut(
    pool: Pool, target: Version, only: Collection[str], batching: str, most: int | None, placement: Placement
) -> list[tuple[Member, ...]]:
    """The batches of one pool, in order; `most` is the greatest size of a batch.

    Members on the target are left out, as are those not in `only` (if given). A broken member goes alone and first,
    since it is away already; the elected manager goes alone and last.
    """
    going = [m for m in order_members(pool) if m.version != target and (not only or m.name in only)]
    if batching == "serial" or most == 1:
        return [(member,) for member in going]
    alone = [(member,) for member in going if member.version is None]
    last = [(member,) for member in going if member.version is not None and member.elected]
    rest = [member for member in going if member.version is not None and not member.elected]
    zones = [batch for zone in _by_zone(rest) for batch in _disjoint(zone, most, placement)]
    if batching == "zones":
        return [*alone, *zones, *last]
    return [*alone, *min(_disjoint(rest, most, placement), zones, key=len), *last]


def most_of(text: str | None, size: int) -> int | None:
    """The greatest number of members of a pool of this size that may be away, from a number or a percentage.

    A percentage is rounded down, and one member is always allowed, as Kubernetes does it for `maxUnavailable` of a
    Deployment's surge. None sets no limit. Raises ValueError for anything else.
    """
    if text is None:
        return None
    digits = text.strip().removesuffix("%")
    if not digits.isdigit() or int(digits) < 1 or (text.strip().endswith("%") and int(digits) > 100):
        raise ValueError(f"{text!r} is neither a number of members from 1 on nor a percentage up to 100%")
    return max(1, int(digits) * size // 100) if text.strip().endswith("%") else int(digits)


def _by_zone(members: Iterable[Member]) -> list[list[Member]]:
    """Members of one zone together, the zones in the order of their first member; without a zone each for itself."""
    found: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        found[f"zone {member.zone}" if member.zone else f"member {member.name}"].append(member)
    return list(found.values())


def _disjoint(members: Sequence[Member], most: int | None, placement: Placement) -> list[tuple[Member, ...]]:
    """Members in as few batches as greedy colouring finds, in the order of the first member of each."""
    colouring = _Colouring(members, most, placement)
    for _member in members:
        colouring.place_next()
    order = {member.name: number for number, member in enumerate(members)}
    batches = [sorted(batch, key=lambda member: order[member.name]) for batch in colouring.batches]
    return [tuple(batch) for batch in sorted(batches, key=lambda batch: order[batch[0].name])]


class _Colouring:
    """Batches as they grow."""

    def __init__(self, members: Sequence[Member], most: int | None, placement: Placement) -> None:
        self.batches: list[list[Member]] = []
        self._most = most if most is not None else len(members)
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
        if number in self._closed[member.name] or len(batch) >= self._most:
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
