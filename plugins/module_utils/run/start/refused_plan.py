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
from ..record.record_keeping import Nowhere, change_record, read_records


def note_outcome(
    task: Task, plan: Mapping[str, Any], verdict: Verdict, records: Sequence[Record], *, recorded: bool
) -> None:
    """Note that the plan of a run is refused, or that there is nothing to do. Nothing fails if that cannot be noted.

    `records` are those of its cluster. If it has none of an upgrade that was scheduled or started, one is made where
    that is wanted (`recorded`). A request has its own answer.
    """
    if verdict.state is not State.REFUSED:
        if not plan["batches"]:
            publish_not_begun(task, plan["cluster_uuid"], ())
    elif recorded and not task.params["request"] and all(map(_is_new, records)):
        with suppress(Refusal):
            _record(task, plan, verdict)


def publish_not_begun(task: Task, cluster: str, codes: Sequence[str] | None) -> None:
    """Publish the figures of the upgrade of a cluster whose run has not begun, for reasons with these codes.

    Without codes, they are those of its record, and stay as they are if that cannot be read. If the cluster has not
    said which one it is (`cluster` is empty), it is the only one with records in the place. Nothing fails if the
    figures cannot be published.
    """
    publish = publisher_of(task)
    if publish is None or task.check_mode:
        return
    found, unread = _records(task)
    if codes is None and unread.reasons:
        return
    known = {cluster or each.cluster for each in found} or {cluster}
    if len(known) > 1 or "" in known:
        return
    (cluster,) = known
    last = next((each for each in reversed(found) if each.cluster == cluster), None)
    if last is None:
        measures = measures_of_codes(codes or ())
    else:
        measures = measures_of(last if codes is None else replace(last, codes=tuple(codes)))
    publish(name_for(cluster), lambda: measures)


def _records(task: Task) -> tuple[list[Record], Verdict]:
    """The records of the place, and why some of them, or all, cannot be read."""
    try:
        found, unread = read_records(store_of(task.params))
    except Refusal as error:
        return [], error.verdict
    return [*found.values()], unread


def _is_new(record: Record) -> bool:
    return record.phase is Phase.NEW


def _record(task: Task, plan: Mapping[str, Any], verdict: Verdict) -> None:
    codes = unique(each.code for each in verdict.reasons if each.state is State.REFUSED)
    said, at = " ".join(each.message for each in verdict.deciding()), now_text()
    store = reporting(task, store_of(task.params))

    def change(found: Record | None) -> Record | None:
        if found is not None and not _is_new(found):
            return None
        return replace(planned_record(found, None, plan, "", who(), at), reason=said, codes=tuple(codes))

    if not isinstance(store, Nowhere):
        change_record(task, store, name_for(plan["cluster_uuid"]), change)
