"""The notices of an upgrade: each state is sent once, and the record has those that were sent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from ..record.events import EventKind, happened
from ..record.record import Record


def notice_key(state: str, codes: Iterable[str], record: Record | None) -> str:
    """The key of a notice, under which it is sent once.

    It differs for another upgrade, another start time, and other reasons. The sentences are not part of it, because
    they contain times that change.
    """
    of_upgrade = "" if record is None else record.started if record.run else "before"
    start = record.start.at if record is not None and record.start is not None else ""
    told = "|".join([state, *sorted(set(codes)), of_upgrade, start])
    return f"{state}-{sha256(told.encode()).hexdigest()[:12]}"


def is_told(record: Record | None, key: str) -> bool:
    """Whether the record shows that this notice was sent."""
    return record is not None and key in record.notices


def with_notice(record: Record | None, key: str, at: str) -> Record | None:
    """The record with one more notice; None if there is no record, or it has the notice already."""
    if record is None or is_told(record, key):
        return None
    return record.with_events(happened(EventKind.NOTICED, at, record.run, key))


def content_of(
    told: Mapping[str, Any], record: Record | None, body: Mapping[str, Any] | None, key: str
) -> dict[str, Any]:
    """The content of a notice: the user's own, or all that is known, with one sentence in `text`.

    `told` has the `state`, the `cause`, the `codes`, the `target_version`, the `plan`, the `place`, the `run` and the
    time (`at`).
    """
    if body:
        return dict(body)
    cause = f": {told['cause']}" if told["cause"] else "."
    system = record.system if record is not None and record.system else "cluster"
    target = f" to {told['target_version']}" if told["target_version"] else ""
    return {
        **told,
        "text": f"The upgrade of {told['place'] or system}{target} is {told['state']}{cause}",
        "system": system,
        "phase": record.phase.value if record is not None else "",
        "key": key,
    }
