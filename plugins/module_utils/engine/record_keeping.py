# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and changing a record in any store. It is written only over the version that was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..common.conflicts import until_unchanged
from ..common.errors import Refusal
from ..common.task import Task
from ..common.verdict import Reason, Verdict, remark
from .record import Record, parse_record
from .size import record_text

ATTEMPTS = 10
"""Conflicts in a row before a change is given up. Hardly anybody else writes the record, so they are no accident."""

Change = Callable[["Record | None"], "Record | None"]


@dataclass(frozen=True)
class Kept:
    """A record as it was found."""

    text: str
    where: str
    """The place, for people, such as the name of a ConfigMap."""
    version: str = ""
    """The version that guards a write: only this one is replaced."""


@dataclass(frozen=True)
class Found:
    """The records of a place by their names, and a remark for each that cannot be opened."""

    kept: Mapping[str, Kept] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=Verdict)


class RecordStore(Protocol):
    """The store of records."""

    @property
    def most(self) -> int:
        """The most bytes of a record."""

    def read(self, name: str) -> Kept | None:
        """The record of this name now, or None if there is none."""

    def write(self, name: str, text: str, summary: str, over: Kept | None) -> None:
        """Keep the text in place of the record that was read; `summary` is for people who look at the place.

        Raises:
            Conflict: the record is no longer the one that was read.
        """

    def find(self) -> Found:
        """All records of the place."""


class Nowhere:
    """No record is kept."""

    most = 0

    def read(self, name: str) -> Kept | None:
        """Never any."""

    def write(self, name: str, text: str, summary: str, over: Kept | None) -> None:
        """Nothing is kept."""

    def find(self) -> Found:
        """Never any."""
        return Found()


def read_records(store: RecordStore) -> tuple[dict[str, Record], Verdict]:
    """All records of a place by their names, and a remark for each that cannot be read, since it holds only history."""
    found, records = store.find(), dict[str, Record]()
    remarks = list(found.verdict.reasons)
    for name, kept in found.kept.items():
        try:
            records[name] = parse_record(kept.text, kept.where)
        except Refusal as error:
            remarks += unreadable(error)
    return records, Verdict(tuple(remarks))


def unreadable(error: Refusal) -> tuple[Reason, ...]:
    """The remarks about a record that cannot be read.

    Raises:
        Refusal: something else failed.
    """
    if any(reason.code != "record_not_readable" for reason in error.verdict.reasons):
        raise error
    return tuple(remark("record_not_readable", each.message, each.remedy) for each in error.verdict.reasons)


def change_record(task: Task, store: RecordStore, name: str, change: Change) -> tuple[Record | None, Record | None]:
    """The record before and after a pure change; a change that gives None leaves it alone.

    If another has written it meanwhile, it is read and changed again. In check mode nothing is written.

    Raises:
        Refusal: the record cannot be read or written.
    """

    def attempt() -> tuple[Record | None, Record | None]:
        kept = store.read(name)
        before = parse_record(kept.text, kept.where) if kept is not None else None
        after = change(before)
        if after is None or after == before:
            return before, before
        if not task.check_mode:
            task.still_wanted()
        with task.journal.doing(("write_record", name, {"phase": after.phase.value})):
            if not task.check_mode:
                store.write(name, record_text(after, store.most), _summary(after), kept)
        return before, after

    return until_unchanged(attempt, ATTEMPTS)


def _summary(record: Record) -> str:
    return f"{record.phase.value}: to {record.target_version}, updated {record.updated}"
