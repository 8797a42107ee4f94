"""The changes of an upgrade to allocation and recovery, each with its undo in the same request.

Some changes are for a batch (the restriction, the exclusion of drained members), some for the whole run (limits of
recoveries, rebalancing). One undo in the cluster carries both; only the run that wrote it extends it, and the request
that puts a part of it back rewrites it.

Rebalancing is `none` during a run by default. The servers start to rebalance as soon as every copy is started
(`allow_rebalance: indices_all_active`), so after each member; the proof of the next one would wait for relocations
that the run has caused, and their bytes would be moved back. Shards that have to move still do (disk watermarks,
exclusion).

Recoveries run ten at a time on a member, unless more are allowed already. A member that was away for seconds has
little to copy, but the servers recover two shards at a time by default, each with changes of the cluster state:
300 shards take minutes with nothing to copy. Their bytes a second are not touched by default, since only the owner
knows the limit.

A member that dies between two batches comes back, but its replicas are built on others after a minute. So where a
cluster setting can do it, they wait for twice as long as members of this cluster take to come back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ...common.arguments import CONNECTIONS, WAIT
from ...common.attempts import just_looked
from ...common.errors import Refusal, refusal
from ...common.task import Contract, Outcome, Task, passed_or_raise
from ...common.verdict import Reason, State, Verdict, combine, remark
from ...common.waiting import Clock
from ...run.undo.undo import Change, Undo
from ..judge.changes import excluding, plan_changes, split_ours
from ..judge.drain import Moving, judge_drained, judge_room
from ..judge.node_left import delay_is_set
from ..observe.client import OpenSearchClient
from ..observe.cluster import observe, read_settings
from ..observe.copies import copies_move, left_on
from ..observe.explaining import explain_moves
from ..observe.products import ELASTICSEARCH
from ..observe.settings import ENABLE, NODE_LEFT, RECOVERIES, Settings, allocates
from ..observe.state import ClusterState
from ..observe.stored import observe_bytes_left
from .flush import FLUSHED, flush, indices_on
from .last_look import wait_calm
from .left_over import naming, settle
from .putting_back import setting_left_alone
from .raising import RAISE_REPLICAS, has_raised, raise_on
from .settings_change import OF_RUN, change_settings, shown, undo_here, undo_left
from .shutdown import register

DEFAULT_RECOVERIES = 2
"""The servers' own default (server source, ThrottlingAllocationDecider)."""
UNCHANGED = "unchanged"
PACE = 5.0
"""Seconds between two measures of the bytes that move away."""

_Act = Callable[[Task, OpenSearchClient, Settings], Outcome]
Measure = Callable[[ClusterState, Collection[str]], "Moving | None"]
"""Gives the bytes that move away from the named members."""

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "state": {
            "type": "str",
            "required": True,
            "choices": ["prepared", "restricted", "unrestricted", "drained", "undrained", "restored"],
        },
        "enable": {"type": "str", "default": "primaries", "choices": ["primaries", "new_primaries", "none"]},
        "recoveries": {"type": "int"},
        "recovery_bytes": {"type": "str"},
        "node_left_delay": {"type": "str"},
        "rebalance": {"type": "str", "default": UNCHANGED, "choices": [UNCHANGED, "none"]},
        "part": {"type": "str", "default": "all", "choices": ["all", "batch"]},
        "flush": {"type": "bool", "default": True},
        "batch": {"type": "list", "elements": "str", "default": []},
        "drained": {"type": "list", "elements": "str", "default": []},
        "take_over": {"type": "str", "default": ""},
        "archived": {"type": "str", "default": "remove", "choices": ["remove", "refuse"]},
        "before": {"type": "dict"},
        "reset": {"type": "list", "elements": "str"},
        **RAISE_REPLICAS,
        "keep_replicas": {"type": "bool", "default": False},
    },
    required_if=[("state", "drained", ("batch",))],
)


def carry_out(
    task: Task, client: OpenSearchClient, may_be_red: Container[str] = (), seen: ClusterState | None = None
) -> Outcome:
    """Do what the option `state` says, and wait until it is done, except for copies of indices in `may_be_red`.

    A restriction starts from the look in `seen`, if one was just made.

    Once all is prepared, the shards of the members in `drained` move to others. The task waits for
    that even in one pass, because the exclusion is taken back at its end.

    Raises:
        Refusal: it was not done, or only in part.
    """
    done = _carried_out(task, client, may_be_red, seen)
    leaving = task.params["drained"] if task.params["state"] == "prepared" else []
    if not leaving or not done.verdict.passed:
        return done
    draining = replace(task, params={**task.params, "state": "drained", "batch": leaving, "wait": True})
    left = _carried_out(draining, client, may_be_red)
    verdict = Verdict((*done.verdict.reasons, *left.verdict.reasons))
    return replace(left, verdict=verdict, changed=done.changed or left.changed, before=done.before)


