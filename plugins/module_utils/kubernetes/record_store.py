# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record as a ConfigMap in the namespace of the pods; written only over the version that was read."""

from __future__ import annotations

from collections.abc import Callable

from ..common.conflicts import until_unchanged
from ..common.errors import Refusal
from ..common.reading import part, text, within
from ..common.task import Task
from ..common.verdict import Reason, Verdict, remark
from ..engine.record import Record, parse_record
from ..engine.size import record_text
from .answers import reading_object
from .client import Json, KubernetesClient
from .lease import MANAGED_BY, list_managed
from .paths import CORE, in_namespace

KEY = "record.json"
ATTEMPTS = 10
"""Conflicts in a row before a change is given up. Hardly anybody else writes the record, so they are no accident."""


def list_records(client: KubernetesClient, namespace: str) -> dict[str, Record]:
    """All records of a namespace that can be read, by the name of their ConfigMap."""
    return read_records(client, namespace)[0]


def read_records(client: KubernetesClient, namespace: str) -> tuple[dict[str, Record], Verdict]:
    """The same, and a remark for each record that cannot be read, since it holds only history."""
    records: dict[str, Record] = {}
    remarks: list[Reason] = []
    for item in list_managed(client, _path(namespace)):
        with reading_object("ConfigMap", item):
            name, there = _name_of(item), KEY in part(item, "data", {})
        if not there:
            continue
        try:
            records[name] = record_of(item)
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


def _name_of(item: Json) -> str:
    return within(item, "metadata", lambda metadata: text(metadata, "name"))


def change_record(
    task: Task, client: KubernetesClient, namespace: str, name: str, change: Callable[[Record | None], Record | None]
) -> tuple[Record | None, Record | None]:
    """The record before and after a pure change; a change that gives None leaves it alone.

    If another has written it meanwhile, it is read and changed again. In check mode nothing is written.

    Raises:
        Refusal: the record cannot be read or written.
    """

    def attempt() -> tuple[Record | None, Record | None]:
        item = client.get(_path(namespace, name))
        before = record_of(item) if item is not None else None
        after = change(before)
        if after is None or after == before:
            return before, before
        if not task.check_mode:
            task.still_wanted()
        with task.journal.doing(("write_record", name, {"phase": after.phase.value})):
            if not task.check_mode:
                _write(client, namespace, name, item, after)
        return before, after

    return until_unchanged(attempt, ATTEMPTS)


def record_of(item: Json) -> Record:
    """The record that a ConfigMap holds."""
    with reading_object("ConfigMap", item):
        kept, name = within(item, "data", lambda data: text(data, KEY, ""), {}), _name_of(item)
    return parse_record(kept, f"ConfigMap {name}")


def _write(client: KubernetesClient, namespace: str, name: str, over: Json | None, record: Record) -> None:
    summary = f"{record.phase.value}: to {record.target_version}, updated {record.updated}"
    body: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": dict(MANAGED_BY)},
        "data": {"summary": summary, KEY: record_text(record)},
    }
    if over is None:
        client.post(_path(namespace), body)
        return
    body["metadata"]["resourceVersion"] = over["metadata"]["resourceVersion"]
    client.patch(_path(namespace, name), body, "merge")


def _path(namespace: str, name: str = "") -> str:
    return in_namespace(CORE, namespace, "configmaps", name)
