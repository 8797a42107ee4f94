"""Batches cut from the pools: members that go down together, their order, and the reason. Pure: no client, no clock.

One at a time, the order is that of the pools. With `zones`, `disjoint` and `node`, members of several pools share a
batch: the proof is made for the batch, whatever pools its members are of.

By zones and machines, managers are upgraded with data members. If the elected one dies by itself in between, a manager
of the new version may be elected, and members of the old one can still join: the server shuts them out only once every
member is of the new major version. The elected manager is the last of its batch, so that the others go first if
that is divided: three managers, three data members and a coordinating one take three batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...common.words import enumerate_few
from ...run.colouring import Placement, disjoint, keeps_majority, may_join, most_of
from ..observe.version import Version
from . import shared_machine
from .pools import TEMPLATE_CHANGED, Member, Pool, PoolKind, order_members

BATCHING = ("serial", "zones", "disjoint", "node")

DOWN, CANARY = "down", "canary"
"""Why a batch goes before others: its member is not in the cluster, or it is the canary."""
Step = tuple[Member, ...]
"""The members of one batch."""


@dataclass(frozen=True)
class Cutting:
    """The way in which batches are cut."""

    batching: str = "serial"
    """One of `BATCHING`: one at a time, members of one zone together, all members together that can be, or members of
    one machine together."""
    max_unavailable: str | None = None
    """The most members of a pool that may be away at once, as a number or a percentage."""
    hands_over: bool = False
    """Whether the elected manager hands over before its batch goes down, if it can."""
    at_once: frozenset[str] = frozenset()
    """Members that the user wants to go together, however the others go."""
    canary: str = ""
    """The member that goes first, by its name or by a node attribute (name=value); empty if none is chosen."""

    def place_of(self, member: Member) -> str:
        """The zone or the machine of a member, whichever the batches go by; empty if it is not known."""
        return member.machine if self.batching == "node" else member.zone

    def group_of(self, member: Member) -> str:
        """The name of the group that goes with this member by zone or machine; one without a place is alone."""
        place = self.place_of(member)
        return f"place {place}" if place else f"member {member.name}"


@dataclass(frozen=True)
class Batch:
    """Members taken down together, and the reason for their place."""

    name: str
    pools: tuple[str, ...]
    members: tuple[str, ...]
    reason: str
    brings_back: bool = False
    """Whether a member that is away is brought back on the present image of its pool, and upgraded later."""
    kind: str = ""
    """The kinds of its members, with which the reason starts."""
    outdated: tuple[str, ...] = ()
    """Its members that run the target version already, and are replaced since the template of their pool changed."""


def batches_of(
    pools: Iterable[Pool], target: Version, only: Collection[str], cutting: Cutting, placement: Placement
) -> tuple[Batch, ...]:
    """The batches in order, from pools in order, without members that are as the plan wants them, or not in `only`.

    Broken members of all pools come first, each alone: no other member goes while one is away.
    Raises ValueError if `max_unavailable` is neither a number nor a percentage.
    """
    known = {pool.name: pool for pool in pools}
    most = {pool.name: most_of(cutting.max_unavailable, len(pool.members)) for pool in known.values()}
    going = [
        member
        for pool in known.values()
        for member in order_members(pool)
        if member.behind(target) and (not only or member.name in only)
    ]
    broken = [member for member in going if member.version is None]
    brought_back = [member for member in broken if known[member.pool].brings_back(member)]
    there = (member for member in going if member.version is not None or member in brought_back)
    rest = sorted(there, key=lambda member: not member.under_way)
    canary = [member for member in rest if cutting.canary and member.is_called(cutting.canary)][:1]
    cut_by = _kept_by_zones(known, cutting, placement)
    steps = _first(rest, canary, known, cutting, most, placement)
    done = {member.name for step in steps for member in step}
    steps += _steps([member for member in rest if member.name not in done], known, cutting, most, placement)
    deferred = _deferred(steps, target)
    if deferred is not None:
        steps = [*(step for step in steps if step is not deferred), deferred]
    first = [
        _batch(number, (member,), known, target, first_as=DOWN if member in brought_back else "")
        for number, member in enumerate(broken, start=1)
    ]
    return (
        *first,
        *(
            _batch(
                number,
                step,
                known,
                target,
                first_as=CANARY if canary[:1] == [*step[:1]] else "",
                further=_further(step, cutting.hands_over and _may(step, placement), step is deferred)
                + (_apart(step, steps, known, most, cut_by) if cutting.batching == "node" else ""),
                by_machine=cutting.batching == "node",
            )
            for number, step in enumerate(steps, start=len(first) + 1)
        ),
    )


def _first(
    rest: Sequence[Member],
    canary: Sequence[Member],
    pools: Mapping[str, Pool],
    cutting: Cutting,
    most: Mapping[str, int | None],
    placement: Placement,
) -> list[Step]:
    """The batches that go before all others: those under way, the canary, and members that are to go together."""
    free = [member for member in rest if not member.under_way and member not in canary]
    asked = [member for member in free if member.name in cutting.at_once]
    steps: list[Step] = [(member,) for member in rest if (asked or canary) and member.under_way]
    steps += [_canary(member, free, pools, cutting, most, placement) for member in canary if not member.under_way]
    return [*steps, *_together(asked, pools, replace(cutting, batching="disjoint"), most, placement)]


def _canary(
    canary: Member,
    free: Sequence[Member],
    pools: Mapping[str, Pool],
    cutting: Cutting,
    most: Mapping[str, int | None],
    placement: Placement,
) -> Step:
    """The canary, and with it those that are on its machine, where batches go by machines and the proof allows it."""
    if cutting.batching != "node" or canary.elected or not canary.ready or pools[canary.pool].by_partition:
        return (canary,)
    step: Step = (canary,)
    keeping = _kept_by_zones(pools, cutting, placement)
    for member in _groups([*free, canary], cutting)[cutting.group_of(canary)]:
        fit = member.ready and not member.elected and not pools[member.pool].by_partition and member != canary
        if fit and may_join(member, step, most, keeping):
            step = (*step, member)
    return step


def _steps(
    rest: Sequence[Member],
    pools: Mapping[str, Pool],
    cutting: Cutting,
    most: Mapping[str, int | None],
    placement: Placement,
) -> list[Step]:
    """The members in the batches in which they are cut."""
    if cutting.batching == "serial":
        return [(member,) for member in rest]
    free = [member for member in rest if not pools[member.pool].by_partition]
    # A member that is not Ready holds up the batches of all others of its pool.
    steps: list[Step] = [(member,) for member in free if not member.ready]
    steps += _together([member for member in free if member.ready], pools, cutting, most, placement)
    # The controller replaces members that a partition lets through: never more than one at a time, in its order.
    return [*steps, *((member,) for member in rest if pools[member.pool].by_partition)]


def _together(
    rest: Sequence[Member],
    pools: Mapping[str, Pool],
    cutting: Cutting,
    most: Mapping[str, int | None],
    placement: Placement,
) -> list[Step]:
    """Batches over all pools: no pool goes away as a whole, and the elected manager is in the last batch.

    A pool that is in one zone goes with that zone, as long as another zone has a pool like it. The elected manager goes
    alone, unless it hands over first: then it joins the last batch that it may join.
    """
    keeping = placement.keeping_one_of(frozenset(member.name for member in pool.members) for pool in pools.values())
    of_zones = _kept_by_zones(pools, cutting, placement)
    others = [member for member in rest if not member.elected]
    by_zones = [step for zone in _groups(others, cutting).values() for step in disjoint(zone, most, of_zones)]
    fewest = disjoint(others, most, keeping) if cutting.batching == "disjoint" else by_zones
    for elected in (member for member in rest if member.elected):
        may = cutting.hands_over and _may((elected,), placement)
        if cutting.batching == "disjoint":
            fewest = _joined(elected, fewest, most, keeping if may else None)
        by_zones = _joined(elected, by_zones, most, of_zones if may else None, of_place=cutting.place_of)
    return fewest if cutting.batching == "disjoint" and len(fewest) < len(by_zones) else by_zones


def _kept_by_zones(pools: Mapping[str, Pool], cutting: Cutting, placement: Placement) -> Placement:
    """The placement, with the pools that must keep a member each while a zone or a machine is away.

    A pool that is in one zone only can go with it if another zone has a pool of the same kind with the same roles.
    """
    zones = {pool.name: {cutting.place_of(member) for member in pool.members} for pool in pools.values()}
    alike: dict[tuple[PoolKind, frozenset[str]], set[str]] = defaultdict(set)
    for pool in pools.values():
        alike[pool.kind, pool.serves] |= zones[pool.name]
    return placement.keeping_one_of_each(
        {
            f"pool {pool.name}": frozenset(member.name for member in pool.members)
            for pool in pools.values()
            if len(zones[pool.name]) != 1 or not alike[pool.kind, pool.serves] - zones[pool.name] - {""}
        }
    )


def _apart(
    step: Step, steps: Sequence[Step], pools: Mapping[str, Pool], most: Mapping[str, int | None], placement: Placement
) -> str:
    """The part of the reason that says why a batch does not go with an earlier one of the same machine."""
    earlier = steps[: next(place for place, each in enumerate(steps) if each is step)]
    return shared_machine.apart(step, earlier, pools, most, placement)


def _joined(
    elected: Member,
    steps: Sequence[Step],
    most: Mapping[str, int | None],
    keeping: Placement | None,
    of_place: Callable[[Member], str] | None = None,
) -> list[Step]:
    """The batches with the elected manager added to the last one that it may join; without `keeping` it goes alone."""
    for step in reversed(steps) if keeping else ():
        same = of_place is None or {of_place(member) for member in (*step, elected)} == {of_place(elected) or None}
        if same and keeping and may_join(elected, step, most, keeping):
            # It comes last in its batch: if that has to be divided, the members before it go first.
            return [*(other for other in steps if other is not step), (*step, elected)]
    return [*steps, (elected,)]


def _may(step: Step, placement: Placement) -> bool:
    """Whether the elected manager is in the batch, and can hand over first.

    There must be a member outside the batch that can be elected. A majority outside the batch elects it; or the elected
    manager votes alone, and gives its vote away.
    """
    names = {member.name for member in step}
    elected = [member.name for member in step if member.elected]
    alone = list(placement.voters) == [frozenset(elected)]
    able = bool(elected and placement.voters and placement.electable - names)
    return able and (alone or keeps_majority(names, placement))


def _deferred(steps: Sequence[Step], target: Version) -> Step | None:
    """The batch that has to wait for those after it: in an upgrade of the major version, the last one with a
    manager-eligible member.

    Members without data that cannot be elected do not hold the version of new indices down: once all others are on
    the new major, one new index would keep them from ever joining again (server source, JoinTaskExecutor and
    MetadataCreateIndexService).
    """
    # For a member that is away, a change of the major version is assumed.
    if all(member.version and member.version.major >= target.major for step in steps for member in step):
        return None
    electing = [number for number, step in enumerate(steps) if any(member.manager_eligible for member in step)]
    if not electing:
        return None
    after = [member for step in steps[electing[-1] + 1 :] for member in step]
    return steps[electing[-1]] if any(not m.holds_data and not m.manager_eligible for m in after) else None


def _batch(
    number: int,
    step: Step,
    pools: Mapping[str, Pool],
    target: Version,
    *,
    first_as: str = "",
    further: str = "",
    by_machine: bool = False,
) -> Batch:
    more = f"-and-{len(step) - 1}-more" if len(step) > 1 else ""
    outdated = tuple(member.name for member in step if member.replaced_on(target))
    reason = _reason(step, pools, outdated, first_as, by_machine=by_machine) + further
    return Batch(
        name=f"batch-{number:02d}.{step[0].name}{more}",
        pools=tuple(dict.fromkeys(member.pool for member in step)),
        members=tuple(member.name for member in step),
        reason=reason,
        brings_back=first_as == DOWN,
        kind=_kinds(step, pools),
        outdated=outdated,
    )


def _further(step: Step, hands_over: bool, deferred: bool) -> str:
    """The part of the reason that follows from the other batches."""
    words = ""
    if hands_over:
        words += "; the elected manager hands over first" if len(step) > 1 else ", and hands over first"
    if deferred:
        words += "; it waits until the members without data that cannot be elected are on the new major version"
    return words


def _kinds(step: Step, pools: Mapping[str, Pool]) -> str:
    return ", ".join(dict.fromkeys(pools[member.pool].kind.value for member in step))


def _reason(
    step: Step, pools: Mapping[str, Pool], outdated: Collection[str], first_as: str, *, by_machine: bool
) -> str:
    """Why a batch has its place in the plan. `first_as` is why it goes first: `DOWN`, `CANARY`, or empty."""
    first, words = step[0], _kinds(step, pools)
    if outdated:
        words += f"; {TEMPLATE_CHANGED}"
        words += f" for {enumerate_few(outdated)}" if len(outdated) < len(step) else ""
    if len(step) > 1:
        words += "; the canary goes first" if first_as == CANARY else ""
        return f"{words}; {len(step)} members {_common(step, pools, by_machine=by_machine)}"
    if first_as == CANARY:
        return f"{words}; the canary goes first"
    if first_as == DOWN:
        return f"{words}; not in the cluster, so it is brought back first, on {pools[first.pool].image}"
    if first.version is None:
        return f"{words}; not in the cluster, so it is brought back first"
    if first.under_way:
        return f"{words}; an interrupted run has begun with it"
    if not first.ready and not pools[first.pool].by_partition:
        return f"{words}; its pod is not Ready, so it goes before the others of its pool"
    if first.elected and pools[first.pool].by_partition:
        return f"{words}; it is the elected manager, and goes by its ordinal, as a partition demands"
    return f"{words}; the elected manager goes last" if first.elected else words


def _common(step: Step, pools: Mapping[str, Pool], *, by_machine: bool) -> str:
    """What the members of a batch have in common."""
    first = step[0]
    if by_machine and len({member.machine for member in step}) == 1 and first.machine:
        return f"on {shared_machine.words_for(first, pools)}"
    zones = {member.zone for member in step}
    return f"of zone {first.zone}" if len(zones) == 1 and first.zone else "without whom every shard keeps a copy"


def _groups(members: Iterable[Member], cutting: Cutting) -> dict[str, list[Member]]:
    """The members by zone or machine, in the order of their first members. One without a zone is alone."""
    found: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        found[cutting.group_of(member)].append(member)
    return found
