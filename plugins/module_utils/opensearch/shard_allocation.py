# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `shard_allocation`: what of allocation and recovery is changed for an upgrade, and put back.

Some changes are for a batch (the restriction, the exclusion of what is drained), some for the whole run (limits of
recoveries, rebalancing). One undo in the cluster carries both; it is only ever extended by the run that wrote it, and
rewritten in the request that puts a part of it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Refusal, refusal
from ..common.moments import now_text
from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..common.verdict import Reason, State, Verdict, combine, remark
from ..common.words import enumerate_few
from .client import OpenSearchClient, connect
from .delay import DELAY, choose
from .drain import explain_moves, judge_drained, judge_room, left_on, standing_still
from .flush import flush, indices_on
from .observe import cluster_uuid, observe
from .settings import (
    ARCHIVED,
    EXCLUDE,
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
    with_names,
)
from .state import ClusterState
from .voting import refused_by_server, take_back

ENABLE = "cluster.routing.allocation.enable"
RECOVERIES = "cluster.routing.allocation.node_concurrent_recoveries"
DEFAULT_RECOVERIES = 2
"""The servers' own (server source, ThrottlingAllocationDecider)."""
OF_RUN = {
    RECOVERIES: "recoveries",
    "indices.recovery.max_bytes_per_sec": "recovery_bytes",
    "cluster.routing.rebalance.enable": "rebalance",
}
"""What is set for a whole run, each with the option that gives its value; everything else is set for a batch."""
UNCHANGED = "unchanged"

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "state": {
            "type": "str",
            "required": True,
            "choices": ["prepared", "restricted", "drained", "undrained", "restored"],
        },
        "enable": {"type": "str", "default": "primaries", "choices": ["primaries", "new_primaries", "none"]},
        "method": {"type": "str", "default": "restrict", "choices": ["restrict", "delay", "auto"]},
        "delay": {"type": "str", "default": "1h"},
        "recoveries": {"type": "int"},
        "recovery_bytes": {"type": "str"},
        "rebalance": {"type": "str", "default": UNCHANGED, "choices": [UNCHANGED, "none"]},
        "part": {"type": "str", "default": "all", "choices": ["all", "batch"]},
        "flush": {"type": "bool", "default": True},
        "members": {"type": "list", "elements": "str", "default": []},
        "archived": {"type": "str", "default": "remove", "choices": ["remove", "refuse"]},
    },
    required_if=[("state", "drained", ("members",))],
)

Act = tuple[str, str, Mapping[str, Any]]
"""An action, its target and details, as the journal notes it."""


def run(task: Task) -> Outcome:
    """Do what the state asks for; the second time nothing changes."""
    client = connect(task.params["opensearch"], task.params["kubernetes"])
    acts = {"prepared": prepare, "restricted": restrict, "drained": drain}
    act, seen = acts.get(task.params["state"], restore), list[Outcome]()

    def look() -> Outcome:
        seen.append(act(task, client, read_settings(client)))
        return seen[-1]

    # What moves away takes nothing down, so an abort may end that wait.
    _last, verdict = task.wait(look, lambda done: done.verdict, stoppable=act is drain)
    remarks = Verdict(tuple(reason for reason in seen[0].verdict.reasons if reason.state is State.PASSED))
    return replace(seen[0], verdict=combine((remarks, verdict)), changed=any(done.changed for done in seen))


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
    undo = _undo_here(client, settings)
    method, state, said, delays = task.params["method"], None, Verdict(), False
    if method != "restrict":
        state = observe(client)
        delays, said = choose(state, task.params["delay"], only=method == "delay")
        passed_or_raise(said)
    wanted = {DELAY: task.params["delay"]} if delays else {ENABLE: task.params["enable"]}
    fresh = _fresh(task, settings, undo, wanted)
    before = _shown(settings)
    if not fresh:
        verdict = Verdict((*_adopted(undo, settings, wanted), *said.reasons))
        return Outcome(verdict, before=before, after=before, next="replace the members")
    state = state or observe(client)
    _flush_batch(task, client, state)
    done = _change(task, client, settings, fresh, _extended(task, undo, fresh, state.uuid), "replace the members")
    return replace(done, verdict=Verdict((*done.verdict.reasons, *said.reasons)))


