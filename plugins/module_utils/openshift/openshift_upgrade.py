"""The work of the module `openshift_upgrade`: the batches of an upgrade of OpenShift, and putting back.

The cluster version operator and the machine config operator do the work. A run starts it, lets the machine config
operator take one batch of Kubernetes nodes after the other, and holds the pools in between: a pool that is paused takes
no further Kubernetes node, and those under way are updated to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.attempts import refusals_of
from ..common.errors import Conflict, Refusal
from ..common.release import Release
from ..common.task import Outcome, Task
from ..common.verdict import Reason, Verdict, combine, remark, waiting
from ..common.words import unique
from ..draining.judge.budgets import judge_closed
from ..kubernetes.client import connect
from ..kubernetes.pods import list_budgets
from ..run.begin_and_end import System
from ..run.lateness import Lateness
from ..run.record.going_down import note_down
from ..run.runs import contract_of, work_of
from ..workloads.workload import consents_of_workloads
from . import health_checks, spare_workers
from .act.changes import Acts
from .act.commencing import commence
from .asking import asked_while_held
from .between_hops import judge_next, report_removals
from .drain_watch import DrainWatch
from .judge.going_on import control_plane_late, with_going_on, workers_late
from .judge.health import (
    is_held_by_person,
    judge_nodes,
    judge_operators,
    judge_version,
    judge_whole,
    restarting_ones,
)
from .judge.out_of_turn import judge_others, judge_turn, limit_of_batch
from .judge.progress import (
    CONTROL_PLANE,
    UPDATING,
    is_taken,
    judge_control_plane,
    judge_taken,
    judge_unchanged,
    judge_updated,
    left_of_control_plane,
    left_of_nodes,
    taken_spare_ones,
)
from .observe.look import Looking
from .observe.looking_at_target import LookingAtTarget, chain_in, release_of
from .observe.state import MachineConfigPool, OpenShift
from .open_pools import (
    HeldAgain,
    has_some_left,
    held_after_failure,
    hold_again,
    is_control_plane,
    let_required_go,
    pools_of,
)
from .planning import IDENTITY, OPTIONS, options_of, order, words
from .preflight import preflight

BETWEEN_LOOKS = 10.0
"""Seconds between two looks: a Kubernetes node takes minutes, and its daemon looks every few seconds itself."""
WHILE_OPEN = 1.0
"""Seconds between two looks while a pool is open: it is to be held again before a further Kubernetes node is taken.

