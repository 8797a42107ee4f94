# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of requests that were withdrawn are removed after a time, since nobody asks for them any more."""

from __future__ import annotations

from datetime import datetime, timedelta

from ...common.attempts import until_unchanged
from ...common.moments import moment_of, utc_now
from ...common.task import Outcome, Task
from ...common.verdict import Verdict
from .phases import Phase
from .record import Record
from .record_keeping import ATTEMPTS, RecordStore, readable

OVER = (Phase.COMPLETED, Phase.FAILED, Phase.ABORTED)


def is_kept_no_longer(record: Record, source: str, days: int, now: datetime) -> bool:
    """Whether a record is of the request of this source, not under way, and unchanged for so many days."""
    over = record.phase in OVER or (record.phase is Phase.PENDING and not record.run)
    of_it = record.request is not None and record.request.source == source
    return of_it and over and moment_of(record.updated) + timedelta(days=days) <= now


def remove_records(task: Task, store: RecordStore) -> Outcome:
    """Remove the records of a withdrawn request that are old enough. One that cannot be read is left alone.

    Raises:
        Refusal: a record cannot be removed.
    """
    source, days = task.params["request"], task.params["retention"]

    def attempt() -> list[str]:
        found = store.find()
        records, _remarks = readable(found)
        going = [name for name, one in records.items() if is_kept_no_longer(one, source, days, utc_now())]
        for name in going:
            with task.journal.doing(("removed_record", name, {"request": source})):
                if not task.check_mode:
                    task.still_wanted()
                    store.remove(name, found.kept[name])
        return sorted(going)

    removed = task.ask(lambda: until_unchanged(attempt, ATTEMPTS))
    return Outcome(Verdict(), bool(removed), before={"records": removed}, after={"records": []})
