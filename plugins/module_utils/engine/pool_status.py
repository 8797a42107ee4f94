# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress of each pool of an upgrade. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..common.reading import Json, one_of, text, texts

STATUSES = ("pending", "upgrading", "upgraded")


@dataclass(frozen=True)
class PoolRecord:
    """One pool of the plan."""

    name: str
    status: str
    """It is `pending` before its first batch begins, `upgraded` when no member is left, and `upgrading` in between."""
    left: tuple[str, ...] = ()
    """Its members that do not run the target version yet."""


def pool_record_of(raw: Json) -> PoolRecord:
    """A pool of a record."""
    return PoolRecord(text(raw, "name", ""), one_of(raw, "status", STATUSES), texts(raw, "left"))


def planned(plan: Mapping[str, Any]) -> tuple[PoolRecord, ...]:
    """The pools of a plan, which is the result of pool_order, in its order."""
    target, before = plan["target_version"], plan["before"]
    return tuple(
        _advanced(each["name"], each["members"], [name for name in each["members"] if before.get(name) != target])
        for each in plan["pools"]
    )


def _advanced(name: str, members: Collection[str], left: Collection[str]) -> PoolRecord:
    status = "upgraded" if not left else "pending" if len(left) == len(members) else "upgrading"
    return PoolRecord(name, status, tuple(left))


def outside_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """The members of the cluster that are in no pool of the plan, and do not run the target version."""
    members = {*plan["members"]} - plan["before"].keys()
    return tuple(name for name in plan["left"] if name in members)


def rolled(pools: Collection[PoolRecord], members: Collection[str], *, done: bool) -> tuple[PoolRecord, ...]:
    """The pools after a batch of these members has begun, or is `done`."""
    return tuple(_rolled(pool, members, done=done) for pool in pools)


def _rolled(pool: PoolRecord, members: Collection[str], *, done: bool) -> PoolRecord:
    going = {*members} & {*pool.left}
    if not going:
        return pool
    left = tuple(name for name in pool.left if name not in going) if done else pool.left
    return replace(pool, status="upgrading" if left else "upgraded", left=left)
