# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `shard_allocation`: restrict allocation while members are down, and put it back exactly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Refusal, refusal
from ..common.moments import now_text
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Reason, Verdict, remark
from .client import OpenSearchClient, connect
from .observe import cluster_uuid, observe
from .settings import (
    ARCHIVED,
    UNDO,
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
from .state import ShardCopy

ENABLE = "cluster.routing.allocation.enable"

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "state": {"type": "str", "required": True, "choices": ["flushed", "restricted", "restored"]},
        "enable": {"type": "str", "default": "primaries", "choices": ["primaries", "new_primaries", "none"]},
        "flush": {"type": "bool", "default": True},
        "members": {"type": "list", "elements": "str", "default": []},
    },
)

Act = tuple[str, str, Mapping[str, Any]]
"""An action, its target and details, as the journal notes it."""

FLUSH_BY_NAME = 50
"""Up to so many indices are flushed by name; more would make the request line too long, so all are."""


def run(task: Task) -> Outcome:
    """Restrict or restore; the second time nothing changes."""
    client = connect(task.params["opensearch"])
    act = {"flushed": flushed, "restricted": restrict, "restored": restore}[task.params["state"]]
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
    """Make allocation as restricted as asked, with the undo in the same request; before that, flush what restarts."""
    undo = carried_undo(settings)
    if undo is not None:
        _judge_cluster(undo, cluster_uuid(client))
    changes = plan_changes(settings, {ENABLE: task.params["enable"]})
    before = _shown(settings)
    if not changes:
        return Outcome(Verdict(_adopted(undo)), before=before, after=before, next="replace the members")
    if undo is not None:
        raise _in_the_way(undo, settings)
    state = observe(client)
    fresh = Undo(task.run, now_text(), state.uuid, changes)
    removed = removals(settings)
    if not task.check_mode and task.params["flush"]:
        flush(task, client, _indices_on(state.ids(task.params["members"]), state.copies))
    acts = [("set", _name(each), {"value": each.set_to, "was": each.was}) for each in changes]
    _write(task, client, request_of(changes, fresh, back=False, removed=removed), [*acts, *_removing(removed)])
    after = {
        **before,
        **{_name(change): change.set_to for change in changes},
        **{_name(each): None for each in removed},
    }
    return Outcome(Verdict(_removed(removed)), True, before, _there(after), "replace the members")


def restore(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Put back exactly what the carried undo says, where the value is still ours; drop the undo with it."""
    before = _shown(settings)
    undo = carried_undo(settings)
    if undo is None:
        return Outcome(Verdict(), before=before, after=before)
    _judge_cluster(undo, cluster_uuid(client))
    ours, others = split_ours(undo, settings)
    removed = removals(settings)
    acts = [("restored", _name(each), {"value": each.was, "was": each.set_to}) for each in ours]
    _write(task, client, request_of(ours, None, back=True, removed=removed), [*acts, *_removing(removed)])
    after = {**before, **{_name(change): change.was for change in ours}, **{_name(each): None for each in removed}}
    remarks = (*(_left(undo, change, settings) for change in others), *_removed(removed))
    return Outcome(Verdict(remarks), True, before, _there(after))


def _write(task: Task, client: OpenSearchClient, body: Mapping[str, Any], acts: Sequence[Act]) -> None:
    if not task.check_mode:
        task.still_wanted()
    with task.journal.doing(*acts):
        if not task.check_mode:
            client.put("/_cluster/settings", body)


def _name(change: Change) -> str:
    return f"{change.scope} {change.setting}"


def _there(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _in_the_way(undo: Undo, settings: Settings) -> Refusal:
    ours, _others = split_ours(undo, settings)
    if any(change.setting == ENABLE for change in ours):
        return refusal(
            "restricted_otherwise",
            f"Run {undo.run} restricted allocation since {undo.at} in another way, and its undo is still there.",
            "Restore first: shard_allocation with state=restored.",
        )
    return refusal(
        "undo_left",
        f"The cluster carries the undo of run {undo.run} of {undo.at}, which a new change would replace.",
        "Restore first: shard_allocation with state=restored.",
    )


def _judge_cluster(undo: Undo, present: str) -> None:
    if undo.cluster == present:
        return
    raise refusal(
        "undo_of_another_cluster",
        f"The undo that this cluster carries was written by run {undo.run} in the cluster {undo.cluster}, and this is"
        f" {present}: it came with a snapshot, and what it would put back belongs to the other cluster.",
        f"Compare the settings it names with those wanted here, then remove it: set {UNDO} to null.",
    )


def _left(undo: Undo, change: Change, settings: Settings) -> Reason:
    present = settings.scope(change.scope).get(change.setting)
    return remark(
        "changed_by_another",
        f"Run {undo.run} set the {change.scope} setting {change.setting} to {change.set_to!r}, and another has "
        f"{'removed it' if present is None else f'changed it to {present!r}'} since; it is left as it is.",
    )


def _removing(removed: Iterable[Change]) -> list[Act]:
    return [("removed", _name(change), {"was": change.was}) for change in removed]


def _removed(removed: Iterable[Change]) -> tuple[Reason, ...]:
    return tuple(
        remark(
            "archived_setting_removed",
            f"The {change.scope} setting {change.setting.removeprefix(ARCHIVED)} = {change.was!r} is unknown to this"
            " version and was removed: as long as it was there, the server refused every change of settings.",
            "Set what replaces it in this version, if it is still wanted.",
        )
        for change in removed
    )


def flushed(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Flush what will restart, and change nothing."""
    state = observe(client)
    if not task.check_mode:
        flush(task, client, _indices_on(state.ids(task.params["members"]), state.copies))
    shown = _shown(settings)
    return Outcome(Verdict(), before=shown, after=shown, next="restrict allocation")


def flush(task: Task, client: OpenSearchClient, indices: Collection[str]) -> None:
    """Flush the indices with shards on the batch, so that they start without replaying the translog."""
    if not indices:
        return
    task.still_wanted()
    target = ",".join(sorted(indices)) if len(indices) <= FLUSH_BY_NAME else "_all"
    client.post(f"/{target}/_flush", expand_wildcards="open,hidden", ignore_unavailable="true")
    task.journal.did("flushed", f"{len(indices)} indices")


def _indices_on(members: frozenset[str], copies: Iterable[ShardCopy]) -> set[str]:
    """The indices with copies on these members, without those of which a copy recovers: their flush would wait."""
    recovering = {copy.index for copy in copies if copy.state == "INITIALIZING"}
    return {copy.index for copy in copies if copy.member in members} - recovering


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
