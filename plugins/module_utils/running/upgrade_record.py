# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `upgrade_record`: what was planned and how far it came."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..common.arguments import CONNECTIONS, RECORD, WAIT
from ..common.errors import Denied, Refusal, Unreachable, refusal
from ..common.moments import now_seconds, now_text
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, combine, remark
from ..engine.lock import Lock
from ..engine.lock_watch import life_of
from ..engine.pace import duration_text, seconds_left
from ..engine.phases import ENDINGS, Event
from ..engine.record import BATCH_STATES, Record, batch_changed, begun, ended
from ..engine.record_files import Files
from ..engine.record_keeping import Nowhere, RecordStore, change_record, read_records, unreadable
from ..kubernetes.client import connect
from ..kubernetes.lease import list_locks
from ..kubernetes.record_store import ConfigMaps
from .upgrade_lock import who

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **RECORD,
        **WAIT,
        "namespace": {"type": "str"},
        "wait_timeout": {"type": "int", "default": 300},
        "state": {"type": "str", "default": "read", "choices": ["read", "begun", "batch", "ended"]},
        "plan": {"type": "dict"},
        "batch": {"type": "str"},
        "batch_state": {"type": "str", "choices": [each for each in BATCH_STATES if each != "pending"]},
        "results": {"type": "list", "elements": "dict", "default": []},
        "waited": {"type": "list", "elements": "dict", "default": []},
        "event": {"type": "str", "choices": [each.value for each in ENDINGS]},
        "summary": {"type": "str", "default": ""},
        "deadline": {"type": "int", "default": 0},
    },
    required_if=[
        ("record_kept_in", "kubernetes", ("namespace",)),
        ("state", "begun", ("plan",)),
        ("state", "batch", ("batch", "batch_state")),
        ("state", "ended", ("event",)),
    ],
)

OF_THE_RECORD = ("kubernetes_", "phase_", "record_")
"""The beginnings of the codes of causes that keep a record from being written, and no upgrade from going on."""


def run(task: Task) -> Outcome:
    """Read all records of the place, or write a transition into that of the run."""
    store = store_of(task.params)
    step = _read if task.params["state"] == "read" else _write
    try:
        outcome, _verdict = task.wait(lambda: step(task, store), lambda done: done.verdict)
    except Refusal as error:
        if task.params["state"] == "read" or (isinstance(error, Unreachable) and not task.params["wait"]):
            raise
        return Outcome(_unwritten(error), bool(task.journal.as_result()), more={"record": {}, "at": now_seconds()})
    return outcome


def store_of(params: Mapping[str, Any]) -> RecordStore:
    """The store in which the records of these arguments are kept. No request is made yet.

    Raises:
        Refusal: the connection options cannot be used.
    """
    kept_in = params["record_kept_in"] or ("kubernetes" if params["namespace"] else "file")
    if kept_in == "none":
        return Nowhere()
    if kept_in == "file":
        # A task that names a namespace is shown its records alone, as it is when they are kept there.
        return Files(Path(os.path.expanduser(params["record_path"]), params["namespace"] or ""))
    return ConfigMaps(connect(params["kubernetes"]), params["namespace"])


def _unwritten(error: Refusal) -> Verdict:
    """No upgrade needs its record: what kept it from being written is a remark.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    cause = error.verdict.reasons[0]
    if not cause.code.startswith(OF_THE_RECORD):
        raise error
    return Verdict((remark("record_not_written", f"The record was not written. {cause.message}", cause.remedy),))


def _read(task: Task, store: RecordStore) -> Outcome:
    records, broken = read_records(store)
    locks, denied = _locks(task.params)
    shown = [
        {"name": name, **records[name].as_result(), "lock": _holder(locks.get(name))}
        for name in sorted(records, key=lambda name: records[name].updated)
    ]
    unrecorded = [{"name": name, "lock": _holder(lock)} for name, lock in sorted(locks.items()) if name not in records]
    return Outcome(combine((denied, broken)), more={"records": shown + unrecorded})


def _locks(params: Mapping[str, Any]) -> tuple[dict[str, Lock], Verdict]:
    """The locks of the namespace, if there is one; runs that keep theirs elsewhere need no right to see any."""
    if not params["namespace"]:
        return {}, Verdict()
    try:
        return list_locks(connect(params["kubernetes"]), params["namespace"]), Verdict()
    except Denied as error:
        said = "It is not known whether a run is at work: the lock in the namespace cannot be read."
        remedies = " ".join(reason.remedy for reason in error.verdict.reasons)
        return {}, Verdict(
            (remark("lock_not_seen", said, f"{remedies} A lock kept in OpenSearch needs no such right."),)
        )


def _holder(lock: Lock | None) -> dict[str, Any] | None:
    if lock is None or not lock.run:
        return None
    names = ("run", "who", "since", "renewed", "seconds", "doing", "stop")
    return {**{name: getattr(lock, name) for name in names}, "processes": life_of(lock).value}


def _write(task: Task, store: RecordStore) -> Outcome:
    params, at = task.params, now_seconds()
    if params["state"] == "batch" and params["batch_state"] == "upgrading" and 0 < params["deadline"] <= at:
        raise refusal(
            "run_time_over",
            f"The time of the run is over, so batch {params['batch']} is not begun.",
            "Run again to go on: finished members are left alone. The limit is upgrade_run_timeout.",
        )
    if isinstance(store, Nowhere):
        return Outcome(Verdict(), more={"record": {}, "at": at})
    if not params["lock"]:
        raise refusal(
            "lock_missing",
            "A record is written by a run, and this task has no lock of one.",
            "Give the option lock, or keep no record (record_kept_in=none).",
        )
    try:
        before, after = change_record(task, store, params["lock"]["name"], _change(task))
    except Refusal as error:
        # It is never needed, and what a person might want to see is not written over.
        return Outcome(Verdict(unreadable(error)), more={"record": {}, "at": at})
    if after is not None and params["batch_state"] == "done":
        task.progress(_how_far(after))
    shown = [each.as_result() if each is not None else {} for each in (before, after)]
    return Outcome(_missing(task, after), before != after, shown[0], shown[1], more={"record": shown[1], "at": at})


def _how_far(record: Record) -> str:
    done = sum(batch.state == "done" for batch in record.batches)
    left = seconds_left(record)
    to_go = f", about {duration_text(left)} to go" if left else ""
    return f"{done} of {len(record.batches)} batches done{to_go}"


def _missing(task: Task, record: Record | None) -> Verdict:
    batch = task.params["batch"]
    if task.params["state"] != "batch" or (record is not None and any(each.name == batch for each in record.batches)):
        return Verdict()
    said = f"There is no record of batch {batch} of run {task.run}, so nothing was noted."
    return Verdict((remark("record_missing", said, "Something removed it; the upgrade does not need it."),))


def _change(task: Task) -> Callable[[Record | None], Record | None]:
    params, at = task.params, now_text()
    if params["state"] == "begun":
        return lambda previous: begun(previous, params["plan"], task.run, who(), at)
    if params["state"] == "batch":
        how = (params["batch_state"], at, params["results"], params["waited"], params["summary"])
        return lambda record: batch_changed(record, params["batch"], *how)
    return lambda record: ended(record, Event(params["event"]), params["summary"], at)