One whose configuration needs no restart is done within seconds, and the machine config operator takes the next one five
seconds later (`defaultUpdateDelay` in `pkg/controller/node/node_controller.go`).
"""
SECONDS_A_BATCH = 600
"""Seconds that a batch is expected to last as long as none was measured."""


def _target(task: Task) -> Release:
    return release_of(task.params["target_version"])


def _look_and_act(
    task: Task,
    step: Callable[[OpenShift, Acts], object],
    judge: Callable[[OpenShift], Verdict],
    left: Callable[[OpenShift], dict[str, tuple[float, ...]]] | None = None,
    *,
    stoppable: bool = False,
    between: float | None = None,
) -> tuple[OpenShift, Verdict]:
    """Look, act, and judge, until the judge waits no more. An act that meets a change is made after the next look.

    `between` are the seconds between two looks, if they are not those of the option.
    """
    client = connect(task.params["kubernetes"])
    looking, acts = Looking(client), Acts(task, client)

    def again() -> OpenShift:
        seen = looking.look()
        with suppress(Conflict):
            step(seen, acts)
        return seen

    sleep = max(BETWEEN_LOOKS, float(task.params["wait_sleep"])) if between is None else between
    paced = {**task.params, "wait_sleep": sleep}
    return replace(task, params=paced).wait(again, judge, stoppable=stoppable, remaining=left)


def _take(task: Task) -> Outcome:
    """Have the batch taken: the update is commenced for the control plane, a pool let go for its Kubernetes nodes."""
    target, names, at_target = _target(task), task.params["batch"], LookingAtTarget(task.params)
    left, went, drains = list[Reason](), set[str](), DrainWatch(task, connect(task.params["kubernetes"]))
    opened, held = set[str](), HeldAgain(task)
    # It waits even in one pass, at the end of which no pool may be left open. In check mode nothing comes of waiting.
    task = replace(task, params={**task.params, "wait": not task.check_mode})

    def step(seen: OpenShift, acts: Acts) -> None:
        if is_control_plane(seen, task):
            held.hold(seen, acts, first=True)
            left[:] = [_not_begun(target)]
            hops = at_target.hops(seen)
            # In check mode the upgrades before this one are not made.
            passed_over = task.check_mode and len(hops) > 1
            left[:] = () if passed_over else commence(seen, hops[-1], acts, task.params)
            return
        own = {pool.name for pool, _own in pools_of(seen, task)}
        # Until it is let go here, it is as closed as all others.
        if own.isdisjoint(held.hold(seen, acts, opened)):
            opened.update(own)
            _take_nodes(task, seen, acts, went)
            if went and not task.check_mode:
                drains.look(seen, _under_way(seen, names, target))

    def judged(seen: OpenShift) -> Verdict:
        if is_control_plane(seen, task):
            return Verdict(tuple(left))
        turn = judge_turn(seen, names, opened=bool(opened))
        return _judge_workers(task, seen, turn, went, drains)

    checks = health_checks.PausedChecks(task)
    checks.pause_first()
    with held_after_failure(task, opened):
        seen, verdict = _look_and_act(task, step, judged, lambda seen: _left(seen, names, target), between=WHILE_OPEN)
    if not verdict.passed and not task.check_mode:
        verdict = _not_taken(task, verdict, seen, opened)
    if verdict.passed and is_control_plane(seen, task):
        verdict = combine((verdict, note_down(task, names)))
    if task.check_mode:
        return Outcome(Verdict(), bool(task.journal.as_result()))
    verdict = combine((verdict, Verdict(held.remarks), checks.remarks))
    rest = [name for name in names if went and seen.is_configured(name) and not is_taken(seen, name, target)]
    return Outcome(verdict, bool(task.journal.as_result()), more={"rest": rest})


def _judge_workers(task: Task, seen: OpenShift, turn: Verdict, went: Collection[str], drains: DrainWatch) -> Verdict:
    """Whether a batch of workers is taken; if a spare one went first, whether what is taken is updated."""
    names, target = task.params["batch"], _target(task)
    taken = judge_taken(seen, names, target)
    if not taken.passed and not turn.passed:
        return turn
    # The rest of the batch continues later, once the gates were asked again.
    if went and not taken.passed:
        taken = judge_updated(seen, _under_way(seen, names, target), target, drains.kept)
    return taken if taken.passed else combine((_unchanged(task, seen), taken))


def _not_taken(task: Task, verdict: Verdict, seen: OpenShift, pools: Collection[str]) -> Verdict:
    """The verdict on a batch that was not taken in time, once its pools are held again."""
    left_open = hold_again(task, pools)
    # Of a pool that is open it is not known what else is taken.
    return Verdict((*verdict.reasons, *left_open)) if left_open else _with_going_on(task, verdict, seen)


def _unchanged(task: Task, seen: OpenShift) -> Verdict:
    """Whether workers are still to go to the target. In check mode the control plane was not upgraded before."""
    return Verdict() if task.check_mode else judge_unchanged(seen, _target(task))


def _take_nodes(task: Task, seen: OpenShift, acts: Acts, went: set[str]) -> None:
    """Let the pools go for their Kubernetes nodes of the batch. `went` gets the spare ones that were taken first."""
    for pool, own in pools_of(seen, task) if _unchanged(task, seen).passed else ():
        went.update(taken_spare_ones(seen, pool.name, _target(task)))
        turn = judge_turn(seen, own, opened=True)
        _let_take(task, seen, acts, pool, own, held=bool(went) or not turn.passed)


def _under_way(seen: OpenShift, names: Collection[str], target: Release) -> list[str]:
    """Those of these Kubernetes nodes that are taken, and the spare ones that were taken before or with them."""
    there = [name for name in names if seen.is_configured(name)]
    pools = {seen.pool_of(name).name for name in there}
    spare = [each for pool in sorted(pools) for each in taken_spare_ones(seen, pool, target)]
    return [*(name for name in there if is_taken(seen, name, target)), *spare]


def _left(seen: OpenShift, names: Collection[str], target: Release) -> dict[str, tuple[float, ...]]:
    """The progress of a batch, and of the spare Kubernetes nodes that are updated at the same time."""
    both = left_of_nodes(seen, _with_spare(seen, names, target), target)
    return {CONTROL_PLANE: left_of_control_plane(seen, target), UPDATING: both}


def _with_spare(seen: OpenShift, names: Collection[str], target: Release) -> list[str]:
    return unique((*names, *_under_way(seen, names, target)))


def _not_begun(target: Release) -> Reason:
    said = f"The update to {target} is not commenced, since the ClusterVersion has changed."
    return waiting("update_not_begun", said)


def _let_take(
    task: Task, seen: OpenShift, acts: Acts, pool: MachineConfigPool, names: list[str], *, held: bool
) -> None:
    """Let a pool go until its Kubernetes nodes of the batch are taken, then hold it again.

    It is `held` earlier if a spare one was taken: the others would follow it later, without any gate. At a version on
    the way of a chain the last spare ones may follow, since their kubelets would hold up the next upgrade.
    """
    target, most = _target(task), task.params["max_unavailable"]
    if held or all(is_taken(seen, name, target) for name in names):
        if has_some_left(task, seen, pool):
            acts.hold(pool.name)
    elif (limit := limit_of_batch(seen, pool, names, most)) is not None:
        acts.hold(pool.name, limit)
    elif pool.carries_undo:
        acts.let_go(pool.name)


def _follow(task: Task) -> Outcome:
    """Wait until the batch is on the target, and back."""
    names, target, began = task.params["batch"], _target(task), task.clock.now()
    drains, lateness = DrainWatch(task, connect(task.params["kubernetes"])), Lateness(task, names)
    held, checks = HeldAgain(task), health_checks.PausedChecks(task)

    def judged(seen: OpenShift) -> Verdict:
        if set(names) & set(seen.masters):
            return lateness.judge(judge_control_plane(seen, target, drains.kept))
        updated = judge_updated(seen, _with_spare(seen, names, target), target, drains.kept)
        return lateness.judge(updated if updated.passed else combine((_unchanged(task, seen), updated)))

    def step(seen: OpenShift, acts: Acts) -> None:
        held.hold(seen, acts)
        drains.look(seen, _with_spare(seen, names, target))
        # The last act: one that changes all the time, so that this conflicts, keeps no pool open.
        checks.pause()

    seen, verdict = _look_and_act(task, step, judged, lambda seen: _left(seen, names, target))
    took = round(task.clock.now() - began, 1)
    report: dict[str, Any] = {}
    if lateness.waited_for is not None:
        verdict, report = lateness.note(control_plane_late if set(names) & set(seen.masters) else workers_late, took)
    verdict, done = _with_going_on(task, verdict, seen), verdict.passed and not report
    verdict = combine((verdict, Verdict(held.remarks), checks.remarks))
    took = round(took + lateness.before, 1)
    members: list[dict[str, Any]] = [
        {"name": name, "action": "updated" if done else "followed", "total_seconds": took if done else None}
        for name in names
    ]
    return Outcome(verdict, bool(task.journal.as_result()), more={"members": members, "late": report})


def _with_going_on(task: Task, verdict: Verdict, seen: OpenShift) -> Verdict:
    limited = bool(task.params["control_plane_timeout"])
    return with_going_on(verdict, seen, task.params["batch"], _target(task), own_limit=limited)


def _prove(task: Task) -> Outcome:
    """Wait until every operator is well, and all that was to be upgraded is on the target."""
    target = _target(task)

    def judged(seen: OpenShift) -> Verdict:
        return combine((judge_whole(seen, target), judge_operators(seen), judge_nodes(seen)))

    seen, verdict = _look_and_act(task, let_required_go, judged, stoppable=True)
    well = all(each.well for each in seen.operators)
    return Outcome(verdict, before={"status": "well" if well else "unwell", "version": seen.version.present})


def _restore(task: Task) -> Outcome:
    """Let the pools go that runs have held, and end the pauses of MachineHealthChecks.

    In a run that has not ended (`batch` has its Kubernetes nodes), and after it was aborted, a pool with some left
    stays paused, since the machine config operator would take them without any gate.
    """
    client = connect(task.params["kubernetes"])
    acts, chain = Acts(task, client), chain_in(task.params) if task.params["batch"] else []

    def again() -> tuple[bool, Verdict]:
        seen = Looking(client).look()
        versions = [seen.version.wanted or seen.version.desired] if task.params["aborted"] else chain
        remarks, reached = list[Reason](), seen.version.reached_of(versions)

        def restore(pool: MachineConfigPool) -> None:
            is_ours = not is_held_by_person(pool) and pool not in seen.required_pools
            names = seen.planned[pool.name] if reached and is_ours else ()
            left = [name for name in names if seen.is_left(name, release_of(reached))]
            if left:
                # It may be open, if something else has ended the pause, or only its maxUnavailable is to be put back.
                acts.hold(pool.name)
            remarks.extend((_stays(pool.name, len(left)),) if left else acts.put_back(pool.name))

        def restore_checks() -> None:
            under_way = bool(reached) and not judge_whole(seen, release_of(reached)).passed
            in_run = bool(task.params["batch"])
            restarting = () if in_run or task.params["aborted"] else restarting_ones(seen)
            remarks.extend(health_checks.put_back(client, acts, stay=under_way, in_run=in_run, restarting=restarting))

        # One that cannot be put back holds no other one up. A pool may have no Kubernetes node any more.
        pools = [partial(restore, each) for each in seen.pools.values() if each.carries_undo]
        refusals = refusals_of([*pools, restore_checks])
        return bool(task.journal.as_result()), Verdict((*remarks, *refusals))

    (changed, verdict), _state = task.wait(again, lambda _found: Verdict())
    return Outcome(verdict, changed, next="nothing")


def _stays(pool: str, left: int) -> Reason:
    return remark(
        "pool_stays_paused",
        f"MachineConfigPool {pool} stays paused, with {left} Kubernetes nodes left to update.",
        "Run the playbook again to continue. The playbook settle releases the pools to the machine config operator.",
    )


def _gate(task: Task) -> Outcome:
    """Wait until OpenShift is fit for the next batch: its operators are well, and its Kubernetes nodes are Ready."""
    target, client, at_target = _target(task), connect(task.params["kubernetes"]), LookingAtTarget(task.params)
    chained = bool(at_target.through)

    def judged(seen: OpenShift) -> Verdict:
        if not seen.version.has_completed(str(target)) and seen.version.is_commenced(str(target)):
            return Verdict()
        if is_control_plane(seen, task):
            allowed = combine(
                (judge_version(seen), judge_next(task, client, seen, at_target) if chained else Verdict())
            )
        else:
            names = task.params["batch"]
            allowed = combine((_unchanged(task, seen), judge_turn(seen, names), judge_others(seen, names)))
        return combine((judge_operators(seen), judge_nodes(seen, spare=True), allowed))

    held = HeldAgain(task)
    seen, verdict = _look_and_act(task, partial(held.hold, first=True), judged, stoppable=True)
    if verdict.passed and chained and is_control_plane(seen, task):
        verdict = combine((verdict, report_removals(task, client, seen, target)))
    return Outcome(combine((verdict, Verdict(held.remarks))), bool(task.journal.as_result()))


def _closed_budgets(task: Task) -> Outcome:
    """A remark on budgets that have closed since the start of the upgrade. Nothing fails if they cannot be had."""
    started = str((task.params["plan"] or {}).get("started") or "")
    with suppress(Refusal):
        budgets = list_budgets(connect(task.params["kubernetes"]), "") if started else ()
        return Outcome(judge_closed(budgets, started))
    return Outcome(Verdict())


SYSTEM = System(
    name="openshift",
    options=OPTIONS,
    # It may be that of an image.
    has_target=False,
    uuid=lambda _task: IDENTITY,
    order=order,
    preflight=preflight,
    put_back=lambda _task: Outcome(Verdict()),
    clean_up=_closed_budgets,
    states={
        "fit": _gate,
        "asked": asked_while_held,
        "taken": _take,
        "updated": _follow,
        "proven": _prove,
        "restored": _restore,
        "expanded": lambda task: spare_workers.expand(task, chain_in(task.params)),
        "reduced": spare_workers.reduce,
    },
    guess=SECONDS_A_BATCH,
    options_of=options_of,
    words=lambda _params, plan: words(plan),
    consents=consents_of_workloads,
    notes_refusals=True,
)
CONTRACT, run = contract_of(SYSTEM), work_of(SYSTEM)
