"""Replicas for indices that have none: whether each shard has a place for one, and how long it takes. Pure.

The deciders of the server say whether the only copy could move to another member (`_cluster/allocation/explain`). A
replica has the same rules (filters, tiers, versions, watermarks, limits of shards), but for two: it never goes to the
member of its primary, and with awareness not to its zone either. The disk is counted here, since a decider looks at one
shard, and all of them have to fit: the largest first, each to the member with most room below the low watermark. So a
placement that is found proves that there is one; the server may choose another.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...common.verdict import Reason, Verdict, as_verdict, combine, refused, remark, waiting
from ...common.words import duration, enumerate_few
from ..observe.copies import Shard, copy_sets
from ..observe.disk import Disks
from ..observe.explanation import Explanation
from ..observe.index_replicas import EXPANDS_TO_NONE, IN_CLUSTER, NEVER, ON_MEMBER, IndexReplicas, ReplicaLimits
from ..observe.settings import allocates
from ..observe.state import ClusterMember, ClusterState, ShardCopy
from .drain import size_text
from .progress import without_place

IMPOSSIBLE = "replica_impossible"
"""The code of the reason why an index cannot get a replica."""
STARTING = "replicas_starting"
"""The code of the reason to wait for replicas of a run."""
STARTED, UNASSIGNED = "STARTED", "UNASSIGNED"


@dataclass(frozen=True)
class RaisingLook:
    """The data that decides whether indices can get a replica."""

    state: ClusterState
    indices: Mapping[str, IndexReplicas]
    """Those that have no replica, and are to get one."""
    sizes: Mapping[Shard, int] = field(default_factory=dict)
    """The bytes of each shard."""
    refusing: Mapping[Shard, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """The deciders that say no to a shard, by the name of each other data member."""
    disks: Disks = field(default_factory=Disks)
    limits: ReplicaLimits = field(default_factory=ReplicaLimits)
    going: frozenset[str] | None = None
    """The members that go, by id; None if any may. A shard on another one is not away, with or without a replica."""

    def copies(self) -> list[ShardCopy]:
        """The only copies of these indices."""
        return [copy for copy in self.state.copies if copy.index in self.indices and not copy.search_only]


@dataclass(frozen=True)
class Raising:
    """The indices that get a replica, and the members that could take them."""

    places: Mapping[Shard, str] = field(default_factory=dict)
    """The name of the member for the replica of each shard."""
    refused: frozenset[str] = frozenset()
    """The indices that cannot get one, and may not be away."""
    verdict: Verdict = field(default_factory=Verdict)
    bytes: int = 0
    seconds: float = 0.0
    """The least time that the copies take, by the limit of the recoveries; 0 if there is no limit."""

    @property
    def indices(self) -> list[str]:
        """The names of those that get one."""
        return sorted({index for index, _shard in self.places})

    def as_if(self, state: ClusterState) -> ClusterState:
        """The cluster as if these replicas were started."""
        ids = {member.name: member.id for member in state.members.values()}
        more = [
            ShardCopy(*shard, primary=False, state=STARTED, member=ids[name]) for shard, name in self.places.items()
        ]
        raised = {name: replace(state.indices[name], replicas=1) for name in self.indices}
        return replace(state, copies=(*state.copies, *more), indices={**state.indices, **raised})


def single_indices(state: ClusterState, going: Collection[str], wanted: Container[str]) -> list[str]:
    """The indices without any replica of which one of the members in `going` has a shard, if they are `wanted`.

    Those whose shards are only searched have copies of another kind, which this does not add.
    """
    down = state.ids(going)
    return sorted(
        {
            index
            for (index, _shard, search_only), copies in copy_sets(state).items()
            if len(copies) == 1 and not search_only and copies[0].member in down and index in wanted
            if index in state.indices and state.indices[index].replicas == 0
        }
    )


def representatives(look: RaisingLook) -> dict[ShardCopy, list[ShardCopy]]:
    """One copy of each situation, with all that share it: for them the deciders say the same, except for the disk."""
    groups: dict[object, list[ShardCopy]] = defaultdict(list)
    for copy in look.copies():
        index = look.indices[copy.index]
        if copy.state == STARTED and not _own_cause(index):
            own = copy.index if index.on_member is not None else ""
            groups[copy.member, index.allocation, index.in_repository, own].append(copy)
    return {copies[0]: copies for copies in groups.values()}


def judge_raising(look: RaisingLook, allowed: Container[str] = ()) -> Raising:
    """The replicas that can be made. An index that cannot get one is refused, unless it is `allowed` to be away."""
    causes: dict[str, set[str]] = defaultdict(set)
    unknown: set[str] = set()
    for index in look.indices.values():
        if cause := _own_cause(index):
            causes[cause].add(index.name)
    open_to: dict[ShardCopy, list[str]] = {}
    for copy in (each for each in look.copies() if not _own_cause(look.indices[each.index])):
        shard = (copy.index, copy.shard)
        if copy.state != STARTED or shard not in look.refusing or (shard not in look.sizes and _takes_room(look, copy)):
            unknown.add(copy.index)
            continue
        names, cause = _open_to(look, copy)
        if not names and look.going is not None and copy.member not in look.going:
            continue
        if not names:
            causes[cause].add(copy.index)
        open_to[copy] = names
    for name, cause in _beyond_own_limit(look, open_to):
        causes[cause].add(name)
    blocked = {name for names in causes.values() for name in names}
    packing = _ReplicaRoom(look, {copy: names for copy, names in open_to.items() if copy.index not in blocked})
    for name, cause in packing.causes():
        causes[cause].add(name)
        blocked.add(name)
    places = {shard: name for shard, name in packing.places.items() if shard[0] not in blocked | unknown}
    too_many = _beyond_limit(look, len(places))
    if too_many:
        causes[too_many] |= {index for index, _shard in places}
        blocked, places = blocked | {index for index, _shard in places}, {}
    verdict = combine((_judge_causes(causes, allowed), _judge_unknown(sorted(unknown))))
    moved = {shard: look.sizes.get(shard, 0) for shard in places if not look.indices[shard[0]].in_repository}
    refusals = frozenset(name for name in blocked | unknown if name not in allowed)
    return Raising(places, refusals, verdict, sum(moved.values()), _seconds(look, places, moved))


def _own_cause(index: IndexReplicas) -> str:
    """The setting because of which an index cannot get a replica, in words; empty if there is none."""
    if index.blocks:
        return f"a block keeps its settings as they are (index.blocks.{index.blocks[0]})"
    if not allocates(index.enable):
        return f"its own setting index.routing.allocation.enable is {index.enable}"
    if index.expand not in (*NEVER, EXPANDS_TO_NONE):
        return f"its replicas follow the members (auto_expand_replicas {index.expand}), and only one may hold it"
    return ""


def _takes_room(look: RaisingLook, copy: ShardCopy) -> bool:
    return not look.indices[copy.index].in_repository


def _open_to(look: RaisingLook, copy: ShardCopy) -> tuple[list[str], str]:
    """The names of the members that may take a replica of this copy, and the cause if there is none."""
    refusing = look.refusing[copy.index, copy.shard]
    by_rules = sorted(name for name, deciders in refusing.items() if not deciders)
    if not by_rules:
        counted = Counter(decider for deciders in refusing.values() for decider in deciders)
        said = ", ".join(f"{decider} on {number}" for decider, number in sorted(counted.items()))
        return [], f"no other member takes it ({said or 'there is no other data member'})"
    holder = look.state.members[copy.member or ""]
    members = {member.name: member for member in look.state.members.values()}
    zoned = [name for name in by_rules if name in members and _apart(look, holder, members[name])]
    attributes = enumerate_few(look.limits.awareness)
    return zoned, f"no other member that takes it is at another {attributes} (allocation awareness)"


def _apart(look: RaisingLook, holder: ClusterMember, other: ClusterMember) -> bool:
    """Whether awareness lets two copies be on these members: of two copies each value of an attribute has one."""
    for attribute, forced in look.limits.awareness.items():
        values = {member.attributes.get(attribute) for member in look.state.members.values() if member.holds_data}
        several = len({*values, *forced} - {None}) > 1
        own, others = holder.attributes.get(attribute), other.attributes.get(attribute)
        if others is None or (several and own == others):
            return False
    return True


def _beyond_own_limit(look: RaisingLook, open_to: Mapping[ShardCopy, Collection[str]]) -> Iterator[tuple[str, str]]:
    """The indices whose own limit for a member leaves fewer places than they need, each with that cause.

    The decider `shards_limit` looks at one shard, so each alone may have a place that another one takes.
    """
    there = Counter((copy.index, copy.relocating_to or copy.member) for copy in look.state.copies)
    ids = {member.name: member.id for member in look.state.members.values()}
    by_index: dict[str, list[Collection[str]]] = defaultdict(list)
    for copy, names in open_to.items():
        by_index[copy.index].append(names)
    for name, needed in by_index.items():
        most = look.indices[name].on_member
        if most is None:
            continue
        takers = {ids[taker] for names in needed for taker in names if taker in ids}
        places = sum(max(0, most - there[name, taker]) for taker in takers)
        if 0 < places < len(needed):
            said = f"its limit of {most} on a member (index.routing.allocation.{ON_MEMBER})"
            yield name, f"{said} leaves {places} places for {len(needed)} replicas"


class _ReplicaRoom:
    """Each shard on the member with most room of those that may take it, the largest first. If the copies on a member
    are limited, those with the fewest choices go before, so that no other one takes their last place."""

    def __init__(self, look: RaisingLook, open_to: Mapping[ShardCopy, Sequence[str]]) -> None:
        self._look = look
        low = (look.disks.watermarks or {}).get("low")
        room = {disk.member: low.room(disk) if low else disk.available for disk in look.disks.disks}
        self.places: dict[Shard, str] = {}
        self.without_room: dict[str, int] = defaultdict(int)
        """The bytes that find no place, by index."""
        self.beyond_limit: set[str] = set()
        """The indices with a shard for which each member already has as many copies as the cluster lets it have."""
        left = _left_on_members(look)
        sizes = {copy: look.sizes.get((copy.index, copy.shard), 0) for copy in open_to}
        limited = look.limits.on_member is not None
        choices = {copy: len(names) if limited else 0 for copy, names in open_to.items()}
        for copy in sorted(open_to, key=lambda each: (choices[each], -sizes[each], each.index, each.shard)):
            size = sizes[copy] if _takes_room(look, copy) else 0
            open_now = [each for each in open_to[copy] if left.get(each, 0) > 0]
            if not open_now:
                self.beyond_limit.add(copy.index)
                continue
            name = max(open_now, key=lambda each: room.get(each, 0 if size else math.inf))
            if size > room.get(name, 0):
                self.without_room[copy.index] += size
                continue
            if name in room:
                room[name] -= size
            left[name] -= 1
            self.places[copy.index, copy.shard] = name

    def causes(self) -> Iterator[tuple[str, str]]:
        """The indices of which a shard finds no place, each with the cause."""
        where = "below the low watermark" if self._look.disks.watermarks else "on the disk"
        for name, size in self.without_room.items():
            yield name, f"{size_text(size)} find no place {where} of a member that may take them"
        setting, most = f"cluster.routing.allocation.{ON_MEMBER}", self._look.limits.on_member
        for name in self.beyond_limit:
            yield name, f"{setting} is {most}, and no member that takes it is below that"


def _left_on_members(look: RaisingLook) -> dict[str, float]:
    """The number of further copies that the limit of the cluster lets each member hold, by its name.

    A copy that moves counts where it goes (server source, ShardsLimitAllocationDecider and RoutingNode,
    numberOfOwningShards).
    """
    most = look.limits.on_member
    there = Counter(copy.relocating_to or copy.member for copy in look.state.copies)
    return {each.name: math.inf if most is None else most - there[each.id] for each in look.state.members.values()}


def _beyond_limit(look: RaisingLook, more: int) -> str:
    """The cause if the cluster does not take so many more shards; empty if it does."""
    members = sum(member.holds_data for member in look.state.members.values())
    most, limit = look.limits.most_shards * members, "cluster.max_shards_per_node"
    if look.limits.in_cluster is not None and look.limits.in_cluster < most:
        most, limit = look.limits.in_cluster, f"cluster.routing.allocation.{IN_CLUSTER}"
    present = sum(
        copy.index in look.state.indices and look.state.indices[copy.index].open for copy in look.state.copies
    )
    if not more or present + more <= most:
        return ""
    return f"{more:,} more shards make {present + more:,}, and {limit} allows {most:,}"


def _seconds(look: RaisingLook, places: Mapping[Shard, str], moved: Mapping[Shard, int]) -> float:
    holders = {
        (copy.index, copy.shard): look.state.members[copy.member or ""].name for copy in look.copies() if copy.member
    }
    busy: Counter[str] = Counter()
    for shard, size in moved.items():
        busy[f"to {places[shard]}"] += size
        busy[f"from {holders[shard]}"] += size
    return max(busy.values(), default=0) / look.limits.bytes_a_second


@as_verdict
def _judge_causes(causes: Mapping[str, Collection[str]], allowed: Container[str]) -> Iterator[Reason]:
    for cause, names in sorted(causes.items()):
        for consent in (False, True):
            found = sorted(name for name in names if (name in allowed) is consent)
            if found:
                said = f"{enumerate_few(found)} cannot get a replica for the time of the upgrade: {cause}."
                yield _by_consent(said) if consent else _impossible(said)


def _impossible(said: str) -> Reason:
    return refused(
        IMPOSSIBLE,
        said,
        "Fix the cause. Or accept with allow_single_copy that these indices are away while their member restarts.",
    )


def _by_consent(said: str) -> Reason:
    return remark(IMPOSSIBLE, f"{said} They are away while their member restarts, as allowed.")


@as_verdict
def _judge_unknown(names: Sequence[str]) -> Iterator[Reason]:
    if names:
        yield waiting(
            "replica_room_unknown",
            f"It is not known yet whether {enumerate_few(names)} can get a replica: a shard is moving, is not started,"
            " or its size is not known.",
            "If this does not pass, see GET _cluster/allocation/explain and GET _stats/store?level=shards.",
            about=names[0],
        )


def _words(raising: Raising) -> str:
    """Those that get a replica, with their bytes and the least time."""
    count, shards = len(raising.indices), len(raising.places)
    said = f"{count} {'index' if count == 1 else 'indices'} ({shards} {'shard' if shards == 1 else 'shards'},"
    least = f", at least {duration(raising.seconds)}" if raising.seconds >= 1 else ""
    return f"{said} {size_text(raising.bytes)}{least})"


@as_verdict
def judge_planned_raising(raising: Raising) -> Iterator[Reason]:
    """The remark about the replicas that are to be made before the first batch."""
    if raising.places:
        yield remark(
            "replicas_planned",
            f"Before the first batch a replica is made of {_words(raising)}: {enumerate_few(raising.indices)}. The"
            " end of the upgrade puts the number of replicas back.",
        )


def not_started(state: ClusterState, names: Collection[str], going: Collection[str]) -> list[ShardCopy]:
    """The copies of these indices that are not started yet, and are needed when one of the members in `going` is away.

    A replica of a shard on another member may have no place before more members run the version of that one.
    """
    down = state.ids(going)
    stays = {(c.index, c.shard) for c in state.copies if c.primary and state.serves(c) and c.member not in down}
    left = [copy for copy in state.copies if copy.index in names and not state.serves(copy)]
    return [copy for copy in left if copy.state != UNASSIGNED or (copy.index, copy.shard) not in stays]


@as_verdict
def judge_started(
    state: ClusterState,
    names: Collection[str],
    going: Collection[str],
    bytes_left: float,
    explanations: Collection[Explanation] = (),
) -> Iterator[Reason]:
    """Whether all copies of the indices that got a replica are started which the members in `going` need to go.

    `explanations` are those of replicas that are on no member, made while no copy moved.
    """
    left = not_started(state, names, going)
    shards = len({(copy.index, copy.shard) for copy in state.copies if copy.index in names})
    if left:
        size = f", {size_text(bytes_left)} to copy" if 0 < bytes_left < math.inf else ""
        said = f"Replicas for the time of the upgrade start: {len(left)} of {shards} left{size}"
        by_cause: dict[str, list[str]] = defaultdict(list)
        for (index, shard), why in sorted(without_place(explanations, ()).items()):
            by_cause[why].append(f"{index}[{shard}]")
        places = "".join(f"; no place for {enumerate_few(found)}: {why}" for why, found in by_cause.items())
        yield waiting(
            STARTING,
            f"{said} ({enumerate_few(f'{copy.index}[{copy.shard}]' for copy in left)}){places}.",
            "indices.recovery.max_bytes_per_sec sets its pace; GET _cluster/allocation/explain says what blocks one.",
            about="replicas",
        )
    else:
        yield from judge_raised(names).reasons


@as_verdict
def judge_raised(names: Collection[str]) -> Iterator[Reason]:
    """The remark on indices that have got a replica."""
    if names:
        yield remark("replicas_raised", f"Indices with a replica for the time of the upgrade: {enumerate_few(names)}.")


def not_safe_to_lower(state: ClusterState, names: Iterable[str]) -> list[str]:
    """The indices of which a primary is not started: their replica may be the copy that the data comes back from."""
    wanted = {*names}
    return sorted(
        {copy.index for copy in state.copies if copy.index in wanted and copy.primary and not state.serves(copy)}
    )
