"""What people decide in an upgrade under way: they pause it, or approve that it continues at named points. Pure.

Only these are written into a record without the lock. Each batch checks them when it starts, together with the end of
the window, so they bind every run of the upgrade; a pause also ends the wait at its gate (`pausable.py`). The points
are in the record from the start of a run, so that only a point that is waited for can be approved. No run waits for a
person, because its settings would stay in force all that time: it ends Paused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few, shortened
from ..record.phases import Phase

PAUSE = "upgrade.stateful/pause"
"""The annotation of a record that pauses its upgrade. Its value is the reason."""
APPROVED = "upgrade.stateful/approved"
"""The annotation of a record with the names of approved points, separated by commas."""
PAUSED = "paused_on_request"
"""The code of a pause that a person has asked for."""
MISSING = "approval_missing"
"""The code of a point that has to be approved."""
LONGEST = 500
"""Characters of a reason that are kept."""


@dataclass(frozen=True)
class Hold:
    """A pause that a person has asked for."""

    by: str
    at: str
    reason: str


@dataclass(frozen=True)
class Approval:
    """The approval of a point."""

    name: str
    by: str
    at: str
    place: str = ""
    """The place of the point then; empty in a record that was written before it was kept."""

    def is_of(self, point: Point) -> bool:
        """Whether it is the approval of this point, and not of one of the same name at another place."""
        return self.name == point.name and self.place in ("", point.place)


@dataclass(frozen=True)
class Point:
    """A point between batches at which a person must approve that the upgrade continues."""

    name: str
    after: int
    """The number of batches that are done then."""

    @property
    def place(self) -> str:
        """Its place in the upgrade, for people."""
        return f"after {self.after} {'batch' if self.after == 1 else 'batches'}"

    def __str__(self) -> str:
        """The point for people."""
        return f"{self.name} ({self.place})"


def points_in(given: Sequence[Mapping[str, Any]]) -> list[Point]:
    """The points of the variable, whose numbers were checked before."""
    return [Point(str(each["name"]), int(each["after"])) for each in given]


def unapproved(points: Sequence[Point], approvals: Sequence[Approval]) -> list[Point]:
    """The points that no one has approved at their place."""
    return [point for point in points if not any(each.is_of(point) for each in approvals)]


def faults_of_points(given: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One sentence for each fault that a check of types does not find."""
    names = [str(each.get("name")) for each in given]
    for number, name in enumerate(names):
        if "," in name or name != name.strip():
            yield f"upgrade_approvals[{number}] has the name '{name}': give one without commas and blanks around it."
        if name in names[:number]:
            yield f"upgrade_approvals[{number}] has the name of another point, {name}: give each its own."


def digest_text(covered: object) -> str:
    """The digest of all that consent covers: a p, so that YAML never reads a number, and eleven hexadecimal digits.

    `covered` is plain data, which stays the same while the plan is carried out.
    """
    return f"p{hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()[:11]}"


def covered(digest: str, points: Sequence[Point]) -> str:
    """The digest of a plan that stops at these points: consent to it does not allow a run without them."""
    if not points:
        return digest
    stops = sorted((each.name, each.after) for each in points)
    return digest_text([digest, stops])


def annotated(annotations: Mapping[str, str]) -> list[str]:
    """The names of the points that the annotations of a record approve."""
    names = (name.strip() for name in annotations.get(APPROVED, "").split(","))
    return [name for name in dict.fromkeys(names) if name]


def with_annotations(
    hold: Hold | None,
    approvals: Sequence[Approval],
    annotations: Mapping[str, str],
    at: str,
    points: Sequence[Point],
) -> tuple[Hold | None, tuple[Approval, ...]]:
    """The pause and the approvals of a record, including those of its annotations for these points.

    An annotation stays where it is, so it counts once for each name: for a point that moves, it says nothing new.
    """
    if hold is None and PAUSE in annotations:
        hold = Hold(f"the annotation {PAUSE}", at, shortened(annotations[PAUSE], LONGEST))
    by, names = f"the annotation {APPROVED}", annotated(annotations)
    known = {each.name for each in approvals if each.by == by}
    due = (each for each in points if each.name not in known and not any(one.is_of(each) for one in approvals))
    fresh = (Approval(each.name, by, at, each.place) for each in due if each.name in names)
    return hold, (*approvals, *fresh)


@as_verdict
def judge_hold(hold: Hold | None) -> Iterator[Reason]:
    """Whether no one has paused the upgrade."""
    if hold is not None:
        why = f": {hold.reason.rstrip('.')}" if hold.reason else ""
        yield waiting(
            PAUSED,
            f"The upgrade has been paused by {hold.by} since {hold.at}{why}.",
            f"Resume it with the playbook resume, or remove the annotation {PAUSE} of its record.",
        )


@as_verdict
def judge_aborted(phase: Phase, target: str, reason: str, at: str) -> Iterator[Reason]:
    """Whether no one has aborted the upgrade to this target. `reason` and `at` are those of its record."""
    if phase is Phase.ABORTED:
        yield waiting(
            "aborted_on_request",
            f"The upgrade to {target} was aborted at {at}: {reason.rstrip('.')}.",
            "No run continues it until it is resumed: run the playbook resume, then run again.",
        )


@as_verdict
def judge_reached(points: Sequence[Point], batches: int) -> Iterator[Reason]:
    """A remark on each point at which an upgrade of so many batches never stops, since no batch starts after it."""
    for point in points:
        if batches and point.after >= batches:
            yield remark(
                "approval_not_reached",
                f"The upgrade never stops for the approval {point}: of its {batches} batches, none starts then.",
                "Give a smaller number (upgrade_approvals), or leave it out.",
            )


@as_verdict
def judge_approval(name: str, points: Sequence[Point], done: int) -> Iterator[Reason]:
    """Whether the upgrade waits for the approval of this name after so many batches are `done`."""
    point = next((each for each in points if each.name == name), None)
    if point is None:
        yield refused(
            "approval_unknown",
            f"The upgrade has no point {name} to approve."
            f" {f'Its points: {enumerate_few([str(each) for each in points])}.' if points else 'It has none at all.'}",
            "Name the point as the playbook status shows it (upgrade_approval).",
        )
    elif done < point.after:
        yield refused(
            "approval_too_early",
            f"The upgrade does not wait for the approval {point} yet: batches done: {done}.",
            "Approve it once the upgrade waits for it, as the playbook status shows it.",
        )


@as_verdict
def judge_points(
    points: Sequence[Point], approvals: Sequence[Approval] | None, done: int, unknown: Collection[str] = ()
) -> Iterator[Reason]:
    """Whether each point reached after so many `done` batches is approved. `approvals` is None without a record.

    `unknown` are names that an annotation approves, but no point has.
    """
    if points and approvals is None:
        yield refused(
            "approval_without_record",
            "The upgrade has points to approve, but no record to keep the approvals in.",
            "Keep a record that can be read and written (upgrade_record_kept_in), or leave out upgrade_approvals.",
        )
        return
    also = f" The annotation {APPROVED} names {enumerate_few(unknown)}, but there is no such point." if unknown else ""
    for point in points:
        if done >= point.after and not any(each.is_of(point) for each in approvals or ()):
            yield waiting(
                MISSING,
                f"The upgrade waits for the approval {point.name} (batches done: {done}).{also}",
                f"Approve it with the playbook approve and upgrade_approval={point.name}, then run again.",
                about=point.name,
            )
