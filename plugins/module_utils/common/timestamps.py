"""Timestamps as text, in the one form in which the collection writes them."""

from __future__ import annotations

import time
from datetime import datetime, timezone

from .errors import refusal


def utc_now() -> datetime:
    """Now, in UTC."""
    return datetime.fromtimestamp(time.time(), timezone.utc)


def now_text(precision: str = "seconds") -> str:
    """Now, in UTC, as RFC 3339 writes it (`2026-11-21T02:00:00Z`). `precision` is a timespec of `isoformat`."""
    return timestamp_text(utc_now(), precision)


def timestamp_text(moment: datetime, precision: str = "seconds") -> str:
    """A time in the same form. One in another zone than UTC keeps its offset."""
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def timestamp_of(text: str) -> datetime:
    """The time that a text writes, as `timestamp_text` does.

    Raises:
        Refusal: it is not a time, or it has no offset from UTC.
    """
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if moment.tzinfo is not None:
            return moment
    except ValueError:
        pass
    raise refusal(
        "baseline_unreadable",
        f"The baseline {text} is not a time with its offset from UTC.",
        "Write it as 2026-12-01T22:00:00Z (baseline).",
    )


def now_seconds() -> int:
    """Now, in whole seconds since 1970, as Ansible's `now().timestamp()` counts."""
    return int(time.time())


def in_seconds(time: str) -> str:
    """A time without parts of a second, as an API server of Kubernetes writes times; empty for an empty one."""
    return f"{time.partition('.')[0].rstrip('Z')}Z" if time else ""
