"""Figures of a record: numbers and times. Pure.

Others may write where a record is kept. A figure that cannot be read counts as missing, because it is not worth an
error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any


def figure(of: Mapping[str, Any], name: str) -> float | None:
    """A measured number; None if there is none."""
    value = of.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def number(of: Mapping[str, Any], name: str) -> float:
    """A measured number; 0 if there is none."""
    return figure(of, name) or 0.0


def timestamp(text: str) -> datetime | None:
    """A time with its zone; None if there is none."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else None


def seconds_between(began: str, ended: str) -> float | None:
    """The seconds from one time to another, at least 0; None if one of them is missing."""
    first, last = timestamp(began), timestamp(ended)
    return max(0.0, (last - first).total_seconds()) if first and last else None


def longest_absence(took: Iterable[Mapping[str, Any]]) -> float:
    """The longest absence of a member of one batch in seconds; 0 if none was measured."""
    return max((number(each, "total_seconds") for each in took), default=0.0)


def longest_first(waited: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The waits that modules have reported, the longest first."""
    return tuple(sorted(waited, key=lambda each: -number(each, "seconds")))
