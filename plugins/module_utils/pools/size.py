"""The members that a pool gains or loses with another size, for the time of a run or for good. Pure.

A StatefulSet makes the member with the next ordinal, and removes the one with the highest ordinal and no other
(Kubernetes documentation, StatefulSets, Deployment and Scaling Guarantees).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..common.verdict import Reason, as_verdict, refused
from ..kubernetes.state import StatefulSet


@dataclass(frozen=True)
class Size:
    """The wanted size of one pool."""

    pool: StatefulSet
    replicas: int

    @property
    def added(self) -> tuple[str, ...]:
        """The members that are to come, the lowest ordinal first."""
        return tuple(name for name in self._wanted if name not in self.pool.member_names())

    @property
    def removed(self) -> tuple[str, ...]:
        """The members that are to go, the highest ordinal first."""
        return tuple(name for name in reversed(self.pool.member_names()) if name not in self._wanted)

    @cached_property
    def _wanted(self) -> Sequence[str]:
        return replace(self.pool, replicas=self.replicas).member_names()


def sizes_in(pools: Iterable[StatefulSet], replicas: Mapping[str, int]) -> tuple[Size, ...]:
    """The pools that are to have another size than they have; `replicas` are the wanted numbers by pool."""
    wanted = (Size(pool, replicas[pool.name]) for pool in pools if pool.name in replicas)
    return tuple(size for size in wanted if size.replicas != size.pool.replicas)


def next_member(pool: StatefulSet) -> str:
    """The name of the member that a pool gains with its next replica."""
    return Size(pool, pool.replicas + 1).added[0]


@as_verdict
def judge_last(pool: StatefulSet, name: str) -> Iterator[Reason]:
    """Whether a member is the one that its StatefulSet removes next."""
    last = Size(pool, pool.replicas - 1).removed[0]
    if name != last:
        yield refused(
            "removal_of_another",
            f"Member {name} is to be removed, and StatefulSet {pool.name} would delete {last} now.",
            "Remove the members with the highest ordinals, one after the other.",
        )
