"""Kubernetes nodes that a run empties, with all members that are on them: the plan of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.version import Version
from .pools import Member, Pool

BY_NODE = "node"
"""The batching without which no Kubernetes node is emptied."""


def with_all_on_nodes(
    pools: Sequence[Pool], marked: Mapping[str, Collection[str]], target: Version, only: Collection[str]
) -> tuple[Pool, ...]:
    """The pools, in which every member on a Kubernetes node that is to be emptied goes.

    It is to be emptied if a member on it goes anyway, or if it is `marked`: an earlier run has started with it.
    Such a mark names the members that were there; some may have no Kubernetes node now.
    """
    homes = {name: node for node, names in marked.items() for name in names}

    def placed(member: Member) -> Member:
        return member if member.machine else replace(member, machine=homes.get(member.name, ""))

    members = [placed(member) for pool in pools for member in pool.members]
    emptied = {*marked} | {
        member.machine for member in members if member.behind(target) and (not only or member.name in only)
    }

    def due(member: Member) -> Member:
        again = member.machine in marked
        with_others = member.machine in emptied - {""} and not member.behind(target)
        return replace(member, due=member.due or with_others, again=again)

    return tuple(replace(pool, members=tuple(due(placed(member)) for member in pool.members)) for pool in pools)


@dataclass(frozen=True)
class EmptiedBatch:
    """A batch, and the Kubernetes nodes that are emptied with it."""

    name: str
    members: Sequence[str]
    kubernetes_nodes: tuple[str, ...] = ()


def emptied_with(batches: Iterable[Mapping[str, Any]], pools: Iterable[Pool]) -> list[EmptiedBatch]:
    """The Kubernetes nodes that are emptied with each batch of a plan; none with one that only brings a member back."""
    known = {member.name: member for pool in pools for member in pool.members}

    def nodes_of(batch: Mapping[str, Any]) -> tuple[str, ...]:
        members = [known[name] for name in batch["members"]]
        if batch["cures"] or any(member.version is None and not member.again for member in members):
            return ()
        return tuple(sorted({member.machine for member in members} - {""}))

    return [EmptiedBatch(str(batch["name"]), batch["members"], nodes_of(batch)) for batch in batches]


@as_verdict
def judge_emptied(
    pools: Sequence[Pool],
    batches: Sequence[EmptiedBatch],
    batching: str,
    reasons: Mapping[str, str],
    *,
    may_stand_still: bool = False,
) -> Iterator[Reason]:
    """Whether each batch takes all members that are on its Kubernetes nodes. `reasons` are those of the batches.

    `may_stand_still` says whether a batch may take the majority of the managers. A Kubernetes node is uncordoned by a
    run that has asked the cluster whose it is; members that wait for that node could not answer.
    """
    if batching != BY_NODE:
        yield refused(
            "emptied_by_node",
            f"Kubernetes nodes are to be emptied (tasks_emptied), and batches are cut by batching {batching}.",
            "Plan with batching node (upgrade_batching), or leave tasks_emptied out.",
        )
        return
    if may_stand_still and any(batch.kubernetes_nodes for batch in batches):
        yield refused(
            "emptied_standstill",
            "Kubernetes nodes are to be emptied (tasks_emptied), and the cluster may stand still for that time"
            " (allow_quorum_loss). A cluster that does not answer cannot get its node back.",
            "Leave allow_quorum_loss out, which needs three manager-eligible members on different Kubernetes nodes, or"
            " leave tasks_emptied out.",
        )
    going = {name for batch in batches for name in batch.members}
    for pool in (pool for pool in pools if pool.by_partition and any(member.name in going for member in pool.members)):
        yield refused(
            "emptied_by_partition",
            f"Kubernetes nodes are to be emptied (tasks_emptied), and the members of pool {pool.name} go by their"
            " ordinals, as a partition demands.",
            "Roll this pool with OnDelete (upgrade_strategy), or leave tasks_emptied out.",
        )
    said = set[str]()
    for batch in batches:
        for node in batch.kubernetes_nodes:
            there = {m.name for pool in pools for m in pool.members if m.machine == node and m.version is not None}
            left = there - {*batch.members}
            if left and node not in said:
                said.add(node)
                others = [reasons[each.name] for each in batches if node in each.kubernetes_nodes]
                yield _not_whole(node, batch, left, others)


def _not_whole(node: str, batch: EmptiedBatch, left: Collection[str], reasons: Sequence[str]) -> Reason:
    apart = next((each.rpartition("; apart from ")[2] for each in reasons if "; apart from " in each), "")
    why = f": it goes apart from {apart}" if apart else ""
    return refused(
        "node_not_emptied",
        f"Kubernetes node {node} cannot be emptied, since {enumerate_few(left)} on it cannot go with"
        f" {enumerate_few(batch.members)}{why}.",
        "Give the copies or members a place on other Kubernetes nodes, name all members of the node in members"
        " (upgrade_members), or leave tasks_emptied out.",
    )
