"""Values of settings as the servers read them: times, sizes, numbers and words, and the errors about others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.sandbox.opensearch.errors import ServerError, illegal

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(nanos|micros|ms|s|m|h|d)")
_SECONDS = {"nanos": 1e-9, "micros": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = re.compile(r"(-?\d+(?:\.\d+)?)\s*([kmgtp]?b|[kmgtp])", re.IGNORECASE)

Check = Callable[[str, str], None]
"""Called with name and value; raises `ServerError` where the value is invalid."""


def seconds(text: str, name: str = "timeout") -> float:
    """A time in seconds; -1 is for ever.

    Raises:
        ServerError: it is invalid.
    """
    if text in {"-1", "0"}:
        return float(text)
    found = _TIME.fullmatch(text.strip().lower())
    if not found:
        raise illegal(
            f"failed to parse setting [{name}] with value [{text}] as a time value: unit is missing or unrecognized"
        )
    return float(found[1]) * _SECONDS[found[2]]


def a_time(name: str, value: str) -> None:
    """A time with its unit."""
    seconds(value, name)


def a_size(name: str, value: str) -> None:
    """A size with its unit."""
    if value not in {"-1", "0"} and not _BYTES.fullmatch(value.strip()):
        reason = (
            f"failed to parse setting [{name}] with value [{value}] as a size in bytes: unit is missing or unrecognized"
        )
        error = illegal(reason)
        error.cause = {"caused_by": {"type": "parse_exception", "reason": reason}}
        raise error


def a_number(least: int) -> Check:
    """A whole number, not less than that."""

    def check(name: str, value: str) -> None:
        try:
            number = int(value)
        except ValueError:
            error = illegal(f"Failed to parse value [{value}] for setting [{name}]")
            reason = f'For input string: "{value}"'
            error.cause = {"caused_by": {"type": "number_format_exception", "reason": reason}}
            raise error from None
        if number < least:
            raise illegal(f"Failed to parse value [{value}] for setting [{name}] must be >= {least}")

    return check


def a_flag(_name: str, value: str) -> None:
    """True or false."""
    if value not in {"true", "false"}:
        raise illegal(f"Failed to parse value [{value}] as only [true] or [false] are allowed.")


def one_of(what: str, *words: str) -> Check:
    """One of these words, in letters of any size; `what` is what the server calls it."""

    def check(_name: str, value: str) -> None:
        if value.lower() not in words:
            raise illegal(f"Illegal {what} value [{value.upper()}]")

    return check


def anything(_name: str, _value: str) -> None:
    """Any text."""


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their full names, from objects or from names with dots; values are texts, lists of texts, or None."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{name}."))
        elif isinstance(value, list):
            found[f"{prefix}{name}"] = [as_text(each) for each in value]
        else:
            found[f"{prefix}{name}"] = None if value is None else as_text(value)
    return found


def as_text(value: Any) -> str:
    """A value as settings keep it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as objects in objects."""
    found: dict[str, Any] = {}
    for name in sorted(values):
        *parents, last = name.split(".")
        inner = found
        for number, parent in enumerate(parents):
            following = inner.setdefault(parent, {})
            if not isinstance(following, dict):
                # A name that is also the beginning of another one stays flat, as the servers write it.
                last = ".".join([*parents[number:], last])
                break
            inner = following
        inner[last] = values[name]
    return found


def names_of(value: Any) -> list[str]:
    """The names of a list, written with commas or as one."""
    listed = value if isinstance(value, list) else str(value or "").split(",")
    return [name.strip() for name in listed if name.strip()]


def unknown(kind: str, name: str, modern: bool) -> ServerError:
    """A setting of the cluster that no member knows; from 3.0 on the error has a type of its own."""
    type_ = "settings_exception" if modern else "illegal_argument_exception"
    return ServerError(400, type_, f"{kind} setting [{name}], not recognized")
