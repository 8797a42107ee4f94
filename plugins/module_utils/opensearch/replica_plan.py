"""The replicas that a run gives to indices without one, in its plan: whether there is a place, and the cluster then."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.task import Task
from ..common.verdict import Verdict, combine
from .act.raising import look_at_single, wanted_replicas
from .judge.drain import size_text
from .judge.index_names import IndexNames, index_names, judge_covered
from .judge.replicas import Raising, RaisingLook, judge_planned_raising, judge_raising, single_indices
from .observe.client import connect
from .observe.state import ClusterState

RAISES = "raises"
"""The part of a plan with the replicas that its run makes."""


@dataclass(frozen=True)
class PlannedReplicas:
    """The replicas that a run makes, in its plan."""

    state: ClusterState
    """The cluster as if they were started."""
    to_agree: ClusterState
    """The same without the indices that cannot get one: they are refused already."""
    verdict: Verdict = field(default_factory=Verdict)
    result: dict[str, Any] = field(default_factory=dict)
    """Plain data; empty if the run makes none."""
    conditions: tuple[str, ...] = ()
    """The words for them that consent covers."""


def plan_replicas(task: Task, state: ClusterState, going: Collection[str]) -> PlannedReplicas:
    """The replicas of indices of which one of the members in `going` has the only copy of a shard.

    Raises:
        Refusal: the options cannot be understood, or the servers give no answer.
    """
    wanted = wanted_replicas(task.params)
    if not wanted:
        return PlannedReplicas(state, state)
    names = single_indices(state, going, wanted)
    raising = task.ask(lambda: judge_raising(_look(task, state, names, going), _allowed(task)))
    verdict = combine((raising.verdict, judge_planned_raising(raising), judge_covered(state, wanted, "raise_replicas")))
    planned = raising.as_if(state)
    result = {
        "indices": raising.indices,
        "shards": len(raising.places),
        "bytes": raising.bytes,
        "seconds": round(raising.seconds),
    }
    return PlannedReplicas(planned, _without(planned, raising), verdict, result, (f"raise_replicas: {wanted}",))


def as_if_raised(task: Task, state: ClusterState) -> ClusterState:
    """In check mode the cluster as if the replicas were started that the run would have made; otherwise as it is."""
    if not task.check_mode:
        return state
    return plan_replicas(task, state, task.params["batch"]).state


def _look(task: Task, state: ClusterState, names: list[str], going: Collection[str]) -> RaisingLook:
    if not names:
        return RaisingLook(state, {})
    return look_at_single(connect(task.params["opensearch"], task.params["kubernetes"]), state, names, going)


def _allowed(task: Task) -> IndexNames:
    return index_names(task.params["allow_single_copy"], "allow_single_copy")


def _without(state: ClusterState, raising: Raising) -> ClusterState:
    copies = tuple(copy for copy in state.copies if copy.index not in raising.refused)
    return replace(state, copies=copies)


def raised_words(raises: dict[str, Any]) -> str:
    """The change of a plan in words; empty if it makes no replica."""
    count = len(raises.get("indices", ()))
    if not count:
        return ""
    return f"a replica of {count} {'index' if count == 1 else 'indices'} ({size_text(raises['bytes'])})"
