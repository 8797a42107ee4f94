"""A new request of an owner: the upgrade of another one for the same owner is aborted first, even if this is declined.

It is noted in the record, where the run of the other request looks before each batch. No lock is needed for that.
"""

from __future__ import annotations

from ...common.errors import Refusal
from ...common.task import Task
from ...common.timestamps import now_text
from ..lock.held_lock import who
from ..lock.lock import name_for
from ..record.kept_in import store_of
from ..record.phases import Phase
from ..record.record import Record
from ..record.record_keeping import Nowhere, change_record, unreadable
from ..record.requests import newly_requested, replaced_by
from .request import Request, Requested

NO_RUN = "none"
"""The name of the run that is stopped where the other request had none."""


def claim_owner(task: Task, found: Request, where: str, *, acts: bool) -> str:
    """The run that the request is to replace; empty if none. If it `acts`, the upgrade of that run is asked to abort.

    Raises:
        Refusal: the record cannot be had or written.
    """
    store, asked = store_of(task.params), Requested(task.params["source"], found.digest, found.owner)
    if isinstance(store, Nowhere):
        return ""
    name = name_for(found.cluster)
    try:
        kept = task.ask(lambda: store.read(name))
        record = kept.record() if kept is not None else None
    except Refusal as error:
        # The plan names a record that cannot be read. It holds up no upgrade.
        unreadable(error)
        return ""
    if record is None or not _replaces(asked, record):
        return ""

    def change(now: Record | None) -> Record | None:
        return now and now.with_events(*newly_requested(now.events, asked, now_text(), who()))

    if acts and record.request is not None:
        change_record(task, store, name, change, kept)
        if record.phase is not Phase.ABORTED:
            task.voice.show(f"{record.request.source} is asked to abort, since {where} has the same owner.")
    return record.run or NO_RUN


def _replaces(asked: Requested, record: Record) -> bool:
    """Whether the upgrade of this record is that of another request for the same owner, and not completed."""
    other = record.request
    if other is None or record.phase is Phase.COMPLETED or replaced_by(record.events, asked) is not None:
        return False
    return other.owner == asked.owner and other.source != asked.source
