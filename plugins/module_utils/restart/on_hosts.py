# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a restart on plain hosts in the module `restart_plan`: the order, and the note of it in the cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..engine.undo import document_of
from ..opensearch import pool_order
from ..opensearch.act.settings_change import removed_remarks, removing, to_remove, write
from ..opensearch.judge.pools import Pool
from ..opensearch.judge.upgrade_path import target_of
from ..opensearch.observe.client import OpenSearchClient, connect
from ..opensearch.observe.cluster import observe, read_settings
from ..opensearch.observe.settings import Settings
from .judge.choice import Asked, lines_of
from .judge.on_hosts import (
    NOTE,
    Configuration,
    Noted,
    conditions_on_hosts,
    configurations_in,
    due_on_hosts,
    judge_together,
    noted_in,
    process_of,
)
from .judge.request import Request, judge_request
from .judge.setting_rules import Way
from .judge.settings_table import Changes, judge_changes, ways_in


def order_on_hosts(task: Task) -> Outcome:
    """The members that are due, in their order. Nothing is changed."""
    drawn = pool_order.drawn_from_hosts(task)
    state, names = drawn.state, {member.name for pool in drawn.pools for member in pool.members}
    settings = task.ask(lambda: read_settings(_search(task)))
    configurations = configurations_in(task.params["configurations"])
    due = due_on_hosts(names, noted_in(settings, state.uuid), configurations, state)
    asked = _asked(drawn.pools, configurations, due, ways_in(task.params["setting_ways"]))
    every = Changes(
        tuple(dict.fromkeys(one for each in asked for found in each.changes.values() for one in found.changes))
    )
    versions = {str(each.version) for each in state.members.values() if each.name in names}
    target = target_of(max(versions)) if versions else target_of("0.0.0")
    judged = judge_request(Request(due), (), versions)
    verdict = combine((drawn.verdict, judged, judge_changes(every), judge_together(every)))
    drawn = replace(drawn, pools=tuple(_due(pool, due) for pool in drawn.pools), verdict=verdict)
    params = pool_order.CONTRACT.arguments(task.params, target_version=str(target))
    given = replace(task, params={**params, "skip_checks": task.params["skip_checks"]})
    planned = pool_order.planned(given, drawn, target, conditions_on_hosts(configurations))
    # A member of the version is restarted all the same.
    batches = [{**batch, "restarts": True} for batch in planned.more["batches"]]
    lines = [f"{line.sentence} for {line.whose} ({line.way.value}: {line.why})" for line in lines_of(asked)]
    told = {"batches": batches, "outdated": [], "told": lines}
    return replace(planned, more={**planned.more, **told})


def note_on_hosts(task: Task, order: Outcome) -> Outcome:
    """Note the processes that the run is to restart, so that a run that is killed is gone on with."""
    going = {name for batch in order.more["batches"] for name in batch["members"]}
    if not going or task.check_mode:
        return Outcome(Verdict())
    search = _search(task)
    state, settings = task.ask(lambda: (observe(search), read_settings(search)))
    noted = noted_in(settings, state.uuid)
    left = noted.left(state) if noted else frozenset()
    note = Noted({name: process_of(state, name) for name in going | left})
    if noted == note:
        return Outcome(Verdict())
    return _write(task, search, settings, note.text(state.uuid), going)


def forget_on_hosts(task: Task) -> Outcome:
    """Take the note away once no process that it names is left. A run that was narrowed may leave some."""
    search = _search(task)
    state, settings = task.ask(lambda: (observe(search), read_settings(search)))
    noted = noted_in(settings, state.uuid)
    if settings.persistent.get(NOTE) is None or (noted and noted.left(state)):
        return Outcome(Verdict())
    return _write(task, search, settings, None, ())


def _search(task: Task) -> OpenSearchClient:
    return connect(task.params["opensearch"], task.params["kubernetes"])


def _write(
    task: Task, search: OpenSearchClient, settings: Settings, note: str | None, names: Collection[str]
) -> Outcome:
    removed = to_remove(task, settings)
    gone: dict[tuple[str, ...], Any] = {each.path: None for each in removed}
    act = ("set", f"persistent {NOTE}", {"members": sorted(names)})
    write(task, search, document_of({("persistent", NOTE): note, **gone}), [act, *removing(removed)])
    return Outcome(Verdict(removed_remarks(removed)), changed=True)


def _asked(
    pools: Collection[Pool],
    configurations: Collection[Configuration],
    due: frozenset[str],
    ways: Mapping[str, Way],
) -> tuple[Asked, ...]:
    changes: Mapping[str, Changes] = {each.member: each.changes(ways) for each in configurations if each.differs}
    found = []
    for pool in pools:
        members = frozenset(member.name for member in pool.members)
        own = {name: each for name, each in changes.items() if name in members}
        found.append(Asked(pool.name, members, members & due, changes=own))
    return tuple(found)


def _due(pool: Pool, due: frozenset[str]) -> Pool:
    return replace(pool, members=tuple(replace(each, due=each.name in due) for each in pool.members))
