"""The parts of large answers that stay the same for long: each is filtered, and written as JSON, once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.sandbox.opensearch.model import Index
from tests.sandbox.web import Answer

NOTHING = object()
WHOLE = -1
"""The number of what is wanted as a whole."""
Pattern = tuple[str, ...]
_NUMBERS: dict[tuple[Pattern, ...], int] = {}
"""A short name for patterns, since tuples are hashed anew each time."""


def number_of(patterns: Sequence[Pattern]) -> int:
    """The number of these patterns."""
    return _NUMBERS.setdefault(tuple(patterns), len(_NUMBERS))


class Kept(dict[str, Any]):
    """A part with its text. No one changes it."""

    text: str


class Parts(dict[str, Any]):
    """An object whose values are parts, or objects of that kind."""


@dataclass(frozen=True)
class Part:
    """A part of an answer about an index, which is made when it is known what is wanted of it."""

    index: Index
    kind: str
    make: Callable[[Index], Any]
    lasts: bool = True
    """Whether it stays the same until the index changes."""

    def filtered(self, number: int, keep: Callable[[Any], Any]) -> Any:
        """The part that patterns of that number keep, by `keep`; NOTHING if they keep none."""
        key = (self.kind, number)
        revision, found = self.index.told.get(key, (-1, NOTHING))
        if revision == self.index.revision and self.lasts:
            return found
        found = keep(self.make(self.index))
        if found is not NOTHING:
            found = Kept(found)
            found.text = json.dumps(found)
        self.index.told[key] = self.index.revision if self.lasts else -1, found
        return found


class InParts(Answer):
    """An answer with parts whose texts are known."""

    @property
    def text(self) -> str:
        """See `Answer`."""
        return _written(self.body)


def _written(body: Any) -> str:
    if isinstance(body, Kept):
        return body.text
    if isinstance(body, Parts):
        return "{" + ", ".join([f"{json.dumps(name)}: {_written(value)}" for name, value in body.items()]) + "}"
    return json.dumps(body)
