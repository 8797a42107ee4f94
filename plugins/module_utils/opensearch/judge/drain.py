"""Draining: whether the shards of members that keep no data fit elsewhere, and whether they have moved there.

`_cluster/allocation/explain` names the deciders that keep an assigned copy off every other member, before its member is
excluded and after, even with rebalancing switched off (seen on 2.19 and 3.8). Its summary once the member is excluded,
`can_move_to_other_node`, is `no` even for a copy that only waits for its turn, so it is not used.

With segment replication a primary goes to no member that is newer than one with an active replica
(NodeVersionAllocationDecider.canAllocate), and of several replicas the one on the oldest version takes over (since
2.10). A roll in place moves no primaries, so only a drain meets this rule. It asks the server before it excludes any
member.

Every other member says no if there are as many copies as members. The question is asked of each shard alone, those in
the same situation once, so only the drain shows that all of them fit. Whenever nothing moves, it is asked again of
the shards that are left. The exclusion ends with the restriction, when the member has joined. Since rebalancing is
off, the member stays empty until the next members are drained onto it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.explanation import Move
from ..observe.settings import ROUTING
from ..observe.state import ShardCopy
from .throttling import LIMITS

LEAST = 10.0
"""Seconds after which a rate is shown: the first bytes come in bursts."""
KILO = 1000.0


@dataclass(frozen=True)
class Moving:
    """The bytes that move away from members: those at first, those that are left, and the seconds in between."""

    whole: int
    left: int
    seconds: float = 0.0

    def as_text(self) -> str:
        """In words, such as `14.2 GB of 37.0 GB, 210 MB/s, about 2 min`. The rate comes with the first progress."""
        said = f"{size_text(self.left)} of {size_text(self.whole)}"
        rate = (self.whole - self.left) / self.seconds if self.seconds >= LEAST else 0
        if rate <= 0:
            return said
        return f"{said}, {size_text(rate)}/s, about {max(1, round(self.left / rate / 60))} min"


def size_text(count: float) -> str:
    """A number of bytes with its unit (powers of 1000)."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < KILO:
            return f"{count:.0f} {unit}" if unit in {"B", "kB"} else f"{count:.1f} {unit}"
        count /= KILO
    return f"{count:.1f} TB"


_REMEDY = (
    "Add a member, or fix what the deciders name. Or replace these members without draining them"
    " (upgrade_ephemeral: restart), which is safe as long as every shard has a started copy elsewhere."
)


_PACE = (
    "It ends by itself; indices.recovery.max_bytes_per_sec sets its pace. If nothing moves, a limit of recoveries is 0:"
    f" see {ROUTING}cluster_concurrent_recoveries, {ROUTING}node_concurrent_recoveries, {', '.join(LIMITS[:2])}."
)


@as_verdict
def judge_room(names: Collection[str], moves: Iterable[Move]) -> Iterator[Reason]:
    """Whether, by the deciders, some member that stays takes each copy, at once or in its turn."""
    by_deciders: dict[str, list[str]] = defaultdict(list)
    for move in moves:
        others = [deciders for name, deciders in move.refusing.items() if name not in names]
        if not all(others):
            continue
        count = Counter(decider for deciders in others for decider in deciders)
        said = ", ".join(f"{decider} on {number}" for decider, number in sorted(count.items()))
        by_deciders[said or "there is no other data member"].extend(move.shards)
    for said, shards in by_deciders.items():
        yield refused(
            "drain_impossible",
            f"{enumerate_few(shards)} cannot leave {enumerate_few(names)}: no other member takes them ({said}).",
            _REMEDY,
        )


@as_verdict
def judge_drained(
    names: Collection[str], left: Sequence[ShardCopy], moves: Iterable[Move], moving: Moving | None = None
) -> Iterable[Reason]:
    """Whether the members hold no copy any more. It refuses if a remaining copy has no place elsewhere."""
    if not left:
        return ()
    size = f" ({moving.as_text()})" if moving else ""
    said = f"Shards move away from {enumerate_few(names)}: {len(left)} left{size}."
    pending = waiting("draining", said, _PACE)
    return judge_room(names, moves).reasons or (pending,)
