"""Replacing the members of one batch: prove, delete exactly the pods observed, follow the new ones until they joined.

The members may be of several pools. This code knows nothing of the server in the pods: the caller brings the proof (may
they go down now?) and the question whether they have joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..common.attempts import proven_and_prepared, until_unchanged
from ..common.errors import Conflict, Refusal, Unreachable
from ..common.task import Outcome, Task
from ..common.verdict import State, Verdict, combine
from ..common.voice import Stages
from ..common.words import duration, enumerate_few
from ..kubernetes.client import KubernetesClient
from ..kubernetes.owners import judge_owned
from ..kubernetes.pods import list_budgets
from ..kubernetes.state import Namespace, Pod, StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set, observe_pools, path_of
from .admission import judge_successors
from .crash_log import with_cause
from .disruption import judge_budgets
from .follow import Follower, Replaced, Replacing, View
from .judge import (
    judge_available,
    judge_controller,
    judge_members,
    judge_others,
    judge_revision,
    judge_strategy,
    pod_is_current,
)
from .partition import judge_one_at_a_time, lowering
from .pod_deletion import PROOF_AGE, delete_pod, judge_looks, may_be_gone
from .put_back import judge_put_back
from .quota_room import FreedSoon
from .replacement import STAGES, ReplacementStage
from .roll_batch import Done, ObservedBatch

Proof = Callable[[Sequence[StatefulSet], Namespace, Collection[str]], Verdict]
"""The verdict on the batch, from its pools, their whole namespace, and its members that are deleted already, or that
their controller was let to replace."""

ATTEMPTS = 10
"""Tries to lower a partition. Every status update changes the resourceVersion that guards it."""


@dataclass(frozen=True)
class Questions:
    """The questions to the system that runs in the pods."""

    proof: Proof
    """May the batch go down together? It is asked on fresh state, after all pods were observed, before any deletion."""
    joined: Callable[[Collection[str], Collection[str]], Verdict]
    """Have these members joined, and those of the second list as other processes than at the proof, since their pods
    were deleted after it? It is asked once all their pods are Ready."""
    early: Callable[[Collection[str]], bool] | None = None
    """Have these members joined, as other processes than at the proof? It is given if they need not be Ready."""
    prepare: Callable[[Collection[str]], bool] | None = None
    """Make the next preparation before these members go, once it is proven that they may. True says that it did
    something, so that the proof is made again. In check mode it only notes what it would do."""
    in_vain: Callable[[], bool] | None = None
    """Is it useless to wait for the last proof unless the caller acts?"""
    again: Callable[[Verdict], bool] | None = None
    """Take back the preparations, since the proof does not hold. True says that the proof is worth another try."""
    marked: Callable[[Pod], bool] = lambda _pod: False
    """Is this pod to be replaced although it is of the wanted revision? Its successor must not be."""
    as_set: bool = False
    """Do the pools have to have the image and the strategy that their undo says a run has set?"""
    leaves: frozenset[str] = frozenset()
    """The Kubernetes nodes that the members are to leave: each of their pods there is replaced, whatever its revision,
    and the roll waits only until these are gone. Without any, all members have to come back."""
    before: Callable[[Pod], None] = lambda _pod: None
    """Make the last act before this very pod is deleted, while the proof is fresh. It may be made again."""


def roll(
    task: Task,
    client: KubernetesClient,
    namespace: str,
    pools: Sequence[str],
    members: Sequence[str],
    questions: Questions,
) -> Outcome:
    """Bring the members of one batch onto the revision that the pool of each wants.

    The proof is asked for the whole batch; if the deletions take long, it is asked again between them. If it does not
    hold any more, the remaining members stay up, and the verdict says so when the others are back. Members already on
    the revision are left alone; one on its way is followed. A refusal after a deletion still reports the acts, in
    `actions` and `members`.

    Raises:
        Refusal: a pool cannot be observed; nothing was done yet.
    """

    done = Done()

    freed = FreedSoon(task.clock)

    def observe() -> ObservedBatch:
        begun = task.clock.now()
        batch = _observe(client, namespace, pools, members, questions, done.gone)
        looked = judge_looks(task.clock.now() - begun) if batch.outdated and batch.verdict.passed else Verdict()
        return replace(batch, verdict=freed.judge(combine((batch.verdict, looked))))

    if task.check_mode:
        return _planned(task, observe(), questions, done)

    def proven() -> tuple[ObservedBatch, Verdict]:
        batch, verdict = _proven(task, observe, questions, done)
        done.proven_at = task.clock.now()
        if verdict.passed:
            _lower(task, client, batch, done)
        return batch, verdict

    batch, verdict = until_unchanged(proven, ATTEMPTS)
    if not verdict.passed:
        return _outcome(batch, done, verdict)
    return _replaced(task, client, batch, done, questions, observe)


def _proven(
    task: Task, observe: Callable[[], ObservedBatch], questions: Questions, done: Done
) -> tuple[ObservedBatch, Verdict]:
    """Wait for the proof. After each preparation it is made again."""

    def looked() -> tuple[ObservedBatch, Verdict]:
        given = task.params.get("proof_timeout")
        return task.wait(
            observe, lambda seen: seen.verdict, stoppable=True, hands_back_after=given, in_vain=questions.in_vain
        )

    def prepare(batch: ObservedBatch) -> bool:
        going = [pod.name for pod in batch.outdated]
        did = bool(going) and questions.prepare is not None and questions.prepare(going)
        done.prepared = done.prepared or (did and bool(task.journal.as_result()))
        return did

    return proven_and_prepared(looked, prepare, questions.again or (lambda _verdict: False))


def _observe(
    client: KubernetesClient,
    namespace: str,
    names: Sequence[str],
    members: Sequence[str],
    questions: Questions,
    deleted: Collection[str],
) -> ObservedBatch:
    there, pools = observe_pools(client, namespace, names)
    governed = [
        verdict
        for pool in pools
        for verdict in (
            judge_revision(pool),
            judge_controller(pool),
            judge_owned(pool, there.pods),
            judge_put_back(pool) if questions.as_set else Verdict(),
        )
    ]
    verdict = combine([*governed, judge_members(pools, members)])
    if not verdict.passed:
        return ObservedBatch(pools, {}, members, verdict, questions.marked)
    found = [there.pods_of(pool) for pool in pools]
    pods = {name: pod for each in found for name, pod in each.items()}
    batch = ObservedBatch(pools, pods, members, verdict, questions.marked)
    if not batch.outdated:
        return batch
    strategies = [
        combine(
            (
                judge_one_at_a_time(pool, batch.going(pool)),
                judge_strategy(batch.lowered(pool), each, batch.of(pool)),
                judge_available(pool, each, batch.going(pool)),
            )
        )
        for pool, each in zip(pools, found, strict=True)
    ]
    budgets = judge_budgets(list_budgets(client, namespace), batch.outdated)
    alone = combine([*strategies, judge_others(pools, pods, members), budgets])
    verdict = questions.proof(pools, there, deleted) if alone.passed else alone
    if verdict.passed:
        # The pods that go have to be admitted again.
        verdict = combine((verdict, judge_successors(client, batch.homes, batch.outdated)))
    return replace(batch, verdict=verdict)


def _planned(task: Task, batch: ObservedBatch, questions: Questions, done: Done) -> Outcome:
    """The outcome in check mode: the acts that would be made, and the verdict of the proof on them now."""
    if batch.verdict.state is not State.REFUSED and batch.outdated:
        names = [pod.name for pod in batch.outdated]
        # Each preparation notes its own acts in check mode.
        while questions.prepare is not None and questions.prepare(names):
            continue
        for pod in batch.outdated:
            done.deleted.append(pod.name)
            task.journal.did("delete_pod", pod.name, uid=pod.uid, revision=pod.revision)
    verdict = questions.joined(batch.members, ()) if batch.verdict.passed and not batch.outdated else batch.verdict
    return _outcome(batch, done, verdict)


def _lower(task: Task, client: KubernetesClient, batch: ObservedBatch, done: Done) -> None:
    """Lower partitions that a run has set. The controller then replaces Ready pods above them by itself.

    Raises:
        Conflict: a pool was changed since it was observed, or the answer was lost and its partition is not lowered.
    """
    for pool in batch.pools:
        wanted = batch.lowered(pool)
        if wanted is pool:
            continue
        task.still_wanted()
        details = {"partition": wanted.partition, "was": pool.partition}
        try:
            with task.journal.doing(("lower_partition", pool.name, details)):
                client.patch(path_of(pool.namespace, pool.name), lowering(pool, wanted))
        except Unreachable as lost:
            if not _is_lowered(task, client, wanted):
                raise Conflict(*lost.verdict.reasons) from lost
        task.progress(f"{pool.name} lets {', '.join(batch.going(pool))} through (partition {wanted.partition})")
        passing = [pod for pod in batch.outdated if batch.homes[pod.name] is pool and not pod_is_current(pool, pod)]
        done.let_through += [pod.name for pod in passing if pod.ready]


def _is_lowered(task: Task, client: KubernetesClient, wanted: StatefulSet) -> bool:
    """Whether the partition is as wanted by now. It is asked until an answer comes."""
    found = task.ask(lambda: get_stateful_set(client, wanted.namespace, wanted.name))
    return (found.uid, found.partition) == (wanted.uid, wanted.partition)


@dataclass
class _ProofWithAge:
    """The proof of a batch, which is made again once it is too old for a deletion."""

    task: Task
    client: KubernetesClient
    batch: ObservedBatch
    observe: Callable[[], ObservedBatch]
    done: Done

    def now(self, pod: Pod | None = None) -> Verdict:
        """The verdict on the next deletion. With `pod`, one of the same proof, its successor has to be admitted."""
        if self.task.clock.now() - self.done.proven_at < PROOF_AGE:
            return _answer_now(partial(judge_successors, self.client, self.batch.homes, [pod])) if pod else Verdict()
        verdict = _answer_now(lambda: self.observe().verdict)
        self.done.proven_at = self.task.clock.now()
        return verdict


def _delete(
    task: Task,
    client: KubernetesClient,
    batch: ObservedBatch,
    done: Done,
    questions: Questions,
    observe: Callable[[], ObservedBatch],
) -> Verdict:
    """Delete the pods one after another. A verdict that did not pass says why the rest stays up."""
    proof = _ProofWithAge(task, client, batch, observe, done)
    for number, pod in enumerate(batch.outdated):
        if pod.name in done.let_through:
            done.deleted.append(pod.name)
            continue
        verdict = proof.now(pod if number else None)
        if verdict.passed:
            questions.before(pod)
            # That may have taken long.
            verdict = proof.now()
        if not verdict.passed:
            done.left = [each.name for each in batch.outdated[number:]]
            why = " ".join(reason.message for reason in verdict.deciding())
            task.progress(f"The rest of the batch stays up for now: {enumerate_few(done.left)}. {why}")
            return verdict
        task.still_wanted()
        # The deletion is noted first: if the answer is lost, it may have been made all the same.
        done.deleted.append(pod.name)
        try:
            gone = not delete_pod(task, client, pod)
        except Conflict:
            gone = True
        except Refusal:
            if not may_be_gone(task, pod):
                done.deleted.remove(pod.name)
            raise
        if gone:
            # Something else has just replaced it: its successor is followed, never deleted.
            done.deleted.remove(pod.name)
            task.progress(f"{pod.name} was deleted by something else just now")
            continue
        task.progress(f"{pod.name} goes down{_green_before(task) if number == 0 else ''}")
    return Verdict()


def _green_before(task: Task) -> str:
    """The words for the seconds until all was green after the batch before, which were not known at its own line."""
    seconds = task.params.get("green_seconds")
    return "" if seconds is None else f", green within {duration(seconds)} of the batch before"


def _answer_now(ask: Callable[[], Verdict]) -> Verdict:
    """The verdict of a proof now. While members are down nothing waits for it, and a missing answer is not a pass."""
    try:
        return ask()
    except Unreachable as error:
        return error.as_waiting()


def _replaced(
    task: Task,
    client: KubernetesClient,
    batch: ObservedBatch,
    done: Done,
    questions: Questions,
    observe: Callable[[], ObservedBatch],
) -> Outcome:
    """Delete the pods that are proven to be allowed to go, and follow their members until they are back."""

    def joined() -> Verdict:
        return questions.joined([name for name in batch.members if name not in done.left], done.gone)

    stages = Stages(STAGES, task.params.get("usual_seconds"))
    follower = Follower(client, task.clock)
    how = Replacing(follower, batch.pools, batch.pods, joined, questions.early, still=not batch.outdated)
    how.leaves = questions.leaves
    for name, old_uid in batch.followed().items():
        follower.follow(name, old_uid, ReplacementStage.STOPPING if old_uid else None)
    try:
        stays = _delete(task, client, batch, done, questions, observe)
        follower.leave_out(done.left)
        view, verdict = replace(task, stages=stages).wait(how.look, lambda seen: seen.verdict)
    except Refusal as error:
        return _outcome(batch, done, task.verdict_of(error), follower)
    return _outcome(batch, done, combine((verdict, stays)), follower, view)


def _outcome(
    batch: ObservedBatch,
    done: Done,
    verdict: Verdict,
    follower: Follower | None = None,
    view: View[Replaced] | None = None,
) -> Outcome:
    homes, seen = batch.homes, view.seen if view else Replaced()
    results: list[dict[str, Any]] = []
    for name in batch.members:
        sighting = seen.sightings.get(name)
        pod = sighting.pod if sighting else batch.pods.get(name)
        node = pod.kubernetes_node if pod else ""
        result: dict[str, Any] = {
            "name": name,
            "pool": homes[name].name if name in homes else "",
            "action": _action(batch, done, name, follower),
            "kubernetes_node": node,
        }
        if follower is not None:
            result.update(follower.timings(name))
            if verdict.state is State.REFUSED and sighting and not seen.is_settled(name):
                result.update(follower.evidence(homes[name], pod, sighting.events))
        results.append(result)
    verdict = with_cause(verdict, results)
    revision = ", ".join(pool.update_revision or "" for pool in batch.pools)
    wanted = {name: homes[name].update_revision or "" for name in done.deleted}
    revisions = {name: batch.pods[name].revision for name in batch.members if name in batch.pods}
    return Outcome(
        verdict=verdict,
        changed=bool(done.deleted) or done.prepared,
        before={"revision": revision, "pods": revisions},
        after={"revision": revision, "pods": {**revisions, **wanted}},
        next="Run again to continue with this batch." if verdict.state is State.WAITING else "",
        more={"members": results},
    )


def _action(batch: ObservedBatch, done: Done, name: str, follower: Follower | None) -> str:
    if name in done.deleted:
        return "replaced"
    if name in batch.settled:
        return "kept"
    return "followed" if follower and name in follower.trails else "untouched"
