"""The events that every system has: the end of the controller, and an API server that answers badly or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

from tests.runs.random_runs.person import Person
from tests.runs.random_runs.story import Event
from tests.runs.turns import Killed
from tests.runs.world import World

CONFLICT = 409
SECOND = "second_controller"
"""The kind of event in which another controller is started. The stage does not know it: the story is played so."""
Kind = tuple[str, str]
"""Method and a part of the path of requests to Kubernetes."""


@dataclass
class Happening:
    """The events of one story while it goes on. None of them asks through the controller."""

    REQUESTS: ClassVar[Sequence[Kind]] = ()
    """The kinds of requests that can be spoiled."""

    world: World

    def later(self, event: Event, action: Callable[[], None]) -> None:
        """Do something when the event is over."""
        if event.seconds:
            self.world.calling.clock.later(event.seconds, action)

    def mend(self) -> None:
        """End all that was broken between the controller and the servers."""
        self.world.sandbox.faults.mend_all()
        self.world.sandbox.api.faults.coming.clear()
        self.world.calling.open_all()


@dataclass
class HappeningForAWhile(Happening):
    """The events of a story of which most last for a while, or until all is mended."""

    SLOWER: ClassVar[int] = 1
    """The number by which the time of an event is multiplied."""
    undone: list[Callable[[], None]] = field(default_factory=list, kw_only=True)
    """The ends of what people and faults do, which mending makes."""

    def until(self, event: Event, end: Callable[[], None]) -> None:
        """End it when the event is over, or when all is mended."""
        done: list[bool] = []

        def once() -> None:
            if not done:
                done.append(True)
                end()

        self.undone.append(once)
        self.later(replace(event, seconds=event.seconds * self.SLOWER), once)

    def mend(self) -> None:
        """See `Happening`: and what people have done in between is taken back."""
        super().mend()
        for end in self.undone:
            end()


def _kill(_here: Happening, _event: Event) -> None:
    raise Killed


def _api_away(here: Happening, event: Event) -> None:
    here.world.sandbox.faults.api_server_away(event.seconds or 30.0)


def _spoiled(here: Happening, event: Event, status: int = 0, *, made: bool = False) -> None:
    # A deletion names the UID, which another object of that name would not have: no conflict comes by chance.
    kinds = [each for each in here.REQUESTS if status != CONFLICT or each[0] in ("PATCH", "PUT")]
    method, path = kinds[event.subject % len(kinds)]
    faults = here.world.sandbox.api.faults
    if status:
        faults.answer(status, method, path, times=1 + int(event.seconds > 1))
    else:
        faults.cut(method, path, made=made)


OF_EVERY_SYSTEM: Mapping[str, Callable[[Happening, Event], None]] = {
    "kill": _kill,
    "api_away": _api_away,
    "answer_lost": lambda here, event: _spoiled(here, event, made=True),
    "request_lost": _spoiled,
    "conflict": lambda here, event: _spoiled(here, event, CONFLICT),
    "server_error": lambda here, event: _spoiled(here, event, 500),
    "busy": lambda here, event: _spoiled(here, event, 429),
}
"""The kinds of these events."""


class WithPerson(Protocol):
    """The events of a story in which a person acts."""

    @property
    def person(self) -> Person:
        """Who aborts and pauses the upgrade."""


OF_PERSON: Mapping[str, Callable[[WithPerson, Event], None]] = {
    "person_aborts": lambda here, _event: here.person.abort(),
    "upgrade_paused": lambda here, _event: here.person.pause(),
    "person_settles": lambda here, _event: here.person.settle(),
}
"""The kinds of events that are playbooks which a person runs next to the upgrade."""
