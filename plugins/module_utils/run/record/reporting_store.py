"""A store of records that informs others of each record that is written in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .record_keeping import FoundRecords, Kept, News, RecordStore


@dataclass(frozen=True)
class ReportingStore:
    """A store of records. `report` must handle its failures itself, because the record is already written then."""

    below: RecordStore
    report: Callable[[str, Kept], None]

    def read(self, name: str) -> Kept | None:
        """See `RecordStore`."""
        return self.below.read(name)

    def write(self, name: str, text: str, summary: str, over: Kept | None, news: News | None = None) -> None:
        """See `RecordStore`."""
        self.below.write(name, text, summary, over, news)
        self.report(name, Kept(text, name))

    def find(self) -> FoundRecords:
        """See `RecordStore`."""
        return self.below.find()

    def remove(self, name: str, kept: Kept) -> None:
        """See `RecordStore`."""
        self.below.remove(name, kept)
