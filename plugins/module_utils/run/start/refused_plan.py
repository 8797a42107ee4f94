"""A run whose plan is refused: the codes of its reasons are figures, and its record has the condition `Validation`.

No lock is taken for that, so the record is written only if it is still the version that was read. One of an upgrade
that was scheduled or started stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...common.errors import Refusal
from ...common.task import Task
from ...common.timestamps import now_text
from ...common.verdict import State, Verdict
from ...common.words import unique
from ..lock.held_lock import who
from ..lock.lock import name_for
from ..record.answers import reporting
from ..record.kept_in import store_of
from ..record.measures import measures_of, measures_of_codes
from ..record.metrics import publisher_of
from ..record.phases import Phase
from ..record.record import Record, planned_record
from ..record.record_keeping import Nowhere, change_record


def note_outcome(
    task: Task, plan: Mapping[str, Any], verdict: Verdict, records: Sequence[Record], *, recorded: bool
) -> None:
    """Note that the plan of a run is refused, or that there is nothing to do. Nothing fails if that cannot be noted.

    `records` are those of its cluster. If it has none of an upgrade that was scheduled or started, one is made where
    that is wanted (`recorded`). A request has its own answer.
    """
    is_refused, codes = verdict.state is State.REFUSED, _codes(verdict)
    if is_refused and recorded and not task.params["request"] and all(map(_is_new, records)):
        with suppress(Refusal):
            _record(task, plan, verdict, codes)
    elif is_refused or not plan["batches"]:
        _publish(task, plan["cluster_uuid"], codes, records)


def publish_raised(task: Task, cluster: str, verdict: Verdict, records: Sequence[Record]) -> None:
    """Publish the codes of a refusal for which there is no plan. `records` are those of its cluster."""
    _publish(task, cluster, _codes(verdict), records)


def _is_new(record: Record) -> bool:
    return record.phase is Phase.NEW


def _codes(verdict: Verdict) -> list[str]:
    return unique(each.code for each in verdict.reasons if each.state is State.REFUSED)


def _publish(task: Task, cluster: str, codes: Sequence[str], records: Sequence[Record]) -> None:
    """Publish the figures of the upgrade of a cluster, with these codes as those with which its last run ended."""
    publish, last = publisher_of(task), records[-1] if records else None
    if publish is not None and not task.check_mode:
        known = measures_of(replace(last, codes=tuple(codes))) if last is not None else measures_of_codes(codes)
        publish(name_for(cluster), lambda: known)


def _record(task: Task, plan: Mapping[str, Any], verdict: Verdict, codes: Sequence[str]) -> None:
    said, at = " ".join(each.message for each in verdict.deciding()), now_text()
    store = reporting(task, store_of(task.params))

    def change(found: Record | None) -> Record | None:
        if found is not None and not _is_new(found):
            return None
        return replace(planned_record(found, None, plan, "", who(), at), reason=said, codes=tuple(codes))

    if not isinstance(store, Nowhere):
        change_record(task, store, name_for(plan["cluster_uuid"]), change)
