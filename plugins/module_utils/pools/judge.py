"""Judging a pool: whether its revision is known, another governs it, and a deletion would bring the new revision.

The facts are those of the StatefulSet controller: under OnDelete `currentRevision` never advances, so the only sound
test of a pod is its own revision label against `updateRevision`, once `observedGeneration` has caught up.
Pure: from observations to verdicts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ..common.verdict import Reason, as_verdict, refused, waiting
from ..common.words import enumerate_few
from ..kubernetes.state import Pod, StatefulSet


@as_verdict
def judge_revision(pool: StatefulSet) -> Iterator[Reason]:
    """Whether the controller has seen the pool's template, so that `update_revision` is true."""
    seen = pool.observed_generation
    if seen is None or seen < pool.generation or pool.update_revision is None:
        yield waiting(
            "revision_not_observed",
            f"The StatefulSet controller has not yet taken up the latest change of {pool.name}.",
            "If this lasts, check that kube-controller-manager runs.",
        )


def pod_is_current(pool: StatefulSet, pod: Pod) -> bool:
    """Whether a pod is of the revision that the pool wants. This is true only if `judge_revision` passes."""
    return pool.update_revision is not None and pod.revision == pool.update_revision


def pod_is_settled(pool: StatefulSet, pod: Pod) -> bool:
    """Whether a pod is of the wanted revision, Ready, and not being deleted."""
    return pod_is_current(pool, pod) and pod.ready and not pod.terminating


def unsettled(pool: StatefulSet, pods: Mapping[str, Pod]) -> tuple[str, ...]:
    """The names of the pool's pods that are missing, of another revision, not Ready, or being deleted."""
    return tuple(name for name in pool.member_names() if name not in pods or not pod_is_settled(pool, pods[name]))


def pool_of(pools: Iterable[StatefulSet], member: str) -> StatefulSet | None:
    """The pool that keeps a pod of this name; there is at most one, since a set names its pods after itself."""
    return next((pool for pool in pools if pool.ordinal(member) is not None), None)


@as_verdict
def judge_others(pools: Sequence[StatefulSet], pods: Mapping[str, Pod], batch: Collection[str]) -> Iterator[Reason]:
    """Whether every pod of these pools outside the batch is up. That is not required if the whole batch is down.

    A batch that is only partly down does not count: its other part would go down as well, whatever its pool.
    """
    if not any(pod.ready and not pod.terminating for name, pod in pods.items() if name in batch):
        return
    for pool in pools:
        down = [name for name in pool.member_names() if name not in batch and is_down(pods.get(name))]
        if down:
            yield waiting(
                "other_pod_not_ready",
                f"Pods of pool {pool.name} are not Ready: {enumerate_few(down)}. "
                f"No other pod {'of it ' if len(pools) == 1 else ''}is taken down until they are.",
                "Bring these pods back first.",
            )


@as_verdict
def judge_available(pool: StatefulSet, pods: Mapping[str, Pod], going: Collection[str]) -> Iterator[Reason]:
    """Whether the controller of a pool would go on at once with the pods `going`, although it has `minReadySeconds`.

    As long as a Ready pod is not available yet, it replaces none of lower ordinal by itself, so that a pod which a
    partition lets through now would go long after the proof. In order it makes none again whose ordinal is above that
    of such a pod, so that a member which goes now would be away for all that time. All wait for the same time, so those
    that became Ready last are not available (server source, stateful_set_control.go, `isRunningAndAvailable`).
    """
    ready = [pod for pod in pods.values() if pod.ready and not pod.terminating]
    waits = len(ready) - pool.available
    if not going or not pool.min_ready_seconds or waits <= 0:
        return
    since = sorted(pod.ready_since for pod in ready)[-waits]
    late = [pool.place(pod.name) for pod in ready if pod.ready_since >= since and pod.name not in going]
    places = [pool.place(name) for name in going]
    held = pool.in_order and any(place < max(places) for place in late)
    if held or (pool.strategy != "OnDelete" and any(place > min(places) for place in late)):
        yield waiting(
            "pods_not_available",
            f"Of the {len(ready)} Ready pods of StatefulSet {pool.name}, {pool.available} have been Ready for its"
            f" minReadySeconds ({pool.min_ready_seconds}). Until all have, its controller does nothing further.",
            "It ends by itself.",
        )


def is_down(pod: Pod | None) -> bool:
    """Whether a pod is missing, not Ready, or being deleted."""
    return pod is None or not pod.ready or pod.terminating


@as_verdict
def judge_members(pools: Sequence[StatefulSet], members: Collection[str]) -> Iterator[Reason]:
    """Whether every name is that of a pod which one of these pools keeps."""
    strangers = [name for name in members if pool_of(pools, name) is None]
    if not strangers:
        return
    names = [pool.member_names() for pool in pools]
    spans = [f"{own[0]} to {own[-1]}" if own else "none: it has no replicas" for own in names]
    if len(pools) == 1:
        message = f"StatefulSet {pools[0].name} has no pod {', '.join(strangers)} (its pods are {spans[0]})."
    else:
        named = "; ".join(f"{pool.name}: {span}" for pool, span in zip(pools, spans, strict=True))
        message = f"None of the StatefulSets has a pod {', '.join(strangers)} (their pods are {named or 'none'})."
    remedy = "Set the replicas as they were if these members are to stay. Then make the plan again."
    yield refused("member_unknown", message, remedy)


def let_through(pool: StatefulSet, pods: Mapping[str, Pod]) -> list[str]:
    """The pods that the controller of a pool with RollingUpdate replaces: outdated, and not below the partition."""
    return [n for n, pod in sorted(pods.items()) if pool.place(n) >= pool.partition and not pod_is_current(pool, pod)]


@as_verdict
def judge_strategy(pool: StatefulSet, pods: Mapping[str, Pod], batch: Collection[str]) -> Iterator[Reason]:
    """Whether deleting the pods of the batch brings them, and only them, onto the new revision.

    OnDelete always does. RollingUpdate does so only if every pod of the batch is at or above the partition (below it, a
    pod comes back on the old revision) and no other pod there is outdated (the controller would replace it by itself).
    """
    if pool.strategy == "OnDelete":
        return
    remedy = "Set the pool's strategy to OnDelete first: module stateful.upgrade.pool_image does it with the image."
    below = [name for name in batch if pool.place(name) < pool.partition]
    if below:
        message = (
            f"StatefulSet {pool.name} is RollingUpdate with partition {pool.partition}: "
            f"{', '.join(below)} would come back on the old revision."
        )
        yield refused("strategy_keeps_old_revision", message, remedy)
        return
    others = [name for name in let_through(pool, pods) if name not in batch]
    if others:
        message = (
            f"StatefulSet {pool.name} is RollingUpdate: its controller would replace {', '.join(others)} by itself, "
            "without any gate."
        )
        yield refused("strategy_rolls_by_itself", message, remedy)


@as_verdict
def judge_controller(pool: StatefulSet) -> Iterator[Reason]:
    """Whether another controller owns the pool: it would undo the changes of a run, or make them by its own rules."""
    owner = pool.owner
    if owner is not None and owner.controller:
        yield refused(
            "pool_owned",
            f"StatefulSet {pool.name} is controlled by {owner.kind} {owner.name} ({owner.api_version}).",
            f"Change the version in {owner.kind} {owner.name}, or remove that owner from the StatefulSet.",
        )
