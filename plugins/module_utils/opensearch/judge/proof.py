"""The facts by which a plan is cut, the places of copies, votes and roles, and the sentences of its proof.

The judgement is in `safety`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from ...run.colouring import Placement
from ..observe.state import ClusterMember, ClusterState
from .pools import Member, Pool
from .quorum import can_be_elected, successors, votes_alone

_Shard = tuple[str, int, bool]


def placement_of(state: ClusterState, pools: Iterable[Pool] = ()) -> Placement:
    """The places of the copies (started or on their way), the voters, those that can be elected, and the members of
    each role, by names.

    A member of the pools that is away counts for its roles, since it is brought back first.
    """
    pools = tuple(pools)
    names = {identity: member.name for identity, member in state.members.items()}
    holders: dict[_Shard, set[str]] = defaultdict(set)
    for copy in state.copies:
        if copy.member in names:
            holders[copy.index, copy.shard, copy.search_only].add(names[copy.member])
    configurations = {state.voting.committed, state.voting.accepted}
    voters = sorted(sorted(names.get(identity, identity) for identity in voters) for voters in configurations)
    members: list[ClusterMember | Member] = [*state.members.values()]
    members += [member for pool in pools for member in pool.members]
    electable = frozenset(member.name for member in members if member.electable)
    labels = [f"shard {shard} of {index}" for index, shard, _search_only in holders]
    placement = Placement(
        [frozenset(found) for found in holders.values()], [frozenset(found) for found in voters], electable, labels
    )
    if any(member.manager_eligible and not member.electable for member in members):
        placement = placement.keeping_one_of_each({"the right to be elected": electable})
    serving: dict[str, set[str]] = defaultdict(set)
    for member in members:
        for role in member.serves:
            serving[role].add(member.name)
    return placement.keeping_one_of_each(
        {f"the role {role}": frozenset(found) for role, found in sorted(serving.items())}
    )


class Proofs:
    """The proofs of batches on one state. It is made once, so that each proof only costs the copies of its batch."""

    def __init__(self, state: ClusterState, *, hands_over: bool = False) -> None:
        self._state = state
        self._hands_over = hands_over
        self._held: dict[str | None, set[_Shard]] = defaultdict(set)
        self._serving: dict[_Shard, set[str | None]] = defaultdict(set)
        self._configured: dict[_Shard, int] = defaultdict(int)
        for copy in state.copies:
            shard = (copy.index, copy.shard, copy.search_only)
            self._held[copy.member].add(shard)
            self._configured[shard] += 1
            if state.serves(copy):
                self._serving[shard].add(copy.member)

    def of(self, batch: Collection[str]) -> str:
        """One sentence that says what stays up while the members named in `batch` are down."""
        state = self._state
        down = state.ids(batch)
        shards = {shard for identity in down for shard in self._held.get(identity, ())}
        voters = state.voting.committed | state.voting.accepted
        away = voters - state.members.keys()
        left = len(voters - away - down)
        if state.elected in down and self._hands_over and votes_alone(state) and successors(state, down):
            return f"{self._copies(shards, down)}; it alone votes, and hands its vote over first"
        now = f" ({len(away)} {'is' if len(away) == 1 else 'are'} away now)" if away else ""
        return f"{self._copies(shards, down)}, {left} of {len(voters)} voting members stay{now}{self._electing(down)}"

    def _electing(self, down: frozenset[str]) -> str:
        """The part about members that can be elected, where some of the voters cannot."""
        electable = can_be_elected(self._state)
        if all(not member.manager_eligible or member.electable for member in self._state.members.values()):
            return ""
        left = len(electable - down)
        return f", and {left or 'none'} of the {len(electable)} that can be elected"

    def _copies(self, shards: Collection[_Shard], down: frozenset[str]) -> str:
        """The sentence about the shards of the batch; those without a started copy elsewhere are counted by cause."""
        kept = {shard for shard in shards if self._serving[shard] - down}
        lone = {shard for shard in shards if shard not in kept and self._configured[shard] == 1}
        late = len(shards) - len(kept) - len(lone)
        if not shards:
            return "The batch holds no shard"
        if len(kept) == len(shards):
            return f"Every shard of the batch keeps a started copy elsewhere ({len(kept)} of {len(shards)})"
        parts = [f"{len(kept)} of {len(shards)} shards of the batch keep a started copy elsewhere"]
        if lone:
            parts.append(
                f"{len(lone)} with a single copy by configuration {'is' if len(lone) == 1 else 'are'} away then"
            )
        if late:
            parts.append(f"{late} {'waits' if late == 1 else 'wait'} until a copy elsewhere has started")
        return "; ".join(parts)
