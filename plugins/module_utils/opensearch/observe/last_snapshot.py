"""The last snapshot that ended successfully, and which of many are likely the youngest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...common.reading import Json, optional_text, text, whole

AT_ONCE, LONGEST = 20, 2000
"""The most snapshots, and characters of their names, in one request: the server takes lines of 4096 bytes."""
SUCCESS = "SUCCESS"

_MOMENT = re.compile(r"(?<!\d)(20\d\d)\D?([01]\d)\D?([0-3]\d)(?:\D?([0-2]\d)\D?([0-5]\d)\D?([0-5]\d)?)?")


@dataclass(frozen=True)
class LastSnapshot:
    """A snapshot that ended successfully: `repository/name`, its age in seconds, and its indices."""

    name: str
    age: float
    indices: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Saved:
    """All that is known of the snapshots of a cluster."""

    repositories: tuple[str, ...] = ()
    last: LastSnapshot | None = None
    unanswered: tuple[str, ...] = ()
    """One sentence for each question that was not answered."""
    unread: int = 0
    """The number of successful snapshots whose age was not asked for, because younger ones are known."""


def likely_youngest(names: Sequence[str]) -> list[str]:
    """The names, those with the latest time in them first; among the rest the highest number or letter first."""
    return sorted(names, key=_place, reverse=True)


def _place(name: str) -> tuple[tuple[str, ...], tuple[tuple[int, int | str], ...]]:
    moment = _MOMENT.search(name)
    words = (each for each in re.split(r"(\d+)", name) if each)
    return (
        tuple(each or "" for each in moment.groups()) if moment else (),
        tuple((1, int(each)) if each.isdecimal() else (0, each) for each in words),
    )


def chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The names in the parts that one request takes."""
    begin = length = 0
    for number, name in enumerate(names):
        length += len(name) + 1
        if number > begin and (number - begin >= AT_ONCE or length > LONGEST):
            yield names[begin:number]
            begin, length = number, len(name) + 1
    if names:
        yield names[begin:]


def ended_well(each: Json) -> bool:
    """Whether it has ended successfully. Old servers did not write the state where it is looked for."""
    return optional_text(each, "state") in {None, SUCCESS}


def end_of(each: Json) -> tuple[str, int]:
    """Its name, and the milliseconds since 1970 of its end; 0 if it has not ended successfully."""
    ended = whole(each, "end_time_in_millis", 0) if optional_text(each, "state") == SUCCESS else 0
    return text(each, "snapshot"), ended
