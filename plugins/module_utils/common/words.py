"""Words for people: enumerations, and foreign texts made safe to show."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

Thing = TypeVar("Thing")
NAMED = 5
"""The most things of one kind that a sentence names; the rest is only counted."""


NOT_SHOWN = "\N{REPLACEMENT CHARACTER}"

_UNSEEN = frozenset({"Cc", "Cf", "Cs"})
"""Unicode's categories of control and format characters, and of surrogates."""


def unique(things: Iterable[Thing]) -> list[Thing]:
    """Each thing once, in order. They need not be hashable."""
    found: list[Thing] = []
    for thing in things:
        if thing not in found:
            found.append(thing)
    return found


def enumerate_few(things: Iterable[str]) -> str:
    """The first few things in order, and how many more there are."""
    return first_few(sorted(set(things)))


def first_few(things: Sequence[str]) -> str:
    """The same of things that have an order of their own."""
    shown = ", ".join(things[:NAMED])
    return shown if len(things) <= NAMED else f"{shown} and {len(things) - NAMED} more"


def shortened(text: str, most: int) -> str:
    """The text, or its start if it has more characters than this."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(count: int, thing: str) -> str:
    """So many things; a batch becomes batches."""
    plural = f"{thing}es" if thing.endswith("ch") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"


def duration(seconds: float) -> str:
    """A measured time for people: 36 s, 3 min 46 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 >= 60 else "")


def printable(text: str) -> str:
    """A text of a server or of another person, as one line that can do nothing to a terminal.

    White space of every kind becomes a space. Control and format characters and surrogates, which could move the
    cursor, colour, reverse or hide text, become the replacement character.
    """
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def printable_data(value: Any) -> Any:
    """The same plain data with each text made `printable`, names of entries too."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable_data(name): printable_data(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable_data(each) for each in value]
    return value


def _visible(character: str) -> str:
    if character.isspace() and unicodedata.category(character) != "Zs":
        return " "
    return NOT_SHOWN if unicodedata.category(character) in _UNSEEN else character