def prepare(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Flush what will restart, and set for the whole run what is given; what another has changed since stays."""
    undo = _undo_here(client, settings)
    before = _shown(settings)
    others = split_ours(undo, settings)[1] if undo else ()
    remarks = tuple(_left(undo, change, settings) for change in others if undo and change.setting in OF_RUN)
    given = {name: task.params[option] for name, option in OF_RUN.items()}
    wanted = {
        name: str(value)
        for name, value in given.items()
        if value not in (None, UNCHANGED, 0)
        and name not in {change.setting for change in others}
        and not (name == RECOVERIES and _recoveries(client, settings) >= int(value))
    }
    fresh = _fresh(task, settings, undo, wanted)
    state = observe(client)
    _flush_batch(task, client, state)
    following = "prove that the batch may go down"
    if not fresh:
        return Outcome(Verdict(remarks), before=before, after=before, next=following)
    done = _change(task, client, settings, fresh, _extended(task, undo, fresh, state.uuid), following)
    return replace(done, verdict=Verdict((*done.verdict.reasons, *remarks)))


def _recoveries(client: OpenSearchClient, settings: Settings) -> int:
    """How many shards a member may recover at a time now: what a cluster setting, its own file or the server says."""
    present = settings.effective(RECOVERIES)
    if present is None:
        path = f"defaults.{RECOVERIES}"
        found: Any = client.get("/_cluster/settings", include_defaults="true", filter_path=path)
        for name in path.split("."):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        present = found or DEFAULT_RECOVERIES
    return int(present) if str(present).isdigit() else DEFAULT_RECOVERIES


def drain(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Exclude the members, where it is shown that all their shards fit elsewhere; then see whether they are empty.

    Members that are not in the cluster hold nothing, nor do those without a data role.
    """
    undo = _undo_here(client, settings)
    _judge_unrestricted(settings)
    state, before = observe(client), _shown(settings)
    there = {member.name for member in state.members.values() if member.holds_data}
    names = [name for name in task.params["members"] if name in there]
    fresh = _fresh(task, settings, undo, {EXCLUDE: with_names(settings.effective(EXCLUDE), names)})
    left, following = left_on(state, names), "prove that the batch may go down"
    if not fresh:
        moves = explain_moves(client, state, left) if standing_still(state) else ()
        verdict, changed = judge_drained(names, left, moves), bool(task.journal.as_result())
        return Outcome(verdict, changed, before, before, following)
    passed_or_raise(judge_room(names, explain_moves(client, state, left)))
    done = _change(task, client, settings, fresh, _extended(task, undo, fresh, state.uuid), following)
    waits = Verdict() if task.check_mode else judge_drained(names, left, ())
    return replace(done, verdict=Verdict((*done.verdict.reasons, *waits.reasons)))


def restore(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Put back exactly what the carried undo says, or a part of it, where the value is still ours; drop it with it."""
    before = _shown(settings)
    undo = _undo_here(client, settings)
    going = tuple(change for change in undo.changes if _is_asked_for(task, change)) if undo else ()
    kept = tuple(change for change in undo.changes if change not in going) if undo else ()
    # Who was to vote no more for a moment votes again with all that is put back, but for a drained member alone.
    voters = undo.excluded if undo and task.params["state"] != "undrained" else ()
    if undo is None or ((kept or undo.excluded) and not going and not voters):
        return Outcome(Verdict(), before=before, after=before)
    strangers, failed = set[str](), None
    if voters:
        # That they cannot vote again keeps no setting from being put back.
        failed = refused_by_server(lambda: strangers.update(take_back(task, client, voters)), lost=False)
    ours, others = split_ours(replace(undo, changes=going), settings)
    back = tuple(replace(each, was=each.back(settings.scope(each.scope)[each.setting])) for each in ours)
    removed = _removals(task, settings)
    acts = [("restored", _name(each), {"value": each.was, "was": before[_name(each)]}) for each in back]
    left = replace(undo, changes=kept, excluded=undo.excluded if failed or strangers or not voters else ())
    left_undo = left if left.changes or left.excluded else None
    _write(task, client, request_of(back, left_undo, back=True, removed=removed), [*acts, *_removing(removed)])
    if failed is not None:
        raise failed
    after = {**before, **{_name(change): change.was for change in back}, **{_name(each): None for each in removed}}
    remarks = (*(_left(undo, change, settings) for change in others), *_strange(undo, strangers), *_removed(removed))
    return Outcome(Verdict(remarks), True, before, _there(after))


def _is_asked_for(task: Task, change: Change) -> bool:
    if task.params["state"] == "undrained":
        return change.setting == EXCLUDE
    return task.params["part"] == "all" or change.setting not in OF_RUN


def _undo_here(client: OpenSearchClient, settings: Settings) -> Undo | None:
    undo = carried_undo(settings)
    if undo is not None:
        _judge_cluster(undo, cluster_uuid(client))
    return undo


def _fresh(task: Task, settings: Settings, undo: Undo | None, wanted: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes that are still to be made.

    Raises:
        Refusal: the undo that the cluster carries is of another run, or of the same setting.
    """
    changes = plan_changes(settings, wanted)
    if undo is None or not changes:
        return changes
    again = {change.setting for change in changes} & {change.setting for change in undo.changes}
    if again or undo.run != task.run:
        raise _in_the_way(undo, again, settings)
    return changes


def _extended(task: Task, undo: Undo | None, fresh: Sequence[Change], cluster: str) -> Undo:
    if undo is None:
        return Undo(task.run, now_text(), cluster, tuple(fresh))
    return replace(undo, changes=(*undo.changes, *fresh))


def _change(
    task: Task, client: OpenSearchClient, settings: Settings, fresh: Sequence[Change], undo: Undo, following: str
) -> Outcome:
    removed, before = _removals(task, settings), _shown(settings)
    acts = [("set", _name(each), {"value": each.set_to, "was": each.was}) for each in fresh]
    _write(task, client, request_of(fresh, undo, back=False, removed=removed), [*acts, *_removing(removed)])
    after = {
        **before,
        **{_name(change): change.set_to for change in fresh},
        **{_name(each): None for each in removed},
    }
    return Outcome(Verdict(_removed(removed)), True, before, _there(after), following)


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


def _in_the_way(undo: Undo, again: Collection[str], settings: Settings) -> Refusal:
    ours = [change for change in split_ours(undo, settings)[0] if change.setting in again]
    if ours:
        return refusal(
            "restricted_otherwise",
            f"Run {undo.run} set {ours[0].setting} to {ours[0].set_to!r} at {undo.at}, which is not what is"
            " asked for now, and its undo is still there.",
            "Restore first: shard_allocation with state=restored.",
        )
    return refusal(
        "undo_left",
        f"The cluster carries the undo of run {undo.run} of {undo.at}, which a new change would replace.",
        "Restore first: shard_allocation with state=restored.",
    )


def _judge_unrestricted(settings: Settings) -> None:
    present = settings.effective(ENABLE)
    if present not in (None, "all"):
        raise refusal(
            "drain_restricted",
            f"Allocation is restricted ({ENABLE} is {present}), so that no replica would move to another member.",
            "Put allocation back first (shard_allocation with state=restored), or set it to all or null.",
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


def _strange(undo: Undo, strangers: Collection[str]) -> Iterator[Reason]:
    if strangers:
        yield remark(
            "changed_by_another",
            f"Run {undo.run} excluded {enumerate_few(undo.excluded)} from voting, and another has excluded"
            f" {enumerate_few(strangers)} since. The server can only remove all, so all are left.",
            "Remove them with DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
        )


def _removals(task: Task, settings: Settings) -> tuple[Change, ...]:
    """The archived settings that have to go, where that is wanted."""
    found = removals(settings)
    if found and task.params["archived"] == "refuse":
        names = enumerate_few(f"{change.setting} ({change.scope})" for change in found)
        raise refusal(
            "archived_settings",
            f"The cluster keeps settings that this version does not know, and refuses every change of settings as long"
            f" as they are there: {names}.",
            "Set what replaces them, if it is still wanted, and set these to null; or let them be removed with"
            " archived=remove (upgrade_archived).",
        )
    return found


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


def _flush_batch(task: Task, client: OpenSearchClient, state: ClusterState) -> None:
    if not task.check_mode and task.params["flush"]:
        flush(task, client, indices_on(state.ids(task.params["members"]), state.copies))


def _shown(settings: Settings) -> Mapping[str, Any]:
    """The settings this module is about, by scope and name."""
    return {
        f"{scope} {name}": value
        for scope in ("persistent", "transient")
        for name, value in settings.scope(scope).items()
        if name in OF_RUN or name.startswith(("cluster.routing.", ARCHIVED))
    }


def _adopted(undo: Undo | None, settings: Settings, wanted: Collection[str]) -> tuple[Reason, ...]:
    if undo is None or all(change.setting not in wanted for change in split_ours(undo, settings)[0]):
        return ()
    return (remark("undo_adopted", f"Run {undo.run} restricted allocation at {undo.at}; its undo stays in force."),)
