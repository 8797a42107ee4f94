"""The mark of a pool that has one extra member for the time of an upgrade. Pure.

The mark is an undo in an annotation of the StatefulSet. It is written in the same patch as the number of replicas, and
removed once the member, its pod and its volumes are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..common.errors import Refusal
from ..kubernetes.state import Pod, StatefulSet
from ..run.undo import undo_annotation
from ..run.undo.undo import Change, Undo, Writer
from .size import next_member

MARK = "upgrade.stateful/extra-member"
"""The annotation of the StatefulSet that has the mark."""
REPLICAS = ("spec", "replicas")
CLUSTER = "cluster"
"""The name of the UUID of its cluster in the mark."""


def mark_of(pool: StatefulSet) -> Undo | None:
    """The mark that a pool carries, if any.

    Raises:
        Refusal: it carries one that no run writes.
    """

    def is_known(change: Change) -> bool:
        numbers = (change.was, change.set_to)
        return (
            change.path == REPLICAS
            and all(isinstance(each, int) for each in numbers)
            and 0 <= change.was < change.set_to
        )

    return undo_annotation.carried_undo(_as_object(pool), is_known, MARK)


def extra_member_of(pool: StatefulSet) -> str:
    """The name of a pool's extra member for the time of an upgrade; empty if it has none, or no longer has it.

    It is also empty if the mark cannot be read: whatever acts on that mark is refused.
    """
    try:
        mark = mark_of(pool)
    except Refusal:
        return ""
    name = str(mark.more.get("member") or "") if mark is not None else ""
    return name if name in pool.member_names()[-1:] else ""


def is_of_cluster(pool: StatefulSet, cluster: str, members: Collection[str]) -> bool:
    """Whether the mark of a pool was made by a run of the cluster with this UUID and these members.

    Several clusters may share a namespace. The member of another one is never removed: only its own cluster can say
    whether it holds shards. A mark of an older version names no cluster, and one that cannot be read counts as its own.
    """
    try:
        mark = mark_of(pool)
    except Refusal:
        return True
    if mark is None or mark.more.get(CLUSTER):
        return mark is not None and mark.more[CLUSTER] == cluster
    return not mark.changes[0].was or not {*pool.member_names()}.isdisjoint(members)


def marking(pool: StatefulSet, writer: Writer, cluster: str) -> dict[str, Any]:
    """The merge patch that gives the pool one member more, with its mark. `cluster` is the UUID of the pool's own."""
    more = {"member": next_member(pool), CLUSTER: cluster}
    undo = Undo(writer, (Change(REPLICAS, pool.replicas, pool.replicas + 1),), more)
    return _patch(pool, undo, {REPLICAS: pool.replicas + 1})


def taking_over(pool: StatefulSet, mark: Undo, writer: Writer) -> dict[str, Any]:
    """The merge patch that makes the mark this run's. Its time stays the one at which the member was made."""
    return _patch(pool, replace(mark, writer=replace(writer, at=mark.writer.at)), {})


def shrinking(pool: StatefulSet, mark: Undo) -> dict[str, Any]:
    """The merge patch that takes the additional replica back; the mark stays until all of it is gone."""
    return _patch(pool, mark, {REPLICAS: mark.changes[0].was})


def unmarking(pool: StatefulSet) -> dict[str, Any]:
    """The merge patch that removes the mark."""
    return _patch(pool, None, {})


def claims_of(pool: StatefulSet, member: str) -> tuple[str, ...]:
    """The names of the volume claims of a member (Kubernetes documentation, StatefulSets, Stable Storage)."""
    return tuple(f"{each}-{member}" for each in pool.claims)


def changed_by_another(pool: StatefulSet, mark: Undo) -> str:
    """The words for a number of replicas that is neither the one before nor the one that the run has set."""
    change = mark.changes[0]
    return (
        f"Pool {pool.name} has {pool.replicas} replicas. Run {mark.writer.run} had changed them from {change.was} to"
        f" {change.set_to}, and something else has changed them since."
    )


def without_absent_extra(
    pool: StatefulSet, pods: Mapping[str, Pod], members: Collection[str]
) -> tuple[StatefulSet, dict[str, Pod]]:
    """The pool and its pods without an extra member that is not in the cluster: no plan needs it or brings it back."""
    extra = extra_member_of(pool)
    if not extra or extra in members:
        return pool, dict(pods)
    return replace(pool, replicas=pool.replicas - 1), {name: pod for name, pod in pods.items() if name != extra}


def _patch(pool: StatefulSet, undo: Undo | None, values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    patch = undo_annotation.patch_of(_as_object(pool), undo, values, MARK)
    patch["metadata"]["uid"] = pool.uid
    return patch


def _as_object(pool: StatefulSet) -> dict[str, Any]:
    metadata = {"name": pool.name, "resourceVersion": pool.resource_version, "annotations": dict(pool.annotations)}
    return {"kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": pool.replicas}}
