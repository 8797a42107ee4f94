"""Units that may be away at once where no gate is asked in between. Pure: no client, no clock, no Ansible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Part:
    """Units that go without a gate, so many at a time. Any of them may be away at once: one that does not come back
    stays away while all others go."""

    names: frozenset[str]
    at_once: int

    def worst(self, held: Mapping[str, int]) -> list[str]:
        """Those that hold the most, as many as may be away."""
        here = [name for name in held if name in self.names]
        return sorted(here, key=lambda name: (-held[name], name))[: self.at_once]


@dataclass(frozen=True)
class AwaySets:
    """The sets of units that may be away at once, each at another time.

    No set is listed, since there may be too many: of 30 units of which 2 go at a time there are 435, of 60 of which 6
    go at a time 50 million. A question is one about a few units, such as the holders of a copy, and the worst set for
    it has of each part those that hold the most.
    """

    alternatives: Sequence[Sequence[Part]]
    """The parts of one alternative go independently of each other. None of two alternatives go at the same time."""

    @classmethod
    def at_once(cls, names: Collection[str]) -> AwaySets:
        """All of these, as in a batch that a gate was asked for."""
        return cls([[Part(frozenset(names), len(names))]])

    @classmethod
    def of_result(cls, given: Sequence[Sequence[Mapping[str, Any]]]) -> AwaySets:
        """The same from plain data."""
        return cls([[Part(frozenset(each["names"]), each["at_once"]) for each in parts] for parts in given])

    def as_result(self) -> list[list[dict[str, Any]]]:
        """Plain data for the result of a plan."""
        return [
            [{"names": sorted(each.names), "at_once": each.at_once} for each in parts] for parts in self.alternatives
        ]

    @cached_property
    def names(self) -> frozenset[str]:
        """All units."""
        return frozenset(name for parts in self.alternatives for part in parts for name in part.names)

    def worst(self, held: Mapping[str, int]) -> list[str]:
        """Of the units that hold something, by the number of it, those that take the most with them while away.

        Of each part those that hold more come first.
        """
        sets = [[name for part in parts for name in part.worst(held)] for parts in self.alternatives]
        return max(sets, key=lambda names: sum(held[name] for name in names), default=[])

    def has(self, names: Collection[str]) -> bool:
        """Whether these may all be away at once."""
        return {*self.worst(dict.fromkeys(names, 1))} == {*names}
