"""A story: a cluster, an upgrade of it, and what happens to it on the way. The same story happens in one way only."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.sandbox.paces import QUICK, Paces

Told = TypeVar("Told", bound="Story")

PATIENCE = "_timeout"
"""The end of the names of the variables that let a run give up soon, so that stories in which nothing comes back end.
They are not shown to a person."""


@dataclass(frozen=True)
class Event:
    """Something that happens after an act of the controller, counted over all of its runs."""

    act: int
    kind: str
    """The name of an event of the system."""
    subject: int = 0
    """The number of the member, the Kubernetes node, the volume or the kind of request, counted round."""
    seconds: float = 0.0
    """The time after which it is over; 0 if it stays until all is mended."""

    def text(self) -> str:
        """One line."""
        lasting = f" for {self.seconds:g} s" if self.seconds else ""
        return f"behind act {self.act}: {self.kind} ({self.subject}){lasting}"


@dataclass(frozen=True)
class Story:
    """All that decides what happens, but for the cluster, which a system adds."""

    seed: int
    options: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    """The variables of the playbook that a user may choose."""
    events: tuple[Event, ...] = field(default=(), kw_only=True)
    paces: Paces = field(default=QUICK, kw_only=True)
    """The time that the servers take."""

    @property
    def passes(self) -> int:
        """The runs that the upgrade may take beyond those of every story."""
        raise NotImplementedError

    def cluster(self) -> list[str]:
        """The cluster, for a person."""
        raise NotImplementedError

    def with_smaller_cluster(self: Told) -> Iterator[Told]:
        """The same story of a smaller cluster, in each way in which it can be made smaller by one step."""
        raise NotImplementedError

    def text(self) -> str:
        """The story, for a person."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items() if not name.endswith(PATIENCE))
        lines = [
            f"seed {self.seed}{'' if self.paces == QUICK else ', slow servers'}:",
            *self.cluster(),
            f"variables: {options or 'none'}",
        ]
        return "\n  ".join([*lines, *(each.text() for each in self.events)])

    def smaller(self: Told) -> Iterator[Told]:
        """The stories that lack one thing of this one."""
        if self.paces != QUICK:
            yield replace(self, paces=QUICK)
        for left_out in self.events:
            yield replace(self, events=tuple(each for each in self.events if each is not left_out))
        for name in self.options:
            yield replace(self, options={key: value for key, value in self.options.items() if key != name})
        yield from self.with_smaller_cluster()


SOON = 8
"""The number of acts within which events of one cluster of events come."""


def events_of(
    chance: random.Random, likely: Mapping[str, int], latest: int, together: float = 0.0
) -> tuple[Event, ...]:
    """Some events after acts until the latest one, of kinds with these likelihoods.

    `together` is the share of stories whose events come one soon after the other.
    """
    kinds, first, last = [*likely], 1, latest
    if together and chance.random() < together:
        first = chance.randint(1, latest)
        last = first + SOON
    events = [
        Event(
            chance.randint(first, last),
            chance.choices(kinds, [likely[kind] for kind in kinds])[0],
            chance.randint(0, 99),
            chance.choice((0.0, 1.0, 5.0, 20.0, 90.0)),
        )
        for _number in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))
    ]
    return tuple(sorted(events, key=lambda each: each.act))


PERSON, OF_PERSON = 0.15, ("person_aborts", "person_aborts", "upgrade_paused", "upgrade_paused", "person_settles")
"""The share of stories in which a person runs a playbook next to the upgrade, and what it may be."""


def by_person(seed: int, latest: int) -> tuple[Event, ...]:
    """What a person does to the run of a story, drawn apart, so that other seeds stay the stories that they were."""
    chance = random.Random(f"{seed} person")  # noqa: S311
    return (Event(chance.randint(1, latest), chance.choice(OF_PERSON)),) if chance.random() < PERSON else ()
