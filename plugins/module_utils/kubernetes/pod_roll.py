# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replacing the members of one batch: prove, delete exactly the pods observed, follow the new ones until they joined.

Knows nothing of what runs in the pods: the caller brings the proof (may they go down now?) and the question whether
they have joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..common.errors import Conflict, Refusal, Unreachable
from ..common.task import Outcome, Task
from ..common.verdict import State, Verdict, combine
from .client import KubernetesClient
from .follow import Follower, View, pool_of, timings_text, verdict_of
from .judge import (
    judge_controller,
    judge_members,
    judge_others,
    judge_revision,
    judge_strategy,
    pod_is_current,
    pod_is_settled,
)
from .pods import pod_path, pods_of
from .state import Pod, StatefulSet
from .stateful_sets import get_stateful_set


@dataclass(frozen=True)
class _Share:
    """The members of a batch that are of one pool, as observed immediately before anything is done to them."""

    pool: StatefulSet
    pods: Mapping[str, Pod]
    members: Sequence[str]

    @property
    def outdated(self) -> tuple[Pod, ...]:
        """The pods to delete: of another revision, Ready or broken, and not already on their way out."""
        found = (self.pods[name] for name in self.members if name in self.pods)
        return tuple(pod for pod in found if not pod_is_current(self.pool, pod) and not pod.terminating)

    @property
    def settled(self) -> tuple[str, ...]:
        """The members that are where they should be."""
        return tuple(n for n in self.members if n in self.pods and pod_is_settled(self.pool, self.pods[n]))

    def judge_observed(self) -> Verdict:
        """Whether what is seen of the pool can be built on."""
        return combine([judge_revision(self.pool), judge_controller(self.pool), judge_members(self.pool, self.members)])

    def judge_alone(self) -> Verdict:
        """Whether the deletion does what it should, and nothing else of the pool is down."""
        return combine(
            [judge_strategy(self.pool, self.pods, self.members), judge_others(self.pool, self.pods, self.members)]
        )


@dataclass(frozen=True)
class _Batch:
    """A batch over all its pools, and whether it may go down."""

    shares: Sequence[_Share]
    members: Sequence[str]
    verdict: Verdict

    @property
    def outdated(self) -> tuple[Pod, ...]:
        """The pods to delete."""
        return tuple(pod for share in self.shares for pod in share.outdated)

    @property
    def settled(self) -> tuple[str, ...]:
        """The members that are where they should be."""
        return tuple(name for share in self.shares for name in share.settled)

    @property
    def pods(self) -> dict[str, Pod]:
        """The pods of all its pools."""
        return {name: pod for share in self.shares for name, pod in share.pods.items()}

    @property
    def revisions(self) -> dict[str, str]:
        """The revision that each pool wants."""
        return {share.pool.name: share.pool.update_revision or "" for share in self.shares}

    def followed(self) -> dict[str, str]:
        """The members to follow, each with the UID that is to go; empty for one that is gone, going, or not Ready."""
        uids = {pod.name: pod.uid for pod in self.outdated}
        return {name: uids.get(name, "") for name in self.members if name not in self.settled}


@dataclass
class _Done:
    """What has been done so far, kept through any refusal."""

    deleted: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Questions:
    """What is asked of whatever runs in the pods."""

    proof: Callable[[Sequence[StatefulSet]], Verdict]
    """May they, of these pools, go down? On fresh state, after the pods were observed and before the first deletion."""
    joined: Callable[[], Verdict]
    """Have they joined? Asked once all pods of the batch are Ready."""
    early: Callable[[Collection[str]], bool] | None = None
    """Where it is enough that members have joined: have these, as other processes than at the proof?"""


def roll(
    task: Task,
    client: KubernetesClient,
    namespace: str,
    pools: Sequence[str],
    members: Sequence[str],
    questions: Questions,
) -> Outcome:
    """Bring the members of one batch onto the revision that the pool of each wants.

    Members already there are left alone; one that is on its way is followed.
    A refusal after a deletion still tells what was done, in `actions` and `members`.

    Raises:
        Refusal: before anything was done, if the pool cannot be observed.
    """

    def observe() -> _Batch:
        return _observe(client, namespace, pools, members, questions.proof)

    if task.check_mode:
        return _planned(task, observe(), questions.joined)
    given = task.params.get("proof_timeout")
    batch, verdict = task.wait(observe, lambda seen: seen.verdict, stoppable=True, hands_back_after=given)
    done = _Done()
    if not verdict.passed:
        return _outcome(batch, done, verdict)
    followed = [share.pool for share in batch.shares]
    follower = Follower(client, task.clock, followed, batch.followed(), questions.joined, questions.early)
    try:
        _delete(task, client, batch, done)
        view, verdict = task.wait(follower.look, verdict_of)
    except Refusal as error:
        return _outcome(batch, done, task.verdict_of(error), follower)
    if verdict.passed:
        for name in batch.followed():
            how = "joined, and Ready soon" if view.early else "Ready and joined"
            task.progress(f"{name} is back, {how} ({timings_text(follower.timings(name))} s)")
    return _outcome(batch, done, verdict, follower, view)


