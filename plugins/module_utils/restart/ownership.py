"""Whose an interrupted restart of all members is, where several clusters share a namespace."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..common.errors import Refusal, refusal
from ..common.task import Task, passed_or_raise
from ..common.verdict import Reason, refused
from ..common.waiting import Patience
from ..common.words import enumerate_few
from ..kubernetes.client import KubernetesClient
from ..kubernetes.rights import Right, may
from ..kubernetes.state import Namespace, Pod
from ..opensearch.observe.client import OpenSearchClient
from ..opensearch.observe.cluster import observe
from ..opensearch.observe.state import ClusterState
from ..run.lock.lease import Lease
from ..run.lock.lock import judge_free, name_for
from ..run.lock.lock_watch import LONGEST, PAUSE, Watch
from .act.marks import cluster_of
from .judge.phases import CLUSTER, RUN, SCHEDULED, word_of

REFUSING = frozenset({"opensearch_credentials", "opensearch_rights"})
"""The refusals of a process that is up and has judged the user. One by TLS may be of a scheme that changes now."""
READ_LOCK = Right("get", "coordination.k8s.io", "leases")
Pools = Mapping[str, list[str]]
"""The pods of an interrupted restart, by their pools."""


def of_own_cluster(
    task: Task, cluster: KubernetesClient, search: OpenSearchClient, there: Namespace, pools: Pools
) -> Pools:
    """The interrupted restarts without those of other clusters of the namespace, which only their own runs complete.

    All members of a cluster restart together. So if this one answers and has no member that a run has marked, that run
    was of another cluster. While it does not answer, the restart may be its own, unless a run that lives has the lock
    of the run which has marked it: then that one completes it. If the user names pools, it is not one of others.

    Raises:
        Refusal: this cluster does not answer, and such a run lives, or runs on several clusters have marked pods; or it
            refuses the user, and no pools are named.
    """
    pods = {pod.name: pod for pod in there.pods}
    state, key = _state(search, needed=not task.params["pools"]), task.params["annotation"]
    if state is None:
        return _without_answer(task, cluster, pods, pools)
    # A pod that a person has scheduled names no run, and no lock before a run stops its process. Until then it runs.
    lock, waiting = name_for(state.uuid), {each.value for each in SCHEDULED}
    runs = {
        name: pod.annotations.get(RUN, "")
        for name, pod in pods.items()
        if pod.annotations.get(CLUSTER, "") in {"", lock}
        and (pod.annotations.get(CLUSTER) or state.named(name) or word_of(pod.annotations, key) not in waiting)
    }
    own = {runs[name] for names in pools.values() for name in names if name in runs and state.named(name)}
    found = {pool: [name for name in names if runs.get(name) in own] for pool, names in pools.items()}
    return {pool: names for pool, names in found.items() if names}


def _without_answer(task: Task, cluster: KubernetesClient, pods: Mapping[str, Pod], pools: Pools) -> Pools:
    """The interrupted restarts that may be of a cluster which does not answer."""
    named, key = task.params["pools"], task.params["annotation"]
    locks = {name: pods[name].annotations.get(CLUSTER, "") for names in pools.values() for name in names}
    if any(locks.values()):
        # A run notes its lock on all pods before it stops a process.
        waiting = {each.value for each in SCHEDULED}
        begun = {name for name, lock in locks.items() if lock or word_of(pods[name].annotations, key) not in waiting}
        pools = {pool: [name for name in names if name in begun] for pool, names in pools.items() if begun & {*names}}
    pools = _of_named(pods, pools, named)
    noted = {locks[name] for names in pools.values() for name in names}
    if len(noted) > 1 and not named:
        raise _of_several(pools, locks)
    others, namespace = sorted(noted - {"", cluster_of(task)}), task.params["namespace"]
    # A user who may not read Leases keeps locks in the clusters, and this one does not answer.
    readable = task.ask(lambda: may(cluster, namespace, READ_LOCK)) if others else False
    for lock in others if readable else ():
        _judge_dead(task, Lease(cluster, namespace, lock))
    return pools


def _of_several(pools: Pools, locks: Mapping[str, str]) -> Refusal:
    owners = {
        lock: [pool for pool, names in pools.items() if any(locks[name] == lock for name in names)]
        for lock in sorted({locks[name] for names in pools.values() for name in names})
    }
    found = [f"{enumerate_few(each)} (lock {lock or 'unknown'})" for lock, each in owners.items()]
    return refusal(
        "restarts_of_several_clusters",
        f"This cluster does not answer, and interrupted restarts of several clusters are in its namespace: the pools"
        f" {enumerate_few(found)}.",
        "Name those of this cluster in pools (upgrade_pools).",
    )


def _of_named(pods: Mapping[str, Pod], pools: Pools, named: Collection[str]) -> Pools:
    """The interrupted restarts of the pools that the user names, if any, each as a whole: members that are started
    without the others which runs on the same cluster have stopped would not join."""
    locks = {pool: {pods[name].annotations.get(CLUSTER, "") for name in names} for pool, names in pools.items()}
    own = {lock for pool in named for lock in locks.get(pool, ()) if lock}
    return {pool: names for pool, names in pools.items() if not named or pool in named or own & locks[pool]}


def _state(search: OpenSearchClient, *, needed: bool) -> ClusterState | None:
    """The state of the cluster; None while it does not answer, or has no manager.

    A process that refuses the user is up, and its cluster may have no part in the restart. It may also be one without
    its manager, since Elasticsearch then cannot read its users. So its answer is `needed` unless pools are named.

    Raises:
        Refusal: it refuses the user, and its answer is needed.
    """
    try:
        state = observe(search)
    except Refusal as error:
        if needed and is_of_user(error):
            raise Refusal(*error.verdict.reasons, _unseen()) from error
        return None
    return state if state.elected is not None else None


def is_of_user(error: Refusal) -> bool:
    """Whether a process that is up refuses the user."""
    return bool({each.code for each in error.verdict.reasons} & REFUSING)


def _unseen() -> Reason:
    return refused(
        "restart_owner_unknown",
        "A restart of all members was interrupted in this namespace, and the cluster refuses to show whether it is its"
        " own.",
        "Correct the connection. If the cluster cannot know its users before it has a manager, name its pools in pools"
        " (upgrade_pools).",
    )


def _judge_dead(task: Task, lease: Lease) -> None:
    """Check that no living run holds this lock, which is watched for as long as it lasts.

    Raises:
        Refusal: one does, or the lock cannot be read.
    """
    watch = Watch(task, lease)
    _sight, verdict = task.wait_apart(
        watch.look, lambda sight: judge_free(sight, task.run, ""), Patience(LONGEST, PAUSE)
    )
    passed_or_raise(verdict)
