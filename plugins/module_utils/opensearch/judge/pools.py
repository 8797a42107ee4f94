# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools, their order, and the digest of a plan made of them. Pure: no client, no clock.

The order is data without manager, then data with manager, then the rest; among the rest, members that cannot be
elected come before those that can (rolling upgrade procedure of OpenSearch: manager-eligible members last).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ..observe.version import Version


class Kind(Enum):
    """What a pool is for; the values are the order of upgrading."""

    DATA = (0, "data without manager")
    DATA_AND_MANAGER = (1, "data with manager")
    OTHER = (2, "neither data nor manager")
    MANAGER = (3, "manager without data")

    @property
    def position(self) -> int:
        """The place in the order."""
        return self.value[0]

    @property
    def words(self) -> str:
        """For people."""
        return self.value[1]


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
    serves: frozenset[str] = frozenset()
    """The roles in which others may stand in for it."""
    ready: bool = True
    """False where it is in the cluster and its pod is not Ready."""

    @property
    def group(self) -> str:
        """Its pool, as the engine that cuts batches calls it."""
        return self.pool

    @property
    def ordinal(self) -> int:
        """The number at the end of its name; -1 where there is none."""
        last = self.name.rpartition("-")[2]
        return int(last) if last.isdigit() else -1


@dataclass(frozen=True)
class Pool:
    """Members with the same roles, and, where they are pods, the image that makes them the target version."""

    name: str
    members: tuple[Member, ...]
    container: str = ""
    image: str = ""
    target_image: str = ""
    strategy: str = ""
    in_use: bool = False
    """Whether a Ready member runs its present image, so that a broken one can come back on it."""
    returning: tuple[str, ...] = ()
    """The members that run another image than the present one, and would come back on it if they died now."""
    ephemeral: bool = False
    """Whether its members keep no data over a restart."""
    by_partition: bool = False
    """Whether it is rolled by its partition, which lets the highest ordinals through first."""
    uid: str = ""
    """Of its StatefulSet."""

    @cached_property
    def kind(self) -> Kind:
        """From the roles that its members themselves report."""
        data = any(member.holds_data for member in self.members)
        manager = any(member.manager_eligible for member in self.members)
        if data:
            return Kind.DATA_AND_MANAGER if manager else Kind.DATA
        return Kind.MANAGER if manager else Kind.OTHER

    @property
    def serves(self) -> frozenset[str]:
        """The roles of its members in which others may stand in for them."""
        return frozenset(role for member in self.members for role in member.serves)

    @property
    def elected(self) -> bool:
        """Whether the elected manager is one of its members."""
        return any(member.elected for member in self.members)

    def status(self, target: Version) -> str:
        """`pending`, `upgrading` or `upgraded`: whether none, some or all of its members run the target version."""
        there = [member.version == target for member in self.members]
        return "upgraded" if all(there) else "upgrading" if any(there) else "pending"

    def cures(self, member: Member) -> bool:
        """Whether a member that is away comes back on the pool's present image before it is upgraded."""
        return member.version is None and self.in_use and self.image != self.target_image


def order_pools(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Pools in the order of upgrading.

    Of the same kind the one with the elected manager goes last, and one whose members would come back on another image
    first: until it is done, whatever dies decides its version. Otherwise they go by name.
    """
    return tuple(sorted(pools, key=lambda pool: (pool.kind.position, pool.elected, not pool.returning, pool.name)))


def order_members(pool: Pool) -> tuple[Member, ...]:
    """Members in the order of upgrading: broken first, the elected manager last, else the highest ordinal first.

    Before those that are Ready go those that are in the cluster and not Ready: nothing else of the pool goes meanwhile.
    A partition lets no other order through than that of the ordinals.
    """
    if pool.by_partition:
        return tuple(sorted(pool.members, key=lambda member: -member.ordinal))
    return tuple(
        sorted(
            pool.members,
            key=lambda member: (
                member.version is not None,
                member.ready,
                member.elected,
                -member.ordinal,
                member.name,
            ),
        )
    )


def digest_of(
    cluster: str, target: Version, pools: Iterable[Pool], only: Collection[str], conditions: Collection[str]
) -> str:
    """A p and eleven hexadecimal digits for what the plan will have made of the cluster, and on which conditions.

    It is never a number to YAML. It changes with the cluster, the version, the pools, their members and images, the
    members that the plan is narrowed to, and the other conditions (consents, how batches are cut). It stays the same
    while the plan is carried out, so that what was confirmed once can be gone on with after an interruption.
    """
    content = {
        "cluster": cluster,
        "target": str(target),
        "pools": sorted(
            [pool.name, pool.container, pool.target_image, sorted(member.name for member in pool.members)]
            for pool in pools
        ),
        "only": sorted(only),
        "conditions": sorted(conditions),
    }
    return f"p{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:11]}"
