"""The pace of an upgrade: predictions from the batches that the record has measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from statistics import fmean, median
from typing import Any

from ..common.words import duration
from .record.batches import BatchRecord, deed_of
from .record.figures import longest_absence, seconds_between
from .record.phases import Deed, Phase
from .record.record import Record

LONGEST_DELAY = 60
"""Minutes for which copies wait for a member at most."""


def seconds_a_batch(records: Iterable[Record]) -> float | None:
    """The average seconds of the measured batches, from start to end; None without any."""
    measured = [seconds for record in records for batch in record.batches if (seconds := _seconds(batch)) is not None]
    return fmean(measured) if measured else None


def seconds_left(record: Record) -> float | None:
    """The predicted seconds for the remaining batches at the pace so far; None if no batch was measured."""
    pace = seconds_a_batch([record])
    left = sum(batch.state != "done" for batch in record.batches)
    return None if pace is None else pace * left


def placed(batches: Sequence[Mapping[str, Any]], whole: int, later: int = 0) -> list[dict[str, Any]]:
    """The batches of this run, each with its `place` among the `whole` number of batches of the upgrade, such as 2/3.

    `later` is the number of batches that come after them, in later hops.
    """
    before = max(0, whole - len(batches))
    every = before + len(batches) + later
    return [{**each, "place": f"{before + number}/{every}"} for number, each in enumerate(batches, 1)]


def earlier_of(records: Iterable[Record], target: str, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Since when the upgrade of this plan is under way, and how many batches are done; empty if it starts now."""
    going = {(each.get("target_version") or "", member) for each in plan["batches"] for member in each["members"]}
    for record in records:
        same = (record.cluster, record.target_version, record.deed) == (plan["cluster_uuid"], target, deed_of(plan))
        done = record.dropped + sum(going.isdisjoint(batch.led) for batch in record.batches)
        if same and record.phase is not Phase.COMPLETED and done:
            return {"started": record.started, "done": done}
    return {}


def has_commenced(records: Iterable[Record], target: str, cluster: str, deed: Deed = Deed.UPGRADE) -> bool:
    """Whether a batch of the upgrade to this target has started, in any run, and the upgrade has not ended since.

    A restart has the version of the cluster as its target, but the batches of an upgrade to it are not its own.
    """
    ended, wanted = (Phase.COMPLETED, Phase.ABORTED), (cluster, target, deed)
    same = (one for one in records if (one.cluster, one.target_version, one.deed) == wanted and one.phase not in ended)
    return any(one.dropped or any(each.state != "pending" for each in one.tries) for one in same)


def usual_absence(record: Record) -> float | None:
    """The median of the longest absences of the batches that are done, in seconds; None before the first one."""
    measured = [away for batch in record.batches if batch.state == "done" and (away := longest_absence(batch.took))]
    return round(median(measured), 1) if measured else None


def delay_after(usual: float | None) -> str | None:
    """The time for which the copies of a member that has left should wait for it, such as `240s`: twice the usual
    absence, in whole minutes, and an hour at most. None if none was measured yet."""
    minutes = ceil(2 * usual / 60) if usual is not None else 0
    return f"{60 * min(minutes, LONGEST_DELAY)}s" if minutes else None


def figures_of(record: Record) -> dict[str, Any]:
    """The figures by which an upgrade is compared with the next one; times in seconds."""
    seconds = seconds_between(record.started, record.updated)
    return {
        "target_version": record.target_version,
        "started": record.started,
        "seconds": None if seconds is None else round(seconds),
        "batches": record.batches_planned,
        "members": len({name for each in record.tries for name in each.members}),
        "usual_seconds": usual_absence(record),
    }


def with_last(record: Record | None, previous: Record | None) -> Record | None:
    """The record at the start of a run, with the figures of the upgrade completed before it."""
    if record is None or previous is None:
        return record
    finished = previous.phase is Phase.COMPLETED
    return replace(record, last=(figures_of(previous),) if finished else previous.last)


def done_text(took: Sequence[Mapping[str, Any]], record: Record | None) -> str:
    """The words for a batch that is done: how long its members were away, and how much of the upgrade is left."""
    away = longest_absence(took)
    left = seconds_left(record) if record is not None else None
    said = "upgraded by someone else" if _by_another(took) else duration(away) if away else "done"
    return f"{said}, about {duration_text(left)} left" if left else said


def duration_text(seconds: float) -> str:
    """A duration for people, rounded as a prediction should be."""
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _by_another(took: Sequence[Mapping[str, Any]]) -> bool:
    """Whether someone else has upgraded all members of the batch."""
    return bool(took) and all(each.get("action") == "kept" for each in took)


def _seconds(batch: BatchRecord) -> float | None:
    if batch.state != "done" or _by_another(batch.took):
        return None
    return seconds_between(batch.started, batch.ended)
