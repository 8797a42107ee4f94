"""One edit of an answer: a field taken away, emptied, or made something else that JSON can hold."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

Path = tuple[Any, ...]
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    7,
    10**30,
    1.5,
    "",
    "odd",
    "STARTED",
    "true",
    [],
    {},
    [None],
    {"a": 1},
    [[]],
)
"""The values that a field is changed to."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values in an answer."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def edited(answer: Any, where: Path, what: Any) -> Any:
    """A copy with one place made something else; `...` takes it away."""
    changed = json.loads(json.dumps(answer))
    inner = changed
    for key in where[:-1]:
        inner = inner[key]
    if what is ...:
        del inner[where[-1]]
    else:
        inner[where[-1]] = what
    return changed


def mutations(answer: Any, count: int, seed: str) -> Iterator[tuple[Path, Any, Any]]:
    """So many edits at random: where, what, and the answer that comes of it."""
    chance, there = random.Random(seed), list(places(answer))  # noqa: S311 - the same edits in every run
    for _number in range(count):
        where, what = chance.choice(there), chance.choice((..., *ODD))
        yield where, what, edited(answer, where, what)
