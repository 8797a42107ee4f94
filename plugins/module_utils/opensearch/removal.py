"""The removal of one member that holds no shard any more: proven like a batch, then its pool gets one less member."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ..common.attempts import proven_and_prepared
from ..common.errors import Unreachable
from ..common.task import Outcome, Task, passed_or_raise
from ..common.verdict import Reason, Verdict, as_verdict, combine, waiting
from ..common.waiting import Patience
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import StatefulSet
from ..kubernetes.stateful_sets import named_in, observe_namespace
from ..pools.pod_deletion import PROOF_AGE
from ..pools.resizing import resize
from ..pools.size import judge_last
from .batch_proof import BatchProof
from .judge.sizes import judge_empty
from .observe.client import OpenSearchClient
from .observe.cluster import observe, observe_members


@dataclass(frozen=True)
class _Observed:
    """One look at the member that is to go."""

    pool: StatefulSet
    verdict: Verdict
    kept: bool
    """Whether its pool still keeps it."""


Done = TypeVar("Done")
Shrink = Callable[[], bool]
"""Takes one member from the pool. The result says whether its number has changed."""


def remove_member(
    task: Task, cluster: KubernetesClient, search: OpenSearchClient, shrink: Shrink | None = None
) -> Outcome:
    """Remove the one member of the batch, and wait until its pod and the member are gone.

    `shrink` is used in place of the plain change of the number of replicas.

    Raises:
        Refusal: an API gives no answer, or the pool is not as it was planned.
    """
    (name,), (of_pool,) = task.params["batch"], task.params["pools"]
    namespace = task.params["namespace"]
    proof = BatchProof(task, search, None, loses_data=False)
    begun = task.clock.now()

    def look() -> _Observed:
        there = observe_namespace(cluster, namespace)
        pool = named_in(there, of_pool)
        if name not in pool.member_names():
            return _Observed(pool, Verdict(), kept=False)
        there.need(set(pool.member_names()))
        proven = proof.proof((pool,), there, ())
        empty = judge_empty(observe(search), [name])
        return _Observed(pool, combine((judge_last(pool, name), proven, empty)), kept=True)

    def looked() -> tuple[_Observed, Verdict]:
        return task.wait(look, lambda seen: seen.verdict, stoppable=True, in_vain=proof.in_vain)

    act = shrink or partial(resize, task, cluster, namespace, of_pool, partial(_fewer, name))

    def proven_and_made() -> tuple[_Observed, Verdict, bool]:
        seen, verdict = proven_and_prepared(looked, lambda seen: seen.kept and proof.prepare([name]), proof.again)
        return seen, verdict, seen.kept and verdict.passed and while_proven(task, act)

    seen, verdict, changed = proven_anew(task, proven_and_made)
    if verdict.passed and not task.check_mode:
        _gone, verdict = task.wait(lambda: judge_gone(cluster, search, namespace, name), lambda found: found)
    took = round(task.clock.now() - begun, 2) if changed else None
    member = {"name": name, "pool": of_pool, "action": "untouched", "phase": "", "uid": ""}
    before = {"replicas": seen.pool.replicas}
    return Outcome(
        combine((verdict, Verdict(proof.remarks))),
        changed or bool(task.journal.as_result()),
        before=before,
        after={"replicas": seen.pool.replicas - 1} if changed else before,
        more={"members": [{**member, "total_seconds": took, **_removed(changed or not seen.kept)}]},
    )


def _fewer(name: str, pool: StatefulSet) -> int:
    """The replicas of a pool without this member."""
    if name in pool.member_names():
        passed_or_raise(judge_last(pool, name))
        return pool.replicas - 1
    return pool.replicas


def while_proven(task: Task, shrink: Shrink) -> bool:
    """Whether the pool is smaller. A lost answer is followed by another look, for as long as the proof holds.

    Raises:
        Unreachable: no answer came in that time, so it has to be proven again that the member may go.
    """
    patience = Patience(PROOF_AGE, 0.5, hands_back=True)
    done, _verdict = task.wait_apart(shrink, lambda _done: Verdict(), patience)
    return done or task.journal.unconfirmed


def proven_anew(task: Task, step: Callable[[], Done]) -> Done:
    """The result of a step that proves and acts, which is made again if no answer came for longer than the proof holds.

    Raises:
        Unreachable: none came within the time limit of the task.
    """
    begun = task.clock.now()
    while True:
        try:
            return step()
        except Unreachable:
            if not task.params["wait"] or task.clock.now() - begun >= task.params["wait_timeout"]:
                raise


def _removed(gone: bool) -> dict[str, str]:
    """The action of a member that is no longer in its pool, even if a run that was killed has removed it."""
    return {"action": "removed"} if gone else {}


@as_verdict
def judge_gone(cluster: KubernetesClient, search: OpenSearchClient, namespace: str, name: str) -> Iterator[Reason]:
    """Whether neither the pod nor the member is there any more.

    Raises:
        Refusal: an API gives no answer.
    """
    pods = {pod.name for pod in observe_namespace(cluster, namespace).pods}
    if name in pods or name in observe_members(search, [name]):
        yield waiting(
            "removal_unfinished",
            f"Member {name} is leaving: its {'pod ends' if name in pods else 'connection ends'}.",
            "It ends with the grace period of the pod. Look at the events of the pod if it does not.",
            about=name,
        )
