"""The things that a system counts before and after an upgrade, part by part. They are figures, not a verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.words import shortened

MOST_PARTS = 200
"""Parts that a finished upgrade keeps one by one. If there are more, it keeps those with fewer things than before."""
FEWER = "fewer than before"
GONE = "gone or closed"
LONGEST_CAUSE = 500
"""Characters of a cause that are kept."""


@dataclass(frozen=True)
class Count:
    """One count of all parts."""

    at: str
    parts: int
    things: int
    each: Mapping[str, int] = field(default_factory=dict)
    """The things of each part; empty if there were too many parts to keep them."""
    missing: str = ""
    """The sentence that says why nothing was counted."""


@dataclass(frozen=True)
class Counts:
    """The counts of an upgrade, with the words for what is counted."""

    things: str
    """The word for what is counted, such as documents."""
    parts: str
    """The word for what holds it, such as tables."""
    before: Count
    """The count at the start of the first run that could count."""
    after: Count | None = None
    """The count when the upgrade was completed."""
    fewer: int | None = None
    """Parts that have fewer things afterwards, or are gone; None if that is not known."""


@dataclass(frozen=True)
class Row:
    """One part before and after; None if it was not there."""

    name: str
    before: int | None
    after: int | None
    note: str


@dataclass(frozen=True)
class ComparedCounts:
    """Both counts side by side, for a report."""

    things: str
    parts: str
    said: tuple[str, ...]
    rows: tuple[Row, ...]
    """The parts that are kept one by one, those with fewer things first."""


def count_of(given: Mapping[str, Any], at: str) -> Count:
    """The count from the table of a system, or from the cause if nothing was counted."""
    each = dict(sorted(given.get("each", {}).items()))
    missing = shortened(str(given.get("missing", "")), LONGEST_CAUSE)
    return Count(at, len(each), sum(each.values()), each, missing)


def counted_before(earlier: Counts | None, given: Mapping[str, Any], at: str) -> Counts | None:
    """The counts at the start of a run. The count of an earlier run of the same upgrade is kept, if there is one."""
    if not given or (earlier is not None and not earlier.before.missing):
        return earlier
    return Counts(str(given["things"]), str(given["parts"]), count_of(given, at))


def counted_after(counts: Counts | None, given: Mapping[str, Any], at: str) -> Counts | None:
    """The counts when the upgrade is completed. Single parts are kept if they are few, or have lost things."""
    if counts is None or not given:
        return counts
    after = count_of(given, at)
    known = not after.missing and not counts.before.missing and len(counts.before.each) == counts.before.parts
    lost = _fewer(counts.before, after) if known else []
    kept = {*lost[:MOST_PARTS]}
    if max(counts.before.parts, after.parts) <= MOST_PARTS:
        kept = {*counts.before.each, *after.each}
    fewer = len(lost) if known else None
    return replace(counts, before=_only(counts.before, kept), after=_only(after, kept), fewer=fewer)


def without_parts(counts: Counts | None) -> Counts | None:
    """The sums alone."""
    if counts is None:
        return None
    after = counts.after and _only(counts.after, set())
    return replace(counts, before=_only(counts.before, set()), after=after)


def compared(counts: Counts | None) -> ComparedCounts | None:
    """Both counts side by side."""
    if counts is None:
        return None
    before, after = counts.before.each, counts.after.each if counts.after else {}
    parts = ((name, before.get(name), after.get(name)) for name in sorted({*before, *after}))
    judged = counts.after is not None and not counts.after.missing and not counts.before.missing
    rows = [Row(name, was, now, _note(was, now) if judged else "") for name, was, now in parts]
    shown = rows if judged or len(rows) <= MOST_PARTS else []
    return ComparedCounts(
        counts.things, counts.parts, tuple(_said(counts)), tuple(sorted(shown, key=lambda row: not row.note))
    )


def _fewer(before: Count, after: Count) -> list[str]:
    """The parts that have lost things, those with the largest loss first."""
    losses = {name: things - after.each.get(name, 0) for name, things in before.each.items()}
    lost = [name for name, loss in losses.items() if loss > 0 or name not in after.each]
    return sorted(lost, key=lambda name: (-losses[name], name))


def _only(count: Count, names: set[str]) -> Count:
    return replace(count, each={name: things for name, things in count.each.items() if name in names})


def _said(counts: Counts) -> list[str]:
    before, after = counts.before, counts.after
    if before.missing:
        said = [f"The {counts.things} were not counted before the upgrade. {before.missing}"]
    else:
        said = [f"Before the upgrade {_held(counts, before)}."]
    if after is None:
        return [*said, f"The {counts.things} are counted again when the upgrade is completed."]
    if after.missing:
        return [*said, f"The {counts.things} were not counted after the upgrade. {after.missing}"]
    said.append(f"After the upgrade {_held(counts, after)}.")
    return said if before.missing else [*said, _about_fewer(counts)]


def _held(counts: Counts, count: Count) -> str:
    return f"{count.parts:,} {counts.parts} held {count.things:,} {counts.things} ({count.at})"


def _about_fewer(counts: Counts) -> str:
    if counts.fewer is None:
        return "The single counts were too many to be kept, so only the sums can be compared."
    if not counts.fewer:
        return f"None of these {counts.parts} has fewer {counts.things} than before."
    have = f"{counts.fewer:,} of these {counts.parts} {'has' if counts.fewer == 1 else 'have'}"
    no_verdict = "Deletions by users look the same, so this is a figure and no verdict."
    return f"{have} fewer {counts.things} than before. {no_verdict}"


def _note(before: int | None, after: int | None) -> str:
    if before is None or (after is not None and after >= before):
        return ""
    return FEWER if after is not None else GONE
