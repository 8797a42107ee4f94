"""The undo of changes: by which run they were made, under which lock, and each value before and after. Pure.

It is one JSON string, kept where the changes are: in the settings of a cluster, or in an annotation of an object. A
value is named by its path in a document, such as `("spec", "allowScheduling")`. A value that is absent is None; empty
texts, 0 and false are values. One cluster can be used under several locks, so the change of a run that still holds its
lock, whichever that is, is not put back by another run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.errors import Refusal
from ...common.verdict import Reason, refused, remark

PLACE = ("kept_in", "namespace", "name")
"""The parts of the place of a lock."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""The errors of reading a text that no run has written."""
_OBJECT = re.compile(r"[a-z0-9.-]*")

Path = tuple[str, ...]


@dataclass(frozen=True)
class Writer:
    """The run that wrote an undo."""

    run: str
    at: str
    lock: Mapping[str, str] = field(default_factory=dict)
    """The place of its lock; empty for a task outside a run, and for undos of older versions."""

    def head(self) -> dict[str, Any]:
        """The first fields of the undo in its written form."""
        return {"run": self.run, "at": self.at, **({"lock": dict(self.lock)} if self.lock else {})}


@dataclass(frozen=True)
class Change:
    """One changed value: its path, the value before and the value set."""

    path: Path
    was: Any
    set_to: Any

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path[-1]

    def is_ours(self, present: Any) -> bool:
        """Whether the present value is still the one that was set."""
        return bool(present == self.set_to)


At = Callable[[Path], Any]
"""The present value at a path."""


@dataclass(frozen=True)
class Undo:
    """The changes of a run that are still to be put back, with what else its system must know about them."""

    writer: Writer
    changes: tuple[Change, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    foreign: tuple[Change, ...] = ()
    """Changes that no run of this collection makes: they are kept as they are, and never put back."""

    def text(self) -> str:
        """The written form."""
        changes = [
            {"path": list(each.path), "was": each.was, "set_to": each.set_to} for each in (*self.changes, *self.foreign)
        ]
        return json.dumps({**self.writer.head(), **self.more, "changes": changes}, separators=(",", ":"))

    def extended(self, writer: Writer, fresh: Iterable[Change]) -> Undo:
        """The undo with these changes added.

        A value that is changed a second time keeps what it was before the first. The undo then belongs to the run
        that extends it, so that it is not put back while that run is alive.
        """
        made = {each.path: each for each in self.changes}
        made.update({each.path: replace(each, was=made.get(each.path, each).was) for each in fresh})
        later = writer if writer.lock and writer.run != self.writer.run else self.writer
        return replace(self, writer=later, changes=tuple(made.values()))

    def without(self, gone: Collection[Change]) -> Undo:
        """The undo without these changes."""
        return replace(self, changes=tuple(each for each in self.changes if each not in gone))

    def split(
        self, at: At, is_ours: Callable[[Change, Any], bool] = Change.is_ours
    ) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        """The changes that are still in force as they were made, and those whose values another has changed since."""
        ours = tuple(each for each in self.changes if is_ours(each, at(each.path)))
        return ours, tuple(each for each in self.changes if each not in ours)


def undo_in(text: Any, is_known: Callable[[Change], bool]) -> Undo:
    """The undo in its written form. Changes that no run makes, of which `is_known` is false, are `foreign`.

    Raises:
        ValueError: no run writes such a text. The other errors of `UNREADABLE` mean the same.
    """
    raw = dict(json.loads(text))
    read = [_change(each) for each in raw.pop("changes")]
    writer = _writer(raw)
    return Undo(
        writer,
        tuple(each for each in read if is_known(each)),
        {name: value for name, value in raw.items() if name not in ("run", "at", "lock")},
        tuple(each for each in read if not is_known(each)),
    )


def judge_kept(changes: Iterable[Change], is_known: Callable[[Change], bool], named: Callable[[Change], str]) -> None:
    """Refuse changes, before they are made, whose undo no run would accept: they could never be put back.

    An undo is judged with `is_known` when it is read, so the same is used when it is written. `named` names the
    value in the sentence.

    Raises:
        Refusal: there are such changes.
    """
    unknown = [each for each in changes if not is_known(each)]
    if unknown:
        raise Refusal(*(_not_kept(each, named(each)) for each in unknown))


def _not_kept(change: Change, name: str) -> Reason:
    return refused(
        "value_not_kept",
        f"{name} is {change.was!r} and would be set to {change.set_to!r} for the time of the run. Such a value is not"
        " one that a run knows how to put back, so it is not changed.",
        "Write the value as the manual of the server does, or remove it, and run again.",
    )


def _change(raw: Mapping[str, Any]) -> Change:
    path = raw["path"]
    if not isinstance(path, list) or not path or not all(isinstance(part, str) for part in path):
        raise ValueError("unknown path")
    return Change(tuple(path), raw["was"], raw["set_to"])


def _writer(raw: Mapping[str, Any]) -> Writer:
    run, at, lock = raw["run"], raw["at"], raw.get("lock", {})
    if not isinstance(run, str) or not isinstance(at, str):
        raise ValueError("unknown run")
    if lock and (set(lock) != set(PLACE) or not all(_OBJECT.fullmatch(lock[name]) for name in PLACE)):
        raise ValueError("unknown lock")
    return Writer(run, at, dict(lock))


def place_of(lock: Mapping[str, Any] | None) -> dict[str, str]:
    """The place of a lock: its kind, namespace and name."""
    return {name: str(lock.get(name) or "") for name in PLACE} if lock and lock.get("name") else {}


def value_at(document: Any, path: Path) -> Any:
    """The value at a path of a document; None if it is absent."""
    for part in path:
        document = document.get(part) if isinstance(document, Mapping) else None
    return document


def document_of(values: Mapping[Path, Any]) -> dict[str, Any]:
    """The smallest document that has these values at these paths. Merged over another, None takes a value away."""
    document: dict[str, Any] = {}
    for path, value in values.items():
        at = document
        for part in path[:-1]:
            at = at.setdefault(part, {})
        at[path[-1]] = value
    return document


def left_alone(writer: Writer, change: Change, of: str, present: Any) -> Reason:
    """The remark on a value that another has changed since; `of` names it in the sentence."""
    return remark(
        "changed_by_another",
        f"Run {writer.run} set {of} to {change.set_to!r}, and something else has"
        f" {'removed it' if present is None else f'changed it to {present!r}'} since; it is left as it is.",
    )
