"""Pools, their order, and the digest of a plan made of them. Pure: no client, no clock.

The order is data without manager, then data with manager, then the rest; among the rest, members that cannot be
elected come before those that can (rolling upgrade procedure of OpenSearch: manager-eligible members last).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ...run.start.approvals import digest_text
from ..observe.version import Version

TEMPLATE_CHANGED = "template changed"
"""The reason to replace a member that runs the target version already."""


class PoolKind(Enum):
    """The purpose of a pool in words, in the order of upgrading."""

    DATA = "data without manager"
    DATA_AND_MANAGER = "data with manager"
    OTHER = "neither data nor manager"
    MANAGER = "manager without data"

    @property
    def position(self) -> int:
        """The place in the order."""
        return [*PoolKind].index(self)


@dataclass(frozen=True)
class Member:
    """One member as the plan sees it; `version` is None while it is not in the cluster."""

    name: str
    pool: str
    version: Version | None
    manager_eligible: bool
    holds_data: bool
    elected: bool = False
    zone: str = ""
    machine: str = ""
    """The Kubernetes node or the address of the host that it runs on; empty if it is not known."""
    serves: frozenset[str] = frozenset()
    """The roles in which others may take its place."""
    ready: bool = True
    """Whether its pod is Ready, or it is not in the cluster."""
    outdated: bool = False
    """Whether its pod is of an older template than its pool has, or gets."""
    attributes: frozenset[str] = frozenset()
    """Its node attributes, each as name=value; none while it is not in the cluster."""

    votes_only: bool = False
    """Whether it votes, and is never elected."""
    due: bool = False
    """Whether it is to go although nothing of it is behind: its process is to be restarted."""
    again: bool = False
    """Whether a run that was interrupted has begun to empty its Kubernetes node, so that it goes with it once more."""
    under_way: bool = False
    """Whether a run that was interrupted has begun with it, so that it goes before all others."""

    @property
    def electable(self) -> bool:
        """Whether it can be elected."""
        return self.manager_eligible and not self.votes_only

    def is_called(self, canary: str) -> bool:
        """Whether it is meant by its name, or by one of its node attributes (name=value)."""
        return canary == self.name or canary in self.attributes

    def behind(self, target: Version) -> bool:
        """Whether it is to go: it is not on the target version, its pod is outdated, or it is due."""
        return self.version != target or self.outdated or self.due

    def replaced_on(self, target: Version) -> bool:
        """Whether nothing but its pod is outdated, so that it is replaced on the version that it runs."""
        return self.version == target and self.outdated

    @property
    def group(self) -> str:
        """Its pool, by the name that the engine uses when it cuts batches."""
        return self.pool

    @property
    def ordinal(self) -> int:
        """The number at the end of its name, or -1 if there is none."""
        last = self.name.rpartition("-")[2]
        return int(last) if last.isdigit() else -1


@dataclass(frozen=True)
class Pool:
    """Members with the same roles, and for pods the image of the target version."""

    name: str
    members: tuple[Member, ...]
    container: str = ""
    image: str = ""
    target_image: str = ""
    strategy: str = ""
    in_use: bool = False
    """Whether a Ready member runs the pool's present image, so that a broken one can come back on it."""
    returning: tuple[str, ...] = ()
    """The members that run another image than the pool's present one, and would come back on that if they died."""
    ephemeral: bool = False
    """Whether its members keep no data over a restart."""
    in_order: bool = False
    """Whether no pod of it is made before those of lower ordinal are Ready."""
    by_partition: bool = False
    """Whether it is rolled by its partition, which lets the highest ordinals through first."""
    uid: str = ""
    """The UID of its StatefulSet."""
    extra: str = ""
    """The member that it has for the time of an upgrade alone; empty if it has none."""
    template: str = ""
    """A digest of its pod template without the image of the server."""

    @cached_property
    def kind(self) -> PoolKind:
        """The kind, from the roles that its members themselves report."""
        data = any(member.holds_data for member in self.members)
        manager = any(member.manager_eligible for member in self.members)
        if data:
            return PoolKind.DATA_AND_MANAGER if manager else PoolKind.DATA
        return PoolKind.MANAGER if manager else PoolKind.OTHER

    @property
    def serves(self) -> frozenset[str]:
        """The roles of its members in which others may take their place."""
        return frozenset(role for member in self.members for role in member.serves)

    @property
    def known(self) -> bool:
        """Whether one of its members is in the cluster, and reports its attributes."""
        return any(member.version is not None for member in self.members)

    @property
    def attributes(self) -> frozenset[str]:
        """The node attributes that all its members in the cluster have, each as name=value."""
        there = [member.attributes for member in self.members if member.version is not None]
        return frozenset.intersection(*there) if there else frozenset()

    @property
    def elected(self) -> bool:
        """Whether the elected manager is one of its members."""
        return any(member.elected for member in self.members)

    def lasting_members(self) -> list[str]:
        """The names of its members, without one that it has for the time of an upgrade alone."""
        return sorted(member.name for member in self.members if member.name != self.extra)

    def status(self, target: Version) -> str:
        """`pending`, `upgrading` or `upgraded`: whether none, some or all of its members are as the plan wants them."""
        there = [not member.behind(target) for member in self.members]
        return "upgraded" if all(there) else "upgrading" if any(there) else "pending"

    def brings_back(self, member: Member) -> bool:
        """Whether a member that is away comes back on the pool's present image before it goes with others."""
        renewed = self.in_use and self.image != self.target_image
        return member.version is None and (renewed or member.again)


