"""The health of a cluster in figures, and whether it is no worse than before the first batch. Pure.

A system provides its figures and a look at them. A level, such as the unassigned copies, is compared part by part. A
rate, such as the share of refused requests, comes from the counters of each process. These are reset when it restarts,
so the increase of each process counts from the last look, or from its own start if that is later. The rate before is
the larger of two: over the whole life of the processes, and over the time of the measurement. So a quiet or busy hour
before the upgrade does not stop it. Samples that are too small are not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ..common.errors import each_read
from ..common.task import Task
from ..common.verdict import Reason, Verdict, refused, remark, waiting
from ..common.words import enumerate_few
from .record.health_record import (
    ACCEPTED,
    NO_WORSE,
    NOT_JUDGED,
    WORSE,
    FigureRow,
    HealthRecord,
    ProcessCounts,
    increases,
    summed,
)

MEASURED = 60
"""The least seconds for which rates are measured, before the first batch and after each one."""


@dataclass(frozen=True)
class HealthFigure:
    """One figure of a system, and how much more of it is worse."""

    name: str
    """The name by which a user accepts it."""
    title: str
    """The words for it in a sentence, such as `refused searches`."""
    causes: str
    """What can cause it, as a sentence."""
    unit: str = ""
    """The text behind the number."""
    factor: float = 1.0
    """The factor from a value to the number that is shown."""
    rate: bool = False
    """Whether it is a rate, made from counters, and not a level."""
    ratio: float = 1.0
    """It is worse if it is more than so many times its value before …"""
    floor: float = 0.0
    """… and also larger than that value by more than this."""
    sample: int = 0
    """The least sample, such as a number of searches, with which a rate is judged."""
    events: int = 0
    """The least number of events with which a rate can be worse."""

    def shown(self, value: float) -> str:
        """A value for people."""
        return f"{value * self.factor:.4g}{self.unit}"

    def worse(self, now: float, before: float) -> bool:
        """Whether a value is worse than it was."""
        return now > self.ratio * before and now - before > self.floor


@dataclass(frozen=True)
class HealthLook:
    """One look at the figures of a system."""

    levels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each level, the parts that are not 0, such as volumes; a level without parts has the part ''."""
    processes: Mapping[str, ProcessCounts] = field(default_factory=dict)
    """The counters of each process, by the name of the member."""


@dataclass(frozen=True)
class HealthFigures:
    """The figures of a system, for its runs."""

    figures: tuple[HealthFigure, ...]
    look: Callable[[Task], HealthLook]
    """One look at all figures. The task has the connections and the target version of the run."""


@dataclass(frozen=True)
class AcceptedFigure:
    """A figure that may be worse, with a reason and a last day."""

    figure: str
    reason: str
    owner: str
    until: date
    """The last day on which it may."""

    @property
    def said(self) -> str:
        """The words for it in a sentence."""
        return f"until {self.until}: {self.reason} ({self.owner})"


@dataclass(frozen=True)
class HealthComparison:
    """The verdict on a look, and a row for each figure."""

    verdict: Verdict
    rows: tuple[FigureRow, ...]


def accepted_in(given: Sequence[Mapping[str, Any]], option: str) -> list[AcceptedFigure]:
    """The entries of an option.

    Raises:
        Refusal: some of them cannot be read; it has a reason for each.
    """

    def read(each: Mapping[str, Any]) -> AcceptedFigure:
        until = date.fromisoformat(str(each["until"])[:10])
        return AcceptedFigure(str(each["figure"]), str(each["reason"]), str(each["owner"]), until)

    def fault(each: Mapping[str, Any], error: ValueError) -> Reason:
        said = f"The entry {each.get('figure')} of {option} cannot be used: {error}."
        return refused("accepted_figure_unreadable", said, "Give figure, reason, owner, and until as 2026-12-31.")

    return each_read(given, read, fault)


