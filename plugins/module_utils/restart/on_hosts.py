"""The part of a restart on plain hosts in the module `restart_plan`: the order, and the note of it in the cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..opensearch import pool_order
from ..opensearch.judge.pools import Pool
from ..opensearch.observe.cluster import observe, read_settings
from .given import given_addresses
from .judge.choice import PoolToRestart, lines_of
from .judge.http_certificates import judge_on_hosts
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
from .judge.once import carried_in
from .judge.pods_to_restart import PodsToRestart, judge_pods_to_restart
from .judge.setting_rules import SettingEffect
from .judge.settings_table import SettingChanges, details_of_scheme, effects_in, judge_changes
from .once import agreed_to, connected, note_completed, note_request, once, write_note


def order_on_hosts(task: Task) -> Outcome:
    """The members that are due, in their order. Nothing is changed."""
    drawn = pool_order.drawn_from_hosts(task)
    state, names = drawn.state, {member.name for pool in drawn.pools for member in pool.members}
    settings = task.ask(lambda: read_settings(connected(task)))
    configurations = configurations_in(task.params["configurations"])
    noted, last = noted_in(settings, state.uuid), carried_in(settings, state.uuid)
    due = due_on_hosts(names, noted, configurations, state)
    wishes = (noted is not None and bool(due), bool(configurations and due))
    used_up = agreed_to(task, last) and not any(wishes)
    due = frozenset() if used_up else due
    asked = _asked(drawn.pools, configurations, due, effects_in(task.params["setting_needs"]))
    every = SettingChanges(
        tuple(dict.fromkeys(one for each in asked for found in each.changes.values() for one in found.changes))
    )
    given, target, versions = pool_order.to_restart(task, state, names)
    judged = judge_pods_to_restart(PodsToRestart(due), (), versions)
    addresses = given_addresses(task.params["opensearch"])
    changes = (judge_changes(every, addresses), judge_together(every), judge_on_hosts(every))
    verdict = combine((drawn.verdict, judged, *changes))
    drawn = replace(drawn, pools=tuple(_due(pool, due) for pool in drawn.pools), verdict=verdict)
    planned = pool_order.planned(given, drawn, target, conditions_on_hosts(configurations))
    # A member that runs the target version restarts all the same.
    batches = [{**batch, "restarts": True} for batch in planned.more["batches"]]
    lines = details_of_scheme(every, addresses)
    lines += [f"{line.sentence} for {line.whose} ({line.way.value}: {line.why})" for line in lines_of(asked)]
    own = {"batches": batches, "outdated": [], "details": lines}
    goes_on = noted is not None or bool(configurations)
    return once(replace(planned, more={**planned.more, **own}), last, goes_on=goes_on, used_up=used_up)


def note_on_hosts(task: Task, order: Outcome) -> Outcome:
    """Note the processes that the run is to restart, so that a killed run can be continued."""
    going = {name for batch in order.more["batches"] for name in batch["members"]}
    if not going or task.check_mode:
        return Outcome(Verdict())
    search = connected(task)
    state, settings = task.ask(lambda: (observe(search), read_settings(search)))
    noted = noted_in(settings, state.uuid)
    left = noted.left(state, _named(task)) if noted else frozenset()
    note = Noted({name: process_of(state, name) for name in going | left})
    written = Outcome(Verdict())
    if noted != note:
        written = write_note(task, search, settings, (NOTE, note.text(state.uuid)), {"members": sorted(going)})
    return _both(written, note_request(task, order))


def _named(task: Task) -> frozenset[str]:
    return frozenset(str(name) for members in task.params["groups"].values() for name in members)


def forget_on_hosts(task: Task) -> Outcome:
    """Remove the note once no process in it is left. A run that was limited to some members may leave others."""
    search = connected(task)
    state, settings = task.ask(lambda: (observe(search), read_settings(search)))
    noted = noted_in(settings, state.uuid)
    if settings.persistent.get(NOTE) is None:
        return Outcome(Verdict())
    if noted and (left := noted.left(state, _named(task))):
        return note_completed(task, left)
    # A run that is killed between the two leaves no member due, and either of the two uses its consent up.
    gone = write_note(task, search, settings, (NOTE, None), {"members": []})
    return _both(gone, note_completed(task))


def _both(one: Outcome, other: Outcome) -> Outcome:
    return Outcome(combine((one.verdict, other.verdict)), one.changed or other.changed)


def _asked(
    pools: Collection[Pool],
    configurations: Collection[Configuration],
    due: frozenset[str],
    ways: Mapping[str, SettingEffect],
) -> tuple[PoolToRestart, ...]:
    changes: Mapping[str, SettingChanges] = {each.member: each.changes(ways) for each in configurations if each.differs}
    found = []
    for pool in pools:
        members = frozenset(member.name for member in pool.members)
        own = {name: each for name, each in changes.items() if name in members}
        found.append(PoolToRestart(pool.name, members, members & due, changes=own))
    return tuple(found)


def _due(pool: Pool, due: frozenset[str]) -> Pool:
    return replace(pool, members=tuple(replace(each, due=each.name in due) for each in pool.members))
