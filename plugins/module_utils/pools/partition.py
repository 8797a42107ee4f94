"""Rolling a pool by lowering the partition of its RollingUpdate. Pure.

A partition counts from the first ordinal on. Pods at or above it come back on the new revision and are replaced by the
controller itself, the highest first; pods below come back on the old one (server source, stateful_set_control.go and
`newVersionedStatefulSetPod` in stateful_set_utils.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.errors import Refusal
from ..common.verdict import Reason, as_verdict, refused, remark, waiting
from ..common.words import enumerate_few
from ..kubernetes.state import Pod, StatefulSet
from .judge import judge_strategy, let_through
from .pool_changes import carried_undo, holds


def rolled_by_partition(pool: StatefulSet) -> bool:
    """Whether a run has set the pool's partition, to lower it member by member.

    Raises:
        Refusal: the pool carries an undo that cannot be read.
    """
    undo = carried_undo(pool)
    return undo is not None and undo.changes[0].set_to["type"] == "RollingUpdate" and holds(undo, pool)


@as_verdict
def judge_own_partition(pool: StatefulSet, *, by_partition: bool) -> Iterator[Reason]:
    """A remark if the user has given the pool a partition, to have only the pods above it replaced.

    `by_partition` says that the run rolls the pool by its partition. An undo that cannot be read is a refusal.
    """
    try:
        undo = carried_undo(pool)
    except Refusal as error:
        yield from error.verdict.reasons
        return
    was = undo.changes[0].was if undo is not None and holds(undo, pool) else pool.update_strategy
    own = (was.get("rollingUpdate") or {}).get("partition") or 0
    becomes = (
        f"its partition becomes {pool.replicas} and is lowered member by member"
        if by_partition
        else "its strategy becomes OnDelete"
    )
    if own:
        yield remark(
            "partition_replaced",
            f"StatefulSet {pool.name} has partition {own} of its own. The plan replaces the members below it, too."
            f" When its turn comes, {becomes}. RollingUpdate with partition {own} is put back once all its pods are"
            " of the new revision.",
            "To leave members as they are, name the others in members (upgrade_members).",
        )


def lowered_for(pool: StatefulSet, going: Collection[str]) -> StatefulSet:
    """The pool as it is once its partition lets the pods `going` through.

    It is the same pool if the partition does so already, or was not set by a run.
    """
    places = [pool.place(name) for name in going]
    if not places or not rolled_by_partition(pool) or min(places) >= pool.partition:
        return pool
    rolling = {**(pool.update_strategy.get("rollingUpdate") or {}), "partition": min(places)}
    return replace(pool, update_strategy={**pool.update_strategy, "rollingUpdate": rolling})


@as_verdict
def judge_one_at_a_time(pool: StatefulSet, going: Collection[str]) -> Iterator[Reason]:
    """Whether a lowered partition would let only one pod through, since the controller replaces those by itself."""
    if len(going) > 1 and rolled_by_partition(pool):
        yield refused(
            "partition_one_at_a_time",
            f"The partition of StatefulSet {pool.name} would let {enumerate_few(going)} through at once, and its"
            " controller would replace the second without any proof.",
            "Replace them one after the other, or roll the pool with strategy OnDelete.",
        )


@as_verdict
def judge_rolling(pool: StatefulSet, pods: Mapping[str, Pod]) -> Iterator[Reason]:
    """Whether the controller replaces no pods of this pool by itself now. The proof of another batch does not allow for
    that.

    A pod that a run has let through by its partition is waited for, since that ends by itself. A run lets no two
    through at once (`judge_one_at_a_time`): then another has lowered the partition, such as a deployer that applies its
    own.
    """
    reasons = judge_strategy(pool, pods, ()).reasons
    if reasons and len(let_through(pool, pods)) == 1 and rolled_by_partition(pool):
        return (waiting(one.code, one.message, "It ends by itself.") for one in reasons)
    return (replace(one, remedy=f"Let that end, or stop it: {holding(pool)}.") for one in reasons)


def holding(pool: StatefulSet) -> str:
    """The command that keeps the controller from replacing pods of a pool by itself."""
    patch = '{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}'
    return f"kubectl patch statefulset {pool.name} -n {pool.namespace} -p '{patch}'"


@as_verdict
def judge_same(was: StatefulSet, pool: StatefulSet) -> Iterator[Reason]:
    """Whether this is still the observed set. A set that is made again under its name takes over the pods it finds."""
    if was.uid == pool.uid:
        return
    rolls = pool.strategy == "RollingUpdate"
    does = "replaces pods by itself, without any gate" if rolls else "replaces nothing by itself (OnDelete)"
    remedy = "Find out who made it again, then run again."
    yield refused(
        "pool_made_again",
        f"StatefulSet {pool.name} was deleted and made again during the run (its UID was {was.uid} and is"
        f" {pool.uid}); the new one {does}.",
        f"Stop that: {holding(pool)}. {remedy}" if rolls else remedy,
    )


def lowering(pool: StatefulSet, wanted: StatefulSet) -> dict[str, Any]:
    """The patch from `pool` to `wanted`. It fails if the pool was changed since it was observed."""
    return {
        "metadata": {"resourceVersion": pool.resource_version},
        "spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": wanted.partition}}},
    }
