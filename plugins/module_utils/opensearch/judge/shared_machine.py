"""Members that share a machine, and the words for those that cannot go together although they do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...common.words import enumerate_few
from ...run.colouring import Placement, hindrance
from .pools import Member, Pool


def words_for(member: Member, pools: Mapping[str, Pool]) -> str:
    """The machine of a member in words: its Kubernetes node, or its host."""
    return f"{_kind(member, pools)} {member.machine}"


def _kind(member: Member, pools: Mapping[str, Pool]) -> str:
    return "Kubernetes node" if pools[member.pool].container else "host"


def apart(
    batch: Sequence[Member],
    earlier: Iterable[Sequence[Member]],
    pools: Mapping[str, Pool],
    most: Mapping[str, int | None],
    placement: Placement,
) -> str:
    """Why a batch does not go with an earlier one of the same machine, in words; empty if there is none.

    `placement` is the one by which the batches were cut.
    """
    machines = {member.machine for member in batch} - {""}
    before = [step for step in earlier if machines & {member.machine for member in step}]
    if not before:
        return ""
    others = enumerate_few(
        member.name for step in before for member in step if member.machine in machines and member not in batch
    )
    cause = _cause(batch, before, pools, most, placement)
    return f"; apart from {others} on the same {_kind(batch[0], pools)}, since {cause}"


def _cause(
    batch: Sequence[Member],
    before: Sequence[Sequence[Member]],
    pools: Mapping[str, Pool],
    most: Mapping[str, int | None],
    placement: Placement,
) -> str:
    together = [*batch, *(member for step in before for member in step)]
    for member in together:
        if pools[member.pool].by_partition:
            return f"pool {member.pool} goes by its partition, one at a time"
        if not member.ready:
            return f"the pod of {member.name} is not Ready, so it goes first"
        if member.under_way:
            return f"an interrupted run has begun with {member.name}"
    for step in before:
        for member in batch:
            if found := hindrance(member, step, most, placement):
                return f"{enumerate_few([member.name, *(each.name for each in step)])} cannot: {found}"
    elected = [member.name for member in together if member.elected]
    return f"the elected manager {elected[0]} goes alone" if elected else "the proof does not hold for all of them"