def _carried_out(
    task: Task, client: OpenSearchClient, may_be_red: Container[str], last: ClusterState | None = None
) -> Outcome:
    meter = _Meter(client, task.clock)
    just_seen: Callable[[], ClusterState | None] = just_looked(last, lambda: None)

    def restricted(of: Task, search: OpenSearchClient, settings: Settings) -> Outcome:
        return restrict(of, search, settings, may_be_red, state=just_seen())

    acts: dict[str, _Act] = {
        "prepared": prepare,
        "restricted": restricted,
        "drained": partial(drain, measured=meter.measured),
    }
    act, seen = acts.get(task.params["state"], settle), list[Outcome]()

    def look() -> Outcome:
        seen.append(act(task, client, read_settings(client)))
        return seen[-1]

    # No member is down while shards move away, so an abort may end that wait.
    try:
        _last, verdict = task.wait(look, lambda done: done.verdict, stoppable=task.params["state"] == "drained")
    except Refusal as error:
        if task.params["state"] in acts:
            raise
        raise naming(task, client, error) from error
    remarks = Verdict(tuple(reason for reason in seen[0].verdict.reasons if reason.state is State.PASSED))
    done = replace(seen[0], verdict=combine((remarks, verdict)), changed=any(done.changed for done in seen))
    return replace(done, more={**done.more, "moved_bytes": meter.moved}) if meter.moved else done