def order_pools(pools: Iterable[Pool], place: Callable[[Pool], int] = lambda _pool: 0) -> tuple[Pool, ...]:
    """Pools in the order of upgrading.

    Among pools of one kind, the one with the elected manager goes last, and one whose members would come back on
    another image goes first, since until then a member that dies changes its version. Otherwise they go by the `place`
    that the user gives them, and by name.
    """
    return tuple(
        sorted(pools, key=lambda pool: (pool.kind.position, pool.elected, not pool.returning, place(pool), pool.name))
    )


def order_members(pool: Pool) -> tuple[Member, ...]:
    """Members in the order of upgrading: broken first, the elected manager last, else the highest ordinal first.

    Members in the cluster that are not Ready go before those that are: no other of the pool goes until then. Broken
    ones go by the lowest ordinal first where the pool makes its pods in order: with a corrected template a broken pod
    is replaced only if it is deleted (kubernetes/kubernetes#67250), and no higher one is made before. A partition
    allows no other order than that of the ordinals.
    """
    if pool.by_partition:
        return tuple(sorted(pool.members, key=lambda member: -member.ordinal))

    def place(member: Member) -> tuple[bool, bool, bool, int, str]:
        broken = member.version is None
        ordinal = member.ordinal if broken and pool.in_order else -member.ordinal
        return not broken, member.ready, member.elected, ordinal, member.name

    return tuple(sorted(pool.members, key=place))


def digest_of(
    cluster: str, target: Version, pools: Iterable[Pool], only: Collection[str], conditions: Collection[str]
) -> str:
    """The digest of a plan's result and of its conditions.

    It changes with the cluster, the version, the pools, their members, images and pod templates, the members that the
    plan is narrowed to, and the other conditions (consents, the way to cut batches). It stays the same while the plan
    is carried out, so that a confirmed plan can go on after an interruption.

    The images that pools have at present are no part of it, so that a consent given in a pull request holds after Git
    has changed them. Nor is the order: it may change while pods are not Ready.
    """
    content = {
        "cluster": cluster,
        "target": str(target),
        "pools": sorted(
            [pool.name, pool.container, pool.target_image, pool.template, pool.lasting_members()] for pool in pools
        ),
        "only": sorted(only),
        "conditions": sorted(conditions),
    }
    return digest_text(content)
