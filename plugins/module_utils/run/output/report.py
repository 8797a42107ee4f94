"""The report of an upgrade, made from its record alone: a timeline, the time by phase, the longest waits. Pure.

The time until all was whole after a batch is found by the gate that comes next, so it is shown in the line of the
next member, at the end of the run and in the report. It is missing if the gate of the next batch did not wait for
it, if tasks of the user ran in between, and after the last batch of an interrupted run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..counts import ComparedCounts, compared
from ..pace import figures_of
from ..record.batches import LEFT, BatchRecord, ImageRecord
from ..record.events import COUNTED, EventKind, RecordedEvent, Risk, of_kind, stays
from ..record.figures import figure, number, timestamp
from ..record.health_record import FigureRow
from ..record.phases import Deed, Phase
from ..record.record import Record

PHASES = ("stop", "schedule", "image", "start", "join")
"""The parts of a member's absence, in order; each is measured as `<name>_seconds`."""
LONGEST_GAP = 0.1
"""A pause longer than this share of the time at work is cut out of the timeline."""
CUT = 0.02
"""The width of a pause that is cut out, as a share of the time at work."""
COMPARED = {
    "seconds": "seconds from begin to end",
    "batches": "batches",
    "members": "members",
    "usual_seconds": "seconds that a batch is usually away",
}
"""The figures of two upgrades that are compared."""
MOST_WAITS = 20
"""Waits that a report names, the longest."""


@dataclass(frozen=True)
class Bar:
    """A batch, or an earlier try of it, on the timeline; times are seconds on its axis."""

    name: str
    members: tuple[str, ...]
    state: str
    begin: float
    end: float
    seconds: float
    away: float
    """The longest absence of one of its members, in seconds; 0 if none was measured."""
    shares: tuple[tuple[str, float], ...]
    """The seconds of each phase of that absence."""
    health: str
    """The health that the gate of the batch has found; empty if it was not kept."""
    health_away: str
    """The health while its members were away; empty if it was not observed."""
    green_seconds: float | None
    """Seconds from its end until the next gate first found all whole; None if no gate has seen it."""
    row: int = 0
    """The row of its batch, in the order in which the batches began. All tries of a batch have the same."""
    number: int = 1
    """The number of this try of the batch, out of so many `tries`."""
    tries: int = 1


@dataclass(frozen=True)
class Pause:
    """A pause between batches that is cut out of the timeline."""

    at: float
    seconds: float


@dataclass(frozen=True)
class Wait:
    """One reason that was waited for."""

    during: str
    """The batch, or the part of a run outside the batches."""
    message: str
    seconds: float


@dataclass(frozen=True)
class Changed:
    """A setting or a part of an object that was changed, and how often it was put back."""

    target: str
    changed: int
    put_back: int
    stays: bool
    """Whether it is meant to stay."""
    first: str
    last: str


@dataclass(frozen=True)
class Report:
    """All that a report shows of one upgrade."""

    title: str
    """The words for the whole, such as `Upgrade to 3.8.0`."""
    deployed: str
    """The version that all members have, and the one that they are on the way to; empty if it was not kept."""
    bars: tuple[Bar, ...]
    pauses: tuple[Pause, ...]
    length: float
    """The seconds of the axis."""
    at_work: float
    """Seconds of the upgrade without the pauses that are cut out."""
    runs: int
    members: int
    phases: tuple[tuple[str, float], ...]
    """The seconds of each phase over all members; empty where members have no such phases, such as machines."""
    waits: tuple[Wait, ...]
    changes: tuple[Changed, ...]
    """The settings and objects that were changed, in the order of their first changes."""
    health: str
    """The health at the end of the last run; empty if it was not kept."""
    counts: ComparedCounts | None
    """The things that the system has counted before and after, such as documents."""
    compared: tuple[tuple[str, float | None, float | None], ...]
    """Names, figures now and figures then of the upgrade before; empty without one."""
    images: tuple[ImageRecord, ...] = ()
    """The images of members before and after their batches, where a system names them."""
    rows: int = 0
    """The batches on the timeline."""
    repeated: int = 0
    """The batches that more than one run has started."""
    batches: int = 0
    """All batches, also those that the record no longer has one by one."""
    replaced: int = 0
    """The members among them that ran the target version already, and were replaced for a changed template."""

    skipped: tuple[str, ...] = ()
    """The checks that one of the runs was asked not to make."""
    risks: tuple[Risk, ...] = ()
    """These checks and the risks that were accepted, each with who did so, and when."""
    figures: tuple[FigureRow, ...] = ()
    """The figures of the cluster's health after the last batch, and those that were worse before that."""

    def as_result(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class _Span:
    name: str
    """The name of the batch now: an earlier run may have had another one for it."""
    batch: BatchRecord
    begin: float
    end: float
    number: int
    tries: int

    @property
    def state(self) -> str:
        """The state in words; an earlier try has ended, whatever state its run left it in."""
        state = self.batch.state
        return LEFT.get(state, state) if self.number < self.tries else state


def report_of(record: Record) -> Report:
    """The report of a record. Batches that have not begun are not on the timeline."""
    spans = sorted(_spans(record), key=lambda span: (span.begin, span.end))
    starts, pauses = _axis(spans)
    rows = {name: number for number, name in enumerate(dict.fromkeys(span.name for span in spans))}
    bars = tuple(_bar(span, start, rows[span.name]) for span, start in zip(spans, starts, strict=True))
    took = [each for one in record.tries for each in one.took]
    cut = sum(pause.seconds for pause in pauses)
    whole = max((span.end for span in spans), default=0.0) - min((span.begin for span in spans), default=0.0)
    return Report(
        title=_title(record),
        deployed=record.deployed,
        bars=bars,
        pauses=pauses,
        length=max((each.end for each in bars), default=0.0),
        at_work=whole - cut,
        runs=len(runs_of(record)),
        members=len({name for each in record.tries for name in each.members}),
        phases=_phases(took),
        waits=waits_of(record)[:MOST_WAITS],
        changes=_changes(record),
        health=record.health,
        counts=compared(record.counts),
        compared=_compared(record),
        images=tuple(each for batch in record.batches for each in batch.images),
        rows=len(rows),
        repeated=sum(bool(batch.tries) for batch in record.batches),
        batches=record.batches_planned,
        replaced=len({name for batch in record.batches for name in batch.outdated}),
        skipped=record.skipped,
        risks=record.risks,
        figures=record.figures.rows if record.figures else (),
    )


def _phases(took: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, float], ...]:
    found = tuple((name, sum(number(each, f"{name}_seconds") for each in took)) for name in PHASES)
    return found if any(seconds for _name, seconds in found) else ()


