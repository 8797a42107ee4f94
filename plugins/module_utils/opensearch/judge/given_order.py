"""The order of pools that a user wants, such as the coldest tier first, within the order that is safe. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from ...common.verdict import Reason, as_verdict, refused, remark
from .batches import Batch
from .pools import Pool

SERIAL = "serial"
ATTRIBUTE = "="
"""The sign between a node attribute and its value."""


def place_of(pool: Pool, order: Sequence[str]) -> int:
    """The place that the user gives a pool; those that are not named come last.

    A pool is named by its name, a pattern, or a node attribute of its members, such as `temp=cold`.
    """
    # A group of hosts whose members are of several kinds is several pools, which have its name before a slash.
    names = [pool.name.partition("/")[0], *sorted(pool.attributes)]
    return next((place for place, pattern in enumerate(order) if _names(pattern, names)), len(order))


def _names(pattern: str, names: Sequence[str]) -> bool:
    # No name of a pool has the sign between an attribute and its value.
    return any(fnmatchcase(each, pattern) for each in names if (ATTRIBUTE in each) == (ATTRIBUTE in pattern))


@as_verdict
def judge_order(order: Sequence[str], pools: Sequence[Pool], batching: str) -> Iterator[Reason]:
    """Whether the wanted order is safe. `pools` are in the order in which they go."""
    if not order:
        return
    if batching != SERIAL:
        yield refused(
            "order_without_serial",
            f"order (upgrade_order) is given, and with batching {batching} members of several pools go together.",
            "Take it out, or plan with batching serial (upgrade_batching).",
        )
    named: dict[int, list[Pool]] = {}
    for pool in pools:
        named.setdefault(place_of(pool, order), []).append(pool)
    for place, pattern in enumerate(order):
        # A pool whose members are all away may have the attribute: a run that was interrupted there goes on.
        if place not in named and not (ATTRIBUTE in pattern and any(not pool.known for pool in pools)):
            yield refused(
                "order_of_unknown_pool",
                f"order (upgrade_order) names pool {pattern}, and the plan has no such pool.",
                f"Correct it; there are: {', '.join(sorted({pool.name.partition('/')[0] for pool in pools}))}.",
            )
    for earlier, later in pairwise(place for place in sorted(named) if place < len(order)):
        before, after = (min(named[place], key=lambda pool: pool.kind.position) for place in (earlier, later))
        if before.kind.position > after.kind.position:
            yield refused(
                "order_unsafe",
                f"order (upgrade_order) has pool {before.name} ({before.kind.value}) before pool {after.name}"
                f" ({after.kind.value}). Members that can be elected go after those that hold data alone.",
                f"Name {after.name} first.",
            )
        elif before.kind is after.kind and pools.index(before) > pools.index(after):
            cause = "has the elected manager" if before.elected else f"waits for {after.name}, whose pods are unsettled"
            yield remark("order_not_kept", f"Pool {before.name} goes after pool {after.name}: it {cause}.")


@as_verdict
def judge_canary(canary: str, pools: Sequence[Pool], batches: Sequence[Batch]) -> Iterator[Reason]:
    """Whether the member that is to go first is there, and goes first. `batches` are those of the plan."""
    if not canary:
        return
    known = [member for pool in pools for member in pool.members]
    meant = [member for member in known if member.is_called(canary)]
    away = any(member.version is None for member in known)
    # A member that is away has no attribute: a run that was interrupted there goes on.
    if not meant and not (ATTRIBUTE in canary and away):
        yield refused(
            "canary_unknown",
            f"The canary {canary} is neither a member of the pools nor a node attribute of one.",
            f"Correct it (upgrade_canary); there are: {', '.join(sorted(member.name for member in known))}.",
        )
    for pool in (pool for pool in pools if pool.by_partition and any(member in meant for member in pool.members)):
        yield refused(
            "canary_by_partition",
            f"The canary {canary} is of pool {pool.name}, whose members go by their ordinals, as a partition demands.",
            "Take a member of another pool (upgrade_canary), or roll this pool with OnDelete (upgrade_strategy).",
        )
    under_way = {member.name for member in known if member.under_way}
    names = {member.name for member in meant}
    going = [{*batch.members} for batch in batches if not batch.brings_back and not under_way & {*batch.members}]
    if any(names & each for each in going) and not names & going[0]:
        yield refused(
            "canary_goes_last",
            f"The canary {canary} must go after members without data, which could not join any more after it.",
            "Take another member (upgrade_canary), since the last one that can be elected goes after these.",
        )


@as_verdict
def judge_narrowing(pools: Iterable[Pool], only: Sequence[str]) -> Iterator[Reason]:
    """Whether the members exist to which the run is limited."""
    known = {member.name for pool in pools for member in pool.members}
    for name in (name for name in only if name not in known):
        remedy = f"Correct members (upgrade_members); the pools have: {', '.join(sorted(known))}."
        yield refused("member_unknown", f"There is no member {name}.", remedy)
