"""The longest duration that an option may have: numbers that no clock or connection takes are refused at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .verdict import Reason, as_verdict, refused

LONGEST = 2_000_000
"""Connections take at most 2,147,483 seconds (CPython, `socket.settimeout`), and as many days are still a date."""
_DURATION = re.compile(r"(^|_)(timeout|duration|limit|sleep|after|soak_time|window|look|retention|green_seconds)$")


def is_duration(name: str) -> bool:
    """Whether an option of this name is a duration, if it is a number."""
    return _DURATION.search(name) is not None


@as_verdict
def judge_durations(options: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any]) -> Iterator[Reason]:
    """Whether all durations are in their limits. `options` is the argument specification of `params`."""
    for name, value in _durations(options, params):
        if not -LONGEST <= value <= LONGEST:
            yield refused(
                "duration_too_long",
                f"{name} is {value} and may be at most {LONGEST}."
                if abs(value) < 1e15
                else f"{name} is too large: it may be at most {LONGEST}.",
                "Give a smaller number.",
            )


def _durations(
    options: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], of: str = ""
) -> Iterator[tuple[str, float]]:
    for name, option in options.items():
        value = params.get(name)
        if isinstance(value, (int, float)) and option.get("type") in ("int", "float") and is_duration(name):
            yield f"{of}{name}", value
        elif option.get("options"):
            parts = value if isinstance(value, list) else [value]
            for each in parts:
                if isinstance(each, Mapping):
                    yield from _durations(option["options"], each, f"{of}{name}.")
