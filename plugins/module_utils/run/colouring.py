"""Units that can go down together, in few batches. Pure: no client, no clock.

A unit goes down as a whole: a member, a node, a machine. Units may share a batch if every set of copies keeps a holder
outside it and every set of voters keeps its majority. To find the fewest such batches is to colour a graph, so it is
done greedily: first the unit with the fewest batches left to it (Brélaz 1979, DSATUR).

1,000 members with 50,000 pairs of copies take 25 to 26 batches without zones, and 3 with three zones (`make
benchmark-plans`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ..common.errors import refusal
from ..common.words import enumerate_few


class Unit(Protocol):
    """The thing of which batches are made."""

    @property
    def name(self) -> str:
        """Its unique name."""

    @property
    def group(self) -> str:
        """The group that it belongs to, such as a pool."""


_NO_MOST = "is neither a number from 1 on nor a percentage up to 100%"
AnyUnit = TypeVar("AnyUnit", bound=Unit)


@dataclass(frozen=True)
class Placement:
    """The holders of copies, and the voters, by the names of units."""

    holders: Sequence[frozenset[str]] = ()
    """The units that hold a copy, for each set of copies that can replace each other."""
    voters: Sequence[frozenset[str]] = ()
    """The sets of voters of which a majority has to stay; none for a system without votes."""
    electable: frozenset[str] = frozenset()
    """The units that may lead, whether they vote now or not."""
    labels: Sequence[str] = ()
    """The words for the sets of `holders`, in the same order, as far as there are any."""
    held: Mapping[str, Sequence[int]] = field(init=False)
    """For each unit, the positions in `holders` of the sets of which it holds a copy."""

    def __post_init__(self) -> None:
        """Find the sets of each unit."""
        held: dict[str, list[int]] = defaultdict(list)
        for place, names in enumerate(self.holders):
            for name in names:
                held[name].append(place)
        object.__setattr__(self, "held", dict(held))

    def keeping_one_of(self, groups: Iterable[frozenset[str]]) -> Placement:
        """The same placement, in which one unit of each of these groups must also stay."""
        added = [group for group in groups if len(group) > 1]
        return Placement([*self.holders, *added], self.voters, self.electable, self.labels)

    def keeping_one_of_each(self, groups: Mapping[str, frozenset[str]]) -> Placement:
        """The same as `keeping_one_of`, with words for each group."""
        added = {words: group for words, group in groups.items() if len(group) > 1}
        labels = [*self.labels, *[""] * (len(self.holders) - len(self.labels)), *added]
        return Placement([*self.holders, *added.values()], self.voters, self.electable, labels)

    def at(self, places: Mapping[str, str]) -> Placement:
        """The same by the places of the units, such as Kubernetes nodes, that go down as a whole.

        A unit without a place keeps its own name. A set that is on one place alone stays in it. Of voters that share a
        place only one counts, so the gate that asks before a batch may still refuse it.
        """

        def placed(names: Iterable[str]) -> frozenset[str]:
            return frozenset(places.get(name, name) for name in names)

        return Placement(
            [placed(each) for each in self.holders],
            [placed(each) for each in self.voters],
            placed(self.electable),
            self.labels,
        )

    def and_of(self, other: Placement) -> Placement:
        """That of two systems on the same units."""
        labels = [*self.labels, *[""] * (len(self.holders) - len(self.labels)), *other.labels]
        return Placement(
            [*self.holders, *other.holders],
            [*self.voters, *other.voters],
            self.electable | other.electable,
            labels,
        )

    def words_for(self, place: int) -> str:
        """The words for a set of holders, or their names."""
        label = self.labels[place] if place < len(self.labels) else ""
        return label or f"what only {enumerate_few(sorted(self.holders[place]))} have"


def keeps_majority(names: Collection[str], placement: Placement) -> bool:
    """Whether every set of voters that these units belong to keeps its majority without them."""
    touched = (voters for voters in placement.voters if not voters.isdisjoint(names))
    return all(2 * len(voters.difference(names)) > len(voters) for voters in touched)


def may_join(unit: AnyUnit, batch: Sequence[AnyUnit], most: Mapping[str, int | None], placement: Placement) -> bool:
    """Whether one more unit may go with a batch: copies, majorities and the limit `most` of its group are kept."""
    names = {unit.name, *(each.name for each in batch)}
    if not _has_room(unit, batch, most):
        return False
    held = [placement.holders[place] for place in placement.held.get(unit.name, ())]
    return keeps_majority(names, placement) and all(len(holders) == 1 or holders - names for holders in held)


def hindrance(unit: AnyUnit, batch: Sequence[AnyUnit], most: Mapping[str, int | None], placement: Placement) -> str:
    """Why a unit may not go with a batch, as the rest of a sentence; empty if it may."""
    if not _has_room(unit, batch, most):
        return f"at most {most[unit.group]} of {unit.group} may be away at once"
    names = {unit.name, *(each.name for each in batch)}
    if not keeps_majority(names, placement):
        return "without all of them the voters would lose their majority"
    for place in placement.held.get(unit.name, ()):
        holders = placement.holders[place]
        if len(holders) > 1 and not holders - names:
            return f"they are all that have {placement.words_for(place)}"
    return ""


def _has_room(unit: AnyUnit, batch: Sequence[AnyUnit], most: Mapping[str, int | None]) -> bool:
    """Whether the batch has fewer units of its group than may be away at once."""
    limit = most[unit.group]
    return limit is None or sum(each.group == unit.group for each in batch) < limit


def disjoint(
    units: Sequence[AnyUnit], most: Mapping[str, int | None], placement: Placement
) -> list[tuple[AnyUnit, ...]]:
    """Units in as few batches as greedy colouring finds, in the order of the first unit of each.

    `most` holds the greatest number of units in one batch for each group; None sets no limit.
    """
    colouring = _Colouring(units, most, placement)
    for _unit in units:
        colouring.place_next()
    order = {unit.name: number for number, unit in enumerate(units)}
    batches = [sorted(batch, key=lambda unit: order[unit.name]) for batch in colouring.batches]
    return [tuple(batch) for batch in sorted(batches, key=lambda batch: order[batch[0].name])]


class _Colouring(Generic[AnyUnit]):
    """Batches as they grow."""

    def __init__(self, units: Sequence[AnyUnit], most: Mapping[str, int | None], placement: Placement) -> None:
        self.batches: list[list[AnyUnit]] = []
        self._most = most
        self._placement = placement
        self._left = {unit.name: unit for unit in units}
        self._order = {unit.name: number for number, unit in enumerate(units)}
        # How many holders of each set of copies each batch has, and the batches that are closed to each unit.
        self._count: dict[tuple[int, int], int] = defaultdict(int)
        self._closed: dict[str, set[int]] = {unit.name: set() for unit in units}

    def place_next(self) -> None:
        """Place the unit that has the fewest batches left to it; among equals the one with the most copies."""
        name = max(
            self._left,
            key=lambda name: (len(self._closed[name]), len(self._placement.held.get(name, ())), -self._order[name]),
        )
        unit = self._left.pop(name)
        number = next((n for n in range(len(self.batches)) if self._fits(unit, n)), len(self.batches))
        if number == len(self.batches):
            self.batches.append([])
        self.batches[number].append(unit)
        self._close(name, number)

    def _fits(self, unit: AnyUnit, number: int) -> bool:
        batch = self.batches[number]
        if number in self._closed[unit.name] or not _has_room(unit, batch, self._most):
            return False
        return keeps_majority({unit.name, *(each.name for each in batch)}, self._placement)

    def _close(self, name: str, number: int) -> None:
        """Close the batch to every unit that holds the last copy outside it."""
        for place in self._placement.held.get(name, ()):
            holders = self._placement.holders[place]
            self._count[place, number] += 1
            if self._count[place, number] == len(holders) - 1:
                for other in holders:
                    if other in self._left:
                        self._closed[other].add(number)


def most_of(text: str | None, size: int) -> int | None:
    """The greatest number of units of a group of this size that may be away, from a number or a percentage.

    A percentage is rounded down, as for `maxUnavailable` of Kubernetes, and one unit is always allowed. None sets
    no limit. Raises ValueError for anything else.
    """
    if text is None:
        return None
    digits = text.strip().removesuffix("%")
    if not digits.isdigit() or int(digits) < 1 or (text.strip().endswith("%") and int(digits) > 100):
        raise ValueError(f"{text!r} {_NO_MOST}")
    return max(1, int(digits) * size // 100) if text.strip().endswith("%") else int(digits)


def readable_most(text: str | None) -> None:
    """Check that `most_of` can read the option `max_unavailable`.

    Raises:
        Refusal: it cannot be read.
    """
    try:
        most_of(text, 1)
    except ValueError as error:
        raise refusal(
            "max_unavailable_unreadable", f"max_unavailable {text!r} {_NO_MOST}.", "Give a number, such as 2, or 25%."
        ) from error


def safe_part(names: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> list[str]:
    """A set of names that may go together, earlier ones first, to which no other name can be added.

    `passes` says whether names may go together; if they may, any part of them may, too. The number of
    calls is about that of the names that cannot go, times the logarithm of the number of all names.
    """
    return _extended([], names, passes)


def _extended(base: Sequence[str], names: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> list[str]:
    """Those of the names that can go with all of `base`."""
    if not names or passes([*base, *names]):
        return list(names)
    if len(names) == 1:
        return []
    half = len(names) // 2
    first = _extended(base, names[:half], passes)
    return first + _extended([*base, *first], names[half:], passes)


@dataclass(frozen=True)
class Turn:
    """One batch: the units that go together."""

    members: Sequence[str]
    reason: str
    """Why it has this place in the order."""
    proof: str
    """Why its units may be away together."""
    silences: Sequence[str] = ()
    """Selectors of the alerts that are hidden during the batch, in addition to those of the whole run."""
    target: str = ""
    """The intermediate version that its units get; empty if it is the target of the run."""
    late_after: int = 0
    """Seconds after which it is reported as late, over all runs and passes; with 0 it is never late."""
    timeout: int = 0
    """Seconds after which a run no longer waits for it; with 0 the limit of the run applies."""
    images: Mapping[str, str] = field(default_factory=dict)
    """The image that each of its units runs now, if it gets another one: the `image` of the plan."""


@dataclass(frozen=True)
class NamedUnit:
    """A unit that is no more than its name, and its group where that has a limit."""

    name: str
    group: str = ""


def in_turns(names: Sequence[str], sets: Collection[Collection[str]], reason: str, proof: str) -> list[Turn]:
    """These units in few batches. Every one of these sets keeps a unit outside of each batch."""
    placement = Placement([frozenset(each) for each in sets])
    batches = disjoint([NamedUnit(name) for name in names], {"": None}, placement)
    return [Turn([unit.name for unit in batch], reason, proof) for batch in batches]