def _observe(
    client: KubernetesClient,
    namespace: str,
    pools: Sequence[str],
    members: Sequence[str],
    proof: Callable[[Sequence[StatefulSet]], Verdict],
) -> _Batch:
    seen = [get_stateful_set(client, namespace, name) for name in pools]
    bare = [_Share(pool, {}, each) for pool, each in zip(seen, _divided(seen, members), strict=True)]
    verdict = combine(share.judge_observed() for share in bare)
    if not verdict.passed:
        return _Batch(bare, members, verdict)
    batch = _Batch([_Share(one.pool, pods_of(client, one.pool), one.members) for one in bare], members, verdict)
    if not batch.outdated:
        return batch
    alone = combine(share.judge_alone() for share in batch.shares if share.outdated)
    return _Batch(batch.shares, members, proof(seen) if alone.passed else alone)


def _divided(pools: Sequence[StatefulSet], members: Sequence[str]) -> list[list[str]]:
    """The members of each pool; those that are of none are left to the first, which does not know them."""
    divided: list[list[str]] = [[] for _pool in pools]
    for name in members:
        place = next((number for number, pool in enumerate(pools) if pool.ordinal(name) is not None), 0)
        divided[place].append(name)
    return divided


def _planned(task: Task, batch: _Batch, joined: Callable[[], Verdict]) -> Outcome:
    """Check mode: what would be done, and what the proof says of it now."""
    done = _Done()
    if batch.verdict.state is not State.REFUSED:
        for pod in batch.outdated:
            done.deleted.append(pod.name)
            task.journal.did("delete_pod", pod.name, uid=pod.uid, revision=pod.revision)
    verdict = joined() if batch.verdict.passed and not batch.outdated else batch.verdict
    return _outcome(batch, done, verdict)


def _delete(task: Task, client: KubernetesClient, batch: _Batch, done: _Done) -> None:
    for pod in batch.outdated:
        task.still_wanted()
        # Noted first: where the answer is lost, the deletion may have been made all the same.
        done.deleted.append(pod.name)
        try:
            gone = not client.delete(pod_path(pod.namespace, pod.name), pod.uid)
        except Conflict:
            gone = True
        except Unreachable:
            task.journal.did("delete_pod", pod.name, uid=pod.uid, revision=pod.revision, answer="lost")
            raise
        except Refusal:
            done.deleted.remove(pod.name)
            raise
        if gone:
            # Something else replaced it in this moment: its successor is followed, never deleted.
            done.deleted.remove(pod.name)
            task.progress(f"{pod.name} was deleted by something else in this moment")
            continue
        task.journal.did("delete_pod", pod.name, uid=pod.uid, revision=pod.revision)
        task.progress(f"{pod.name} deleted, to come back on revision {batch.revisions[pool_of(pod.name)]}")


def _outcome(
    batch: _Batch, done: _Done, verdict: Verdict, follower: Follower | None = None, view: View | None = None
) -> Outcome:
    sightings = {each.member: each for each in view.sightings} if view else {}
    pods = batch.pods
    results: list[dict[str, Any]] = []
    for name in batch.members:
        pod = sightings[name].pod if name in sightings else pods.get(name)
        node = pod.kubernetes_node if pod else ""
        result: dict[str, Any] = {"name": name, "action": _action(batch, done, name, follower), "kubernetes_node": node}
        if follower is not None:
            result.update(follower.timings(name))
            if verdict.state is State.REFUSED and name in sightings and not _settled(view, name):
                result.update(follower.evidence(sightings[name]))
        results.append(result)
    wanted, had = batch.revisions, {name: pods[name].revision for name in batch.members if name in pods}
    deleted = {name: wanted[pool_of(name)] for name in done.deleted}
    return Outcome(
        verdict=verdict,
        changed=bool(done.deleted),
        before={"revisions": wanted, "pods": had},
        after={"revisions": wanted, "pods": {**had, **deleted}},
        next="Run again to go on with this batch." if verdict.state is State.WAITING else "",
        more={"members": results},
    )


def _action(batch: _Batch, done: _Done, name: str, follower: Follower | None) -> str:
    if name in done.deleted:
        return "replaced"
    if name in batch.settled:
        return "kept"
    return "followed" if follower else "untouched"


def _settled(view: View | None, name: str) -> bool:
    if view is None or not view.pools:
        return False
    pods = [each.pod for each in view.sightings if each.member == name]
    return any(pod is not None and pod_is_settled(view.pools[pool_of(name)], pod) for pod in pods)
