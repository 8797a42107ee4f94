"""The way back: no server reads the data that a newer one has written, so only a snapshot leads back. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.last_snapshot import LastSnapshot, Saved
from ..observe.state import ClusterState

_SECONDS = {"nanos": 1e-9, "micros": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>nanos|micros|ms|s|m|h|d)")
ASKED_FOR = " To continue anyway, take out snapshot_age."
_UNITS = (("days", 86400), ("h", 3600), ("min", 60), ("s", 1))


def seconds_of(text: str) -> float:
    """Seconds of a time as the servers write it; 0 for the values that mean none (`0`, `-1`).

    Raises:
        ValueError: the text is no time.
    """
    if text in {"0", "-1"}:
        return 0.0
    found = _TIME.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(text)
    return float(found["number"]) * _SECONDS[found["unit"]]


def age_of(given: str | None) -> float | None:
    """The greatest age of the last successful snapshot, in seconds; None if none is given.

    Raises:
        Refusal: the text is no time.
    """
    if not given:
        return None
    try:
        return seconds_of(given)
    except ValueError as error:
        raise refusal(
            "snapshot_age_unreadable", f"snapshot_age {given!r} is not a time.", "Give a number and a unit: 24h, 90m."
        ) from error


@as_verdict
def judge_last_snapshot(saved: Saved, state: ClusterState, allowed: float | None) -> Iterator[Reason]:
    """The age and content of the last successful snapshot. It is refused only if an age is `allowed` (seconds)."""
    unanswered = " ".join(saved.unanswered)
    if saved.last is None and saved.unanswered:
        message = f"It is not known whether this cluster has a snapshot: {unanswered}"
        remedy = f"Give the user cluster:admin/repository/get and cluster:admin/snapshot/get.{_anyway(allowed)}"
        yield (remark if allowed is None else refused)("last_snapshot_unknown", message, remedy)
    elif saved.last is None:
        why = (
            f"no snapshot in {', '.join(saved.repositories)} has ended successfully"
            if saved.repositories
            else "no repository for snapshots is registered"
        )
        message = f"There is no way back from the new version, since {why}."
        remedy = f"Take a snapshot first.{_anyway(allowed)}"
        yield (remark if allowed is None else refused)("no_snapshot", message, remedy)
    elif allowed is not None and saved.last.age > allowed:
        message = f"The last successful snapshot, {saved.last.name}, ended {_written(saved.last.age)} ago, and"
        message += f" snapshot_age allows {_written(allowed)}.{' ' if unanswered else ''}{unanswered}"
        repository = saved.last.name.partition("/")[0]
        remedy = f"Take one: PUT _snapshot/{repository}/<name>?wait_for_completion=true.{ASKED_FOR}"
        yield refused("snapshot_too_old", message, remedy)
    else:
        yield remark("last_snapshot", f"{_described(saved.last, state)}{' ' if unanswered else ''}{unanswered}")


def _anyway(allowed: float | None) -> str:
    return "" if allowed is None else ASKED_FOR


def _described(last: LastSnapshot, state: ClusterState) -> str:
    there = {index.name for index in state.indices.values() if not index.of_snapshot}
    missing = there - last.indices
    message = f"The last successful snapshot, {last.name}, ended {_written(last.age)} ago"
    if not missing:
        return f"{message} and holds all {len(there)} indices."
    return f"{message} and holds {len(there) - len(missing)} of {len(there)} indices, not: {enumerate_few(missing)}."


def _written(seconds: float) -> str:
    unit, size = next(each for each in _UNITS if seconds >= 2 * each[1] or each[1] == 1)
    return f"{seconds / size:.0f} {unit}"
