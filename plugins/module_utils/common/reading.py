"""Reading answers strictly: a field of another type than expected makes the whole answer unusable. Pure.

A field that is null counts as absent, as servers treat it. A field may be absent if a default is given. Each function
raises `Unreadable` if the field, or a part of it, has another type or form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .errors import NotUnderstood
from .words import shortened

Json = Mapping[str, Any]
Read = TypeVar("Read")
Type = TypeVar("Type")

DEEPEST = 8
"""The most levels of an object whose fields are not known."""
LONGEST = 60
"""The most characters of a value that a message shows."""

FOREIGN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that Python raises if data does not have the shape that the code expects."""


class Unreadable(Exception):
    """A part of an answer is not as expected. It names the field and the fault."""

    def __init__(self, what: str, field: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.field = field

    def inside(self, name: str) -> None:
        """Put the name of the part that holds the field in front of it."""
        self.field = f"{name}.{self.field}" if self.field else name

    def __str__(self) -> str:
        return f"{self.field} {self.what}" if self.field else self.what


@contextmanager
def understood(refuse: Callable[[str], NotUnderstood]) -> Iterator[None]:
    """A block that reads an answer. `refuse` makes the refusal from a text that names the field and the fault.

    Raises:
        NotUnderstood: a part is not as expected.
    """
    try:
        yield
    except Unreadable as error:
        raise refuse(str(error)) from error
    except FOREIGN as error:
        raise refuse(
            f"it is not of the known shape ({type(error).__name__}: {shortened(str(error), LONGEST)})"
        ) from error


def text(of: Json, name: str, default: str | None = None) -> str:
    """A text. It may be empty only if the default is."""
    found = _typed(of, name, str, "a text", default)
    if not found and default is None:
        raise Unreadable("is empty", name)
    return found


def optional_text(of: Json, name: str) -> str | None:
    """A text, or None if the field is absent or empty."""
    return text(of, name, "") or None


def one_of(of: Json, name: str, known: Collection[str]) -> str:
    """A text that is one of the known ones."""
    found = text(of, name)
    if found not in known:
        raise Unreadable(f"is {_quoted(found)}, and not one of {', '.join(sorted(known))}", name)
    return found


def whole(of: Json, name: str, default: int | None = None) -> int:
    """A whole number that is not negative."""
    found = _typed(of, name, int, "a whole number", default)
    if isinstance(found, bool) or found < 0:
        raise Unreadable(f"is {_quoted(found)}, and has to be a whole number, 0 or more", name)
    return found


def count(of: Json, name: str, default: int | None = None) -> int:
    """A whole number that is written as a text of digits, as settings are."""
    found = text(of, name, None if default is None else str(default))
    if not (found.isascii() and found.isdecimal() and len(found) < 19):
        raise Unreadable(f"is {_quoted(found)}, and has to be a number", name)
    return int(found)


def flag(of: Json, name: str, default: bool | None = None) -> bool:
    """True or false."""
    return _typed(of, name, bool, "true or false", default)


def part(of: Json, name: str, default: Json | None = None) -> Json:
    """An object: a part with fields of its own."""
    return _typed(of, name, dict, "an object", default)


def entries(of: Json, name: str, default: Sequence[Any] | None = None) -> Sequence[Any]:
    """A list."""
    return _typed(of, name, list, "a list", default)


def texts(of: Json, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
    """A list of texts."""
    found = entries(of, name, default)
    for each in found:
        if not isinstance(each, str):
            raise Unreadable(f"holds {_quoted(each)}, which is no text", name)
    return tuple(found)


def text_map(of: Json, name: str) -> dict[str, str]:
    """Texts by name; empty if the field is absent. A text that is null is read as an empty one."""
    return within(of, name, lambda found: {each: text(found, each, "") for each in found}, {})


def within(of: Json, path: str, read: Callable[[Json], Read], default: Json | None = None) -> Read:
    """The result of `read` for the object in a field, or in a field of the object there (`spec.template`)."""
    name, _dot, rest = path.partition(".")
    found = part(of, name, default)
    try:
        return within(found, rest, read, default) if rest else read(found)
    except Unreadable as error:
        error.inside(name)
        raise


def named(of: Json, name: str, read: Callable[[str, Json], Read], default: Json | None = None) -> dict[str, Read]:
    """The results of `read` for the objects inside an object, by name."""

    def all_of(found: Json) -> dict[str, Read]:
        result = {}
        for each in found:
            inner = part(found, each)
            try:
                result[each] = read(each, inner)
            except Unreadable as error:
                error.inside(each)
                raise
        return result

    return within(of, name, all_of, default)


def listed(of: Json, name: str, read: Callable[[Json], Read], default: Sequence[Any] | None = None) -> tuple[Read, ...]:
    """The results of `read` for the objects in a list."""
    result = []
    for number, each in enumerate(entries(of, name, default)):
        try:
            result.append(read(whole_part(each)))
        except Unreadable as error:
            error.inside(f"{name}.{number}")
            raise
    return tuple(result)


def whole_part(found: Any) -> Json:
    """The value itself, which has to be an object."""
    if not isinstance(found, dict):
        raise Unreadable(f"is {_quoted(found)}, and has to be an object")
    return found


def read_as(kind: type[Read], of: Json) -> Read:
    """A dataclass from an object with fields of the same names. A field without a default must be present.

    The fields are texts, whole numbers, flags, enumerations, dataclasses, and lists of these or of plain objects.
    """
    known: Any = kind
    found = {name: read(of, name) for name, needed, read in _fields_of(known) if needed or of.get(name) is not None}
    return kind(**found)


@cache
def _fields_of(kind: Any) -> Sequence[tuple[str, bool, Callable[[Json, str], Any]]]:
    """The name of each field of a dataclass, whether it must be present, and the function that reads it."""
    hints = get_type_hints(kind)
    return [
        (each.name, each.default is MISSING and each.default_factory is MISSING, _reader_of(hints[each.name]))
        for each in fields(kind)
    ]


def _reader_of(hint: Any) -> Callable[[Json, str], Any]:
    inner = [each for each in get_args(hint) if each not in (type(None), Ellipsis)]
    if get_origin(hint) is UnionType:
        return _reader_of(inner[0])
    if get_origin(hint) is tuple:
        if inner[0] is str:
            return texts
        return partial(listed, read=partial(read_as, inner[0]) if _is_dataclass(inner[0]) else shallow)
    if _is_dataclass(hint):
        return partial(within, read=partial(read_as, hint))
    if get_origin(hint) is Mapping:
        return partial(within, read=lambda found: {each: whole(found, each) for each in found})
    if issubclass(hint, Enum):
        values = [each.value for each in hint]
        return lambda of, name: hint(one_of(of, name, values))
    known: dict[Any, Callable[[Json, str], Any]] = {int: whole, float: _number}
    return known.get(hint) or partial(_typed, kind=hint, called=_CALLED[hint], default=None)


def _is_dataclass(hint: Any) -> bool:
    return is_dataclass(hint)


def _number(of: Json, name: str) -> float:
    found = of.get(name)
    # JSON knows one kind of number, and a person writes no 12.0.
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) < EXACT:
        return float(found)
    return _typed(of, name, float, _CALLED[float], None)


def shallow(of: Json) -> Json:
    """An object with any fields that is not nested too deep: such an object could not be shown or written."""
    level: list[Any] = [of]
    for _depth in range(DEEPEST):
        inner = [each for one in level for each in (one.values() if isinstance(one, dict) else one)]
        level = [each for each in inner if isinstance(each, (dict, list))]
    if level:
        raise Unreadable("is nested too deep")
    return of


def parsed(kept: str) -> Json:
    """The object that a text of JSON holds."""
    try:
        found = json.loads(kept)
    except (RecursionError, TypeError, ValueError) as error:
        raise Unreadable(f"it is not JSON ({shortened(str(error), LONGEST)})") from error
    if not isinstance(found, dict):
        raise Unreadable("it is not a JSON object")
    return found


EXACT = 2**53
"""Whole numbers below it are the same as a float."""
_CALLED = {str: "a text", bool: "true or false", float: "a number"}


def _typed(of: Json, name: str, kind: type[Type], called: str, default: Any) -> Type:
    found = of.get(name)
    if found is None:
        if default is None:
            raise Unreadable("is missing", name)
        found = default
    elif not isinstance(found, kind):
        raise Unreadable(f"is {_quoted(found)}, and has to be {called}", name)
    given: Type = found
    return given


def _quoted(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return shortened(json.dumps(value), LONGEST)
