"""The figures of a cluster's health in a record: those from before the first batch, and the last ones. Pure.

Only the last row of each figure is kept, and those that were worse: 1,000 batches with six rows each would not fit.
The counters of a process take about 100 bytes. They are the first thing to go if a record is too long, and are then
measured again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .figures import figure, number

NO_WORSE, WORSE, ACCEPTED, NOT_JUDGED = "no worse", "worse", "accepted", "not judged"
MOST_ROWS = 100
"""Rows of figures that were worse, or accepted, that are kept: the newest."""
MOST_PARTS = 1000
"""Parts of a level that are kept one by one. If there are more, only their sum is compared."""
SAME_START = 5.0
"""Seconds by which the computed start of the same process may differ. No server restarts faster."""


@dataclass(frozen=True)
class ProcessCounts:
    """The counters of one process, and when it started, in seconds on the clock of its machine."""

    started: float
    uptime: float
    """Seconds since then."""
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By figure: how often it has happened since the process started, and out of how many."""


@dataclass(frozen=True)
class FigureRow:
    """A figure after a batch."""

    at: str
    batch: str
    """The members of the batch."""
    figure: str
    before: str
    now: str
    outcome: str

    def of(self, outcome: str) -> FigureRow:
        """The row with this outcome."""
        return replace(self, outcome=outcome)


@dataclass(frozen=True)
class HealthRecord:
    """The figures of an upgrade."""

    since: str
    """The time of the last look."""
    counted: tuple[str, ...] = ()
    """The names of the rates whose counters are kept, in their order."""
    processes: tuple[Mapping[str, Any], ...] = ()
    """For each member its name, the start of its process, and the counters of the process, two for each rate."""
    measured: str = ""
    """The time at which the figures before the first batch were complete; empty until then."""
    before: tuple[Mapping[str, Any], ...] = ()
    """The figures before the first batch: the value of each part of a level, and each rate."""
    rows: tuple[FigureRow, ...] = ()
    """The last row of each figure, after earlier ones that were worse or accepted."""

    def levels(self, name: str) -> Mapping[str, int]:
        """The parts of a level before the first batch."""
        of_figure = [each for each in self.before if each.get("figure") == name and "part" in each]
        return {str(each["part"]): round(number(each, "value")) for each in of_figure}

    def rate(self, name: str) -> float | None:
        """A rate before the first batch; None if the sample was too small."""
        of_figure = (each for each in self.before if each.get("figure") == name and "part" not in each)
        return next((figure(each, "value") for each in of_figure), None)

    def noted(self, since: HealthRecord, rows: Sequence[FigureRow]) -> HealthRecord:
        """The record after a batch was judged; `since` has the counters of the last look."""
        worth = tuple(each for each in self.rows if each.outcome in (WORSE, ACCEPTED))[-MOST_ROWS:]
        return replace(self, since=since.since, counted=since.counted, processes=since.processes, rows=(*worth, *rows))


def first_look(at: str, counted: Sequence[str], processes: Mapping[str, ProcessCounts]) -> HealthRecord:
    """The record of a look, from which the next one counts."""
    kept = tuple(
        {
            "member": member,
            "started": round(process.started, 3),
            "counts": [count for name in counted for count in process.counts.get(name, (0, 0))],
        }
        for member, process in sorted(processes.items())
    )
    return HealthRecord(at, tuple(counted), kept)


def with_before(
    known: HealthRecord,
    now: HealthRecord,
    levels: Mapping[str, Mapping[str, int]],
    rates: Mapping[str, float],
) -> HealthRecord:
    """The record with the figures before the first batch."""
    found = [
        {"figure": name, "part": part, "value": value}
        for name, parts in sorted(levels.items())
        for part, value in sorted(summed(parts).items())
    ]
    found += [{"figure": name, "value": value} for name, value in sorted(rates.items())]
    return replace(now, measured=now.since, before=tuple(found), rows=known.rows)


def summed(parts: Mapping[str, int]) -> Mapping[str, int]:
    """The parts of a level, or only their sum if they are too many."""
    return parts if len(parts) <= MOST_PARTS else {"": sum(parts.values())}


def without_counters(known: HealthRecord | None) -> HealthRecord | None:
    """The record without the counters of the processes."""
    return known and replace(known, processes=())


def increases(
    known: HealthRecord, processes: Mapping[str, ProcessCounts], seconds: float
) -> dict[str, tuple[int, int]]:
    """The increase of both counters of each rate over all processes, in the `seconds` since the last look.

    A process that has started since counts from its start. One that is older but was not seen then does not count:
    its counters include the time before that look.
    """
    earlier = {str(each.get("member")): each for each in known.processes}
    found: dict[str, tuple[int, int]] = {}
    for member, process in processes.items():
        for name, (events, sample) in _increase(known.counted, earlier.get(member), process, seconds):
            sums = found.get(name, (0, 0))
            found[name] = (sums[0] + events, sums[1] + sample)
    return found


def lifetime(processes: Mapping[str, ProcessCounts]) -> dict[str, tuple[int, int]]:
    """Both counters of each rate over the whole life of all processes."""
    found: dict[str, tuple[int, int]] = {}
    for process in processes.values():
        for name, (events, sample) in process.counts.items():
            sums = found.get(name, (0, 0))
            found[name] = (sums[0] + events, sums[1] + sample)
    return found


def _increase(
    counted: Sequence[str], earlier: Mapping[str, Any] | None, process: ProcessCounts, seconds: float
) -> Iterator[tuple[str, tuple[int, int]]]:
    then = _counts(counted, earlier) if earlier is not None else {}
    same = earlier is not None and abs(number(earlier, "started") - process.started) <= SAME_START
    same = same and all(
        process.counts[name][place] >= count
        for name, counts in then.items()
        if name in process.counts
        for place, count in enumerate(counts)
    )
    if not same and process.uptime > seconds + SAME_START:
        return
    for name, (events, sample) in process.counts.items():
        before = then.get(name) if same else (0, 0)
        if before is not None:
            yield name, (events - before[0], sample - before[1])


def _counts(counted: Sequence[str], earlier: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    flat = [count for count in earlier.get("counts") or () if isinstance(count, int)]
    pairs = zip(flat[::2], flat[1::2], strict=False)
    return dict(zip(counted, pairs, strict=False))
