# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `shard_allocation`: restrict allocation while members are down, and put it back exactly."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from typing import Any

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import refusal
from ..common.task import Contract, Journal, Outcome, Task
from ..common.verdict import Reason, Verdict, remark
from .client import OpenSearchClient, connect
from .observe import observe
from .settings import (
    ARCHIVED,
    Change,
    Settings,
    Undo,
    carried_undo,
    parse_settings,
    plan_changes,
    removals,
    request_of,
    split_ours,
)

ENABLE = "cluster.routing.allocation.enable"

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "state": {"type": "str", "required": True, "choices": ["restricted", "restored"]},
        "enable": {"type": "str", "default": "primaries", "choices": ["primaries", "new_primaries", "none"]},
        "run": {"type": "str", "default": ""},
        "flush": {"type": "bool", "default": True},
        "members": {"type": "list", "elements": "str", "default": []},
    },
)

FLUSH_BY_NAME = 50
"""Up to so many indices are flushed by name; more would make the request line too long, so all are."""


def run(task: Task) -> Outcome:
    """Restrict or restore; the second time nothing changes."""
    client = connect(task.params["opensearch"])
    act = restore if task.params["state"] == "restored" else restrict
    outcome, _verdict = task.wait(lambda: act(task, client, read_settings(client)), lambda done: done.verdict)
    return outcome


def read_settings(client: OpenSearchClient) -> Settings:
    """Both scopes of the cluster settings, flat."""
    try:
        return parse_settings(client.get("/_cluster/settings", flat_settings="true"))
    except KeyError as error:
        raise refusal(
            "opensearch_not_understood",
            f"The cluster settings of OpenSearch could not be read: {error} is missing.",
            "Check opensearch.hosts: it must name the REST port of the cluster.",
        ) from error


def restrict(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Make allocation as restricted as asked, with the undo in the same request; then flush what will restart."""
    journal = Journal()
    undo = carried_undo(settings)
    wanted = {ENABLE: task.params["enable"]}
    changes = plan_changes(settings, wanted)
    before = _shown(settings)
    if not changes:
        return Outcome(Verdict(_adopted(undo)), before=before, after=before, next="replace the members")
    if undo is not None:
        changes_of_undo, _others = split_ours(undo, settings)
        if any(change.setting == ENABLE for change in changes_of_undo):
            raise refusal(
                "restricted_otherwise",
                f"Run {undo.run} restricted allocation since {undo.at} in another way, and its undo is still there.",
                "Restore first: shard_allocation with state=restored.",
            )
        raise refusal(
            "undo_left",
            f"The cluster carries the undo of run {undo.run} of {undo.at}, which a new change would replace.",
            "Restore first: shard_allocation with state=restored.",
        )
    now = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    state = observe(client)
    fresh = Undo(task.params["run"], now, state.uuid, changes)
    removed = removals(settings)
    if not task.check_mode:
        if task.params["flush"]:
            flush(task, client, _indices_on(state.ids(task.params["members"]), state.copies), journal)
        task.still_wanted()
        client.put("/_cluster/settings", request_of(changes, fresh, back=False, removed=removed))
    for change in changes:
        journal.did("set", f"{change.scope} {change.setting}", value=change.set_to, was=change.was)
    after = dict(before)
    after.update({f"{change.scope} {change.setting}": change.set_to for change in changes})
    return Outcome(Verdict(_removed(removed, after, journal)), True, before, after, journal, "replace the members")


def restore(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Put back exactly what the carried undo says, where the value is still ours; drop the undo with it."""
    journal = Journal()
    before = _shown(settings)
    undo = carried_undo(settings)
    if undo is None:
        return Outcome(Verdict(), before=before, after=before)
    ours, others = split_ours(undo, settings)
    removed = removals(settings)
    if not task.check_mode:
        task.still_wanted()
        client.put("/_cluster/settings", request_of(ours, None, back=True, removed=removed))
    after = dict(before)
    for change in ours:
        journal.did("restored", f"{change.scope} {change.setting}", value=change.was, was=change.set_to)
        after[f"{change.scope} {change.setting}"] = change.was
    remarks = tuple(
        remark(
            "changed_by_another",
            f"The {change.scope} setting {change.setting} was set to {change.set_to!r} by this run and has been changed"
            " by another since; it is left as it is.",
        )
        for change in others
    )
    remarks += _removed(removed, after, journal)
    after = {name: value for name, value in after.items() if value is not None}
    return Outcome(Verdict(remarks), True, before, after, journal)


def _removed(removed: Collection[Change], after: dict[str, Any], journal: Journal) -> tuple[Reason, ...]:
    for change in removed:
        after.pop(f"{change.scope} {change.setting}", None)
        journal.did("removed", f"{change.scope} {change.setting}", was=change.was)
    return tuple(
        remark(
            "archived_setting_removed",
            f"The {change.scope} setting {change.setting.removeprefix(ARCHIVED)} = {change.was!r} is unknown to this"
            " version and was removed: as long as it was there, the server refused every change of settings.",
            "Set what replaces it in this version, if it is still wanted.",
        )
        for change in removed
    )


def flush(task: Task, client: OpenSearchClient, indices: Collection[str], journal: Journal) -> None:
    """Flush the indices with shards on the batch, so that they start without replaying the translog."""
    if not indices:
        return
    task.still_wanted()
    target = ",".join(sorted(indices)) if len(indices) <= FLUSH_BY_NAME else "_all"
    client.post(f"/{target}/_flush", expand_wildcards="open,hidden", ignore_unavailable="true")
    journal.did("flushed", f"{len(indices)} indices")


def _indices_on(members: frozenset[str], copies: Any) -> set[str]:
    return {copy.index for copy in copies if copy.member in members}


def _shown(settings: Settings) -> Mapping[str, Any]:
    """The settings this module is about, by scope and name."""
    return {
        f"{scope} {name}": value
        for scope in ("persistent", "transient")
        for name, value in settings.scope(scope).items()
        if name.startswith(("cluster.routing.", ARCHIVED))
    }


def _adopted(undo: Undo | None) -> tuple[Reason, ...]:
    if undo is None:
        return ()
    return (remark("undo_adopted", f"Run {undo.run} restricted allocation at {undo.at}; its undo stays in force."),)