def _title(record: Record) -> str:
    if record.deed is not Deed.UPGRADE:
        return str(record.deed.value).capitalize()
    return f"Upgrade{f' of {record.system}' if record.system else ''} {record.aim}"


def runs_of(record: Record) -> frozenset[str]:
    """The runs of an upgrade. Its history also has those of the upgrades before it."""
    history = {each.run for each in record.history if each.at >= record.started}
    return frozenset(history | {each.run for each in record.tries}) - {""}


def waits_of(record: Record) -> tuple[Wait, ...]:
    """All that an upgrade has waited for, in its batches and outside of them, the longest first."""
    waits = [(batch.name, each) for batch in record.batches for one in (*batch.tries, batch) for each in one.waited]
    waits += [(str(each.get("during", "")), each) for each in record.waited]
    found = (Wait(during, str(each.get("message", "")), number(each, "seconds")) for during, each in waits)
    return tuple(sorted(found, key=lambda wait: -wait.seconds))


def _changes(record: Record) -> tuple[Changed, ...]:
    acts = of_kind(record.events, *COUNTED)
    targets = dict.fromkeys(act.about for act in acts)
    return tuple(_changed(name, [act for act in acts if act.about == name]) for name in targets)


def _changed(target: str, acts: Sequence[RecordedEvent]) -> Changed:
    moments = sorted(at for act in acts for at in (act.at, act.last or act.at))
    times = sum(act.times for act in acts if act.kind == EventKind.CHANGED)
    put_back = sum(act.times for act in acts if act.kind == EventKind.PUT_BACK)
    # A killed run has not noted its last changes; whatever was put back had been changed.
    return Changed(target, max(times, put_back), put_back, stays(target), moments[0], moments[-1])


def _compared(record: Record) -> tuple[tuple[str, float | None, float | None], ...]:
    if not record.last or record.phase is not Phase.COMPLETED:
        return ()
    now, then = figures_of(record), record.last[0]
    return tuple((COMPARED[name], figure(now, name), figure(then, name)) for name in COMPARED)


def _spans(record: Record) -> Iterator[_Span]:
    earlier = [(batch, each) for batch in record.batches for each in batch.tries]
    for batch in record.batches:
        # The members of one try may now be planned in several batches; the first of these has the try.
        elsewhere = sum(of is not batch and not {*each.members}.isdisjoint(batch.members) for of, each in earlier)
        for place, each in enumerate((*batch.tries, batch), elsewhere + 1):
            begin, end = timestamp(each.started), timestamp(each.ended or record.updated)
            if begin is not None and end is not None:
                last = max(begin.timestamp(), end.timestamp())
                yield _Span(batch.name, each, begin.timestamp(), last, place, elsewhere + len(batch.tries) + 1)


def _axis(spans: Sequence[_Span]) -> tuple[list[float], tuple[Pause, ...]]:
    """The start of each span on the axis, without the long pauses between them."""
    busy = _busy(spans)
    starts, pauses = list[float](), list[Pause]()
    shift = spans[0].begin if spans else 0.0
    latest = shift
    for span in spans:
        gap = span.begin - latest
        if gap > LONGEST_GAP * busy > 0:
            pauses.append(Pause(latest - shift, gap))
            shift += gap - CUT * busy
        starts.append(span.begin - shift)
        latest = max(latest, span.end)
    return starts, tuple(pauses)


def _busy(spans: Iterable[_Span]) -> float:
    """Seconds in which at least one batch was under way. The spans are sorted by their start."""
    busy, latest = 0.0, float("-inf")
    for span in spans:
        busy += max(0.0, span.end - max(span.begin, latest))
        latest = max(latest, span.end)
    return busy


def _bar(span: _Span, begin: float, row: int) -> Bar:
    longest: Mapping[str, Any] = max(span.batch.took, key=lambda each: number(each, "total_seconds"), default={})
    seconds = span.end - span.begin
    return Bar(
        name=span.name,
        members=span.batch.members,
        state=span.state,
        begin=begin,
        end=begin + seconds,
        seconds=seconds,
        away=number(longest, "total_seconds"),
        shares=tuple((name, number(longest, f"{name}_seconds")) for name in PHASES),
        health=span.batch.health,
        health_away=span.batch.health_away,
        green_seconds=span.batch.green_seconds,
        row=row,
        number=span.number,
        tries=span.tries,
    )
