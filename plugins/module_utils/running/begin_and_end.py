# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The begin of a run, from its lock to its record, and its end, each as one piece of work.

Either a run has begun as a whole, or it has given its lock back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..common.task import Contract, Outcome, Task, attempt
from ..common.verdict import State, Verdict, combine, refused
from ..opensearch import pool_order, shard_allocation
from . import upgrade_lock, upgrade_record
from .guard import under_lock

PATIENCE = upgrade_lock.CONTRACT.argument_spec["wait_timeout"]["default"]
"""Seconds for the lock and for each API, whatever the time for the cluster to be fit."""


def begin(task: Task) -> Outcome:
    """Take the lock, plan again, put back what an interrupted run has left, and record what is about to be done.

    Where anything but the confirmed plan comes out, the lock is given back. All of it is waited for in one pass too,
    which could neither go on nor end without it. In check mode no lock is taken, and nothing is recorded.
    """
    patient = with_arguments(task, wait=True, wait_timeout=PATIENCE)
    begun = attempt(_begun, patient) if task.check_mode else _begun_with_lock(patient)
    # What is still waited for has not begun.
    reasons = (
        replace(one, state=State.REFUSED) if one.state is State.WAITING else one for one in begun.verdict.reasons
    )
    return replace(begun, verdict=Verdict(tuple(reasons)))


def end(task: Task) -> Outcome:
    """Record how the run ended, and give its lock back whatever becomes of the record."""
    patient = with_arguments(task, wait=True, wait_timeout=PATIENCE)
    with _given_back_on_failure(patient):
        recorded = attempt(lambda given: _record(under_lock(given), state="ended"), patient)
    released = attempt(_release, patient)
    verdict = combine((recorded.verdict, released.verdict))
    return Outcome(verdict, recorded.changed or released.changed, more=recorded.more)


def judge_same(digest: str, confirmed: str) -> Verdict:
    """The plan is still the one that was agreed to."""
    if digest == confirmed:
        return Verdict()
    changed = f"The plan has changed since it was shown: it was {confirmed} and is {digest} now."
    return Verdict((refused("plan_changed", changed, "Run again, and look at the new plan."),))


def with_arguments(task: Task, **own: Any) -> Task:
    """The same task with these arguments."""
    return replace(task, params={**task.params, **own})


@contextmanager
def _given_back_on_failure(task: Task) -> Iterator[None]:
    """The lock is given back on what is no verdict, too: an interruption, the time-out of the task, a bug."""
    try:
        yield
    except BaseException:
        attempt(_release, with_arguments(task, wait=False))
        raise


def _begun_with_lock(task: Task) -> Outcome:
    held = attempt(_hold, task)
    if not held.verdict.passed:
        return held
    locked = with_arguments(task, lock=held.more["lock"])
    with _given_back_on_failure(locked):
        begun = attempt(lambda given: _begun(under_lock(given)), locked)
    verdict = combine((held.verdict, begun.verdict))
    if verdict.passed:
        return replace(begun, verdict=verdict, more={**begun.more, "lock": held.more["lock"]})
    return replace(begun, verdict=combine((verdict, attempt(_release, locked).verdict)))


def _hold(task: Task) -> Outcome:
    return _part(task, upgrade_lock.CONTRACT, upgrade_lock.run, state="held", lock=None)


def _begun(task: Task) -> Outcome:
    """What is done under the lock."""
    plan = pool_order.run(task)
    verdict = combine((plan.verdict, judge_same(str(plan.more["digest"]), task.params["confirmed"])))
    if not verdict.passed:
        return replace(plan, verdict=verdict)
    restored = _part(task, shard_allocation.CONTRACT, shard_allocation.run, state="restored", members=[])
    verdict = combine((verdict, restored.verdict))
    if verdict.passed and not task.check_mode:
        recorded = _record(task, state="begun", plan={**plan.more, "before": plan.before})
        verdict = combine((verdict, recorded.verdict))
    # The difference is what was put back, the rest is the plan.
    return replace(restored, verdict=verdict, next=plan.next, more={**plan.more, "before": plan.before})


def _record(task: Task, **own: Any) -> Outcome:
    """Note it in the record; there is none where the members are on plain hosts."""
    if not task.params["namespace"]:
        return Outcome(Verdict())
    return _part(task, upgrade_record.CONTRACT, upgrade_record.run, members=[], **own)


def _release(task: Task) -> Outcome:
    return _part(replace(task, guard=None), upgrade_lock.CONTRACT, upgrade_lock.run, state="released")


def _part(task: Task, contract: Contract, run: Callable[[Task], Outcome], **own: Any) -> Outcome:
    """What another module gives in this task."""
    return run(replace(task, params=contract.arguments(task.params, **own)))