class _Meter:
    """Measures the bytes that shards move away from members, once in `PACE` seconds: a measure is two calls."""

    def __init__(self, client: OpenSearchClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._first: tuple[float, int] | None = None
        self._last: tuple[float, int] | None = None

    @property
    def moved(self) -> int | None:
        """The bytes that had moved at the last measure; None if nothing was measured."""
        return self._first[1] - self._last[1] if self._first and self._last else None

    def measured(self, state: ClusterState, names: Collection[str]) -> Moving | None:
        """The bytes now, or at the last measure; None if they are not known."""
        now = self._clock.now()
        if self._last is None or now - self._last[0] >= PACE or not left_on(state, names):
            left = observe_bytes_left(self._client, state, names) if names else None
            if left is not None:
                self._last = (now, left)
                self._first = self._first or self._last
        if self._first is None or self._last is None:
            return None
        return Moving(max(self._first[1], self._last[1]), self._last[1], self._last[0] - self._first[0])


def restrict(
    task: Task,
    client: OpenSearchClient,
    settings: Settings,
    may_be_red: Container[str] = (),
    flushed: tuple[Reason, ...] | None = None,
    state: ClusterState | None = None,
) -> Outcome:
    """Restrict allocation as asked, with the undo in the same request; before that, flush the indices of the batch.

    `flushed` holds the reasons about the flush if it has been made already, and `state` the look just before.
    """
    state = state or observe(client)
    undo = undo_here(client, settings, state.uuid)
    wanted = {ENABLE: task.params["enable"]}
    fresh = _fresh(task, settings, undo, wanted)
    before = shown(settings)
    if not fresh:
        verdict = Verdict(tuple(_adopted(undo, settings, wanted)))
        return Outcome(verdict, before=before, after=before, next="replace the members")
    if flushed is None:
        after, flushed = _flush_batch(task, client, settings, state)
        if after is not settings:
            return restrict(task, client, after, may_be_red, flushed)
    state = wait_calm(task, client, state, task.params["batch"], may_be_red)
    done = change_settings(task, client, settings, fresh, undo, state.uuid, "replace the members")
    registered = register(task, client, state, task.params["batch"])
    return replace(done, verdict=Verdict((*done.verdict.reasons, *flushed, *registered)))


def prepare(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Flush the indices of the batch, and set the given settings of the whole run. Later changes by others stay."""
    state = observe(client)
    settings, raised = raise_on(task, client, settings, state, task.params["batch"])
    settings, flushed = _flush_batch(task, client, settings, state)
    undo = undo_here(client, settings, state.uuid)
    before = shown(settings)
    others = split_ours(undo, settings)[1] if undo else ()
    remarks = tuple(setting_left_alone(undo, change, settings) for change in others if undo and change.name in OF_RUN)
    given = {name: task.params[option] for name, option in OF_RUN.items()}
    wanted = {
        name: str(value)
        for name, value in given.items()
        if value not in (None, UNCHANGED, 0)
        and name not in {change.name for change in others}
        and not (name == RECOVERIES and _recoveries(client, settings) >= int(value))
        and not (name == NODE_LEFT and not delay_is_set(value, settings, state.members.values(), _ours(undo)))
    }
    fresh = _fresh(task, settings, undo, wanted)
    following, remarks = "prove that the batch may go down", (*remarks, *raised, *flushed)
    if not fresh:
        return Outcome(Verdict(remarks), has_raised(task), before, before, following)
    done = change_settings(task, client, settings, fresh, undo, state.uuid, following)
    return replace(done, verdict=Verdict((*done.verdict.reasons, *remarks)))


def _ours(undo: Undo | None) -> list[str]:
    return [change.name for change in undo.changes] if undo else []


def _recoveries(client: OpenSearchClient, settings: Settings) -> int:
    """The recoveries that a member may run at a time now, by a cluster setting, its own file or the default."""
    present = settings.effective(RECOVERIES)
    if present is None:
        path = f"defaults.{RECOVERIES}"
        found: Any = client.get("/_cluster/settings", include_defaults="true", filter_path=path)
        for name in path.split("."):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        present = found or DEFAULT_RECOVERIES
    digits = str(present).strip().removeprefix("+")
    return int(digits) if digits.isdigit() else DEFAULT_RECOVERIES


def drain(
    task: Task, client: OpenSearchClient, settings: Settings, measured: Measure = lambda _state, _names: None
) -> Outcome:
    """Exclude the members once it is shown that all their shards fit elsewhere; then see whether they are empty.

    Members that are not in the cluster hold no shard, nor do those without a data role.
    """
    state, before = observe(client), shown(settings)
    undo = undo_here(client, settings, state.uuid)
    _judge_unrestricted(settings)
    there = {member.name for member in state.members.values() if member.holds_data}
    names = [name for name in task.params["batch"] if name in there]
    wanted = excluding(settings, names, keeps_last=state.product is ELASTICSEARCH)
    fresh = _fresh(task, settings, undo, wanted)
    left, following = left_on(state, names), "prove that the batch may go down"
    moving = measured(state, names)
    if not fresh:
        moves = () if copies_move(state) else explain_moves(client, state, left)
        verdict, changed = judge_drained(names, left, moves, moving), bool(task.journal.as_result())
        return Outcome(verdict, changed, before, before, following)
    passed_or_raise(judge_room(names, explain_moves(client, state, left)))
    done = change_settings(task, client, settings, fresh, undo, state.uuid, following)
    waits = Verdict() if task.check_mode else judge_drained(names, left, (), moving)
    return replace(done, verdict=Verdict((*done.verdict.reasons, *waits.reasons)))


def _fresh(task: Task, settings: Settings, undo: Undo | None, wanted: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes that are still to be made.

    Before its first batch a run puts back what an interrupted one has left. In check mode it is still there.

    Raises:
        Refusal: the cluster carries an undo of another run, or of the same setting.
    """
    changes = plan_changes(settings, wanted)
    if undo is None or not changes or (task.check_mode and undo.writer.run != task.run):
        return changes
    again = {change.name for change in changes} & {change.name for change in undo.changes}
    if again or undo.writer.run != task.run:
        raise _in_the_way(undo, again, settings)
    return changes


def _in_the_way(undo: Undo, again: Collection[str], settings: Settings) -> Refusal:
    ours = [change for change in split_ours(undo, settings)[0] if change.name in again]
    if ours:
        return refusal(
            "restricted_otherwise",
            f"Run {undo.writer.run} set {ours[0].name} to {ours[0].set_to!r} at {undo.writer.at}. Another value is"
            " asked for now, and the undo of that run is still there.",
            "Restore first: shard_allocation with state=restored.",
        )
    return undo_left(undo)


def _judge_unrestricted(settings: Settings) -> None:
    present = settings.effective(ENABLE)
    if not allocates(present):
        raise refusal(
            "drain_restricted",
            f"Allocation is restricted ({ENABLE} is {present}), so no replica would move to another member.",
            "Put allocation back first (shard_allocation with state=restored), or set it to all or null.",
        )


def _flush_batch(
    task: Task, client: OpenSearchClient, settings: Settings, state: ClusterState
) -> tuple[Settings, tuple[Reason, ...]]:
    """Flush the indices of the batch, once in this task. It may take long, so the settings are read again after it.

    The result is these settings, and the reasons about the flush.
    """
    indices = indices_on(state.ids(task.params["batch"]), state.copies)
    done = any(act["action"] == FLUSHED for act in task.journal.as_result())
    if task.check_mode or done or not indices or not task.params["flush"]:
        return settings, ()
    oldest = min(member.version for member in state.members.values())
    said = flush(task, client, indices, state.product.flush_of(oldest))
    return read_settings(client), said


def _adopted(undo: Undo | None, settings: Settings, wanted: Collection[str]) -> tuple[Reason, ...]:
    if undo is None or all(change.name not in wanted for change in split_ours(undo, settings)[0]):
        return ()
    return (
        remark(
            "undo_adopted", f"Run {undo.writer.run} restricted allocation at {undo.writer.at}; its undo stays in force."
        ),
    )