@dataclass(frozen=True)
class HealthJudge:
    """Judges a look after a batch."""

    figures: Sequence[HealthFigure]
    known: HealthRecord
    accepted: Sequence[AcceptedFigure]
    members: Sequence[str]
    """The members of the batch that went last."""
    today: date

    def compare(self, look: HealthLook, at: str, seconds: float) -> HealthComparison:
        """The look `seconds` after the last one in the record.

        A level that is higher than before is waited for, because a copy that moves counts for a while.
        A rate is refused once it was measured for long enough.
        """
        rows, reasons = list[FigureRow](), list[Reason]()
        grown = increases(self.known, look.processes, seconds)
        for figure in self.figures:
            judged = self._rate(figure, grown, at) if figure.rate else self._level(figure, look, at)
            for row, reason in judged:
                rows.append(row)
                reasons += [] if reason is None else [reason]
        left = MEASURED - seconds
        if left > 0 and any(figure.rate for figure in self.figures):
            # Rates of so short a time say nothing.
            reasons = [each for each in reasons if each.code != "health_worse"]
            reasons.append(measuring(left))
        return HealthComparison(Verdict(tuple(reasons)), tuple(rows))

    def _level(self, figure: HealthFigure, look: HealthLook, at: str) -> Iterator[tuple[FigureRow, Reason | None]]:
        before, now = self.known.levels(figure.name), summed(look.levels.get(figure.name, {}))
        if before.keys() == {""} or now.keys() == {""}:
            before, now = {"": sum(before.values())}, {"": sum(now.values())}
        more = {part: value for part, value in now.items() if figure.worse(value, before.get(part, 0))}
        row = FigureRow(at, self._batch, figure.name, str(sum(before.values())), str(sum(now.values())), NO_WORSE)
        if not more:
            yield row, None
            return
        parts = [f"{part} ({before.get(part, 0)} before, {value} now)" for part, value in sorted(more.items()) if part]
        counts = f"{sum(now.values())}, and there were {sum(before.values())} before the first batch"
        said = f"more {figure.title}: {counts}{f': {enumerate_few(parts)}' if parts else ''}."
        yield self._judged(figure, row, said, waits=True)

    def _rate(
        self, figure: HealthFigure, grown: Mapping[str, tuple[int, int]], at: str
    ) -> Iterator[tuple[FigureRow, Reason | None]]:
        before, (events, sample) = self.known.rate(figure.name), grown.get(figure.name, (0, 0))
        shown = "" if before is None else figure.shown(before)
        value = events / sample if sample else 0.0
        row = FigureRow(at, self._batch, figure.name, shown, figure.shown(value) if sample else "", NOT_JUDGED)
        if before is None or sample < figure.sample:
            yield row, None
        elif events < figure.events or not figure.worse(value, before):
            yield row.of(NO_WORSE), None
        else:
            said = f"{figure.title}: {figure.shown(value)} now, and {shown} before the first batch."
            yield self._judged(figure, row, said, waits=False)

    def _judged(self, figure: HealthFigure, row: FigureRow, said: str, *, waits: bool) -> tuple[FigureRow, Reason]:
        entries = [each for each in self.accepted if each.figure == figure.name]
        valid = next((each for each in entries if self.today <= each.until), None)
        lead = f"{self._batch} went last. Now the cluster is worse than before: {said}"
        if valid is not None:
            return row.of(ACCEPTED), remark("health_worse_accepted", f"{lead} This is accepted {valid.said}.")
        over = "".join(f" It was accepted until {each.until} ({each.owner})." for each in entries[:1])
        remedy = (
            f"{figure.causes} Fix that and run again, or accept {figure.name} with a reason, an owner and a last day"
            " (upgrade_accept_worse)."
        )
        if waits:
            return row.of(WORSE), waiting("health_recovering", f"{lead}{over}", remedy, about=figure.name)
        return row.of(WORSE), refused("health_worse", f"The upgrade stops. {lead}{over}", remedy)

    @property
    def _batch(self) -> str:
        return ", ".join(self.members)


def measuring(left: float) -> Reason:
    """The reason to wait until rates are measured for long enough."""
    return waiting("health_measuring", f"The figures of the cluster are measured for {MEASURED} s ({left:.0f} s left).")
