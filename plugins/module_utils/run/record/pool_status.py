# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress of each pool of an upgrade. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .phases import Deed

PENDING = "pending"
UNDER_WAY = {Deed.UPGRADE: "upgrading", Deed.RESTART: "restarting"}
DONE = {Deed.UPGRADE: "upgraded", Deed.RESTART: "restarted"}
STATUSES = (PENDING, *UNDER_WAY.values(), *DONE.values())


@dataclass(frozen=True)
class PoolRecord:
    """One pool of the plan."""

    name: str
    status: str
    """It is `pending` before its first batch begins, `upgraded` when no member is left, and `upgrading` in between.
    Those of a restart are `restarted` and `restarting`."""
    left: tuple[str, ...] = ()
    """Its members that do not run the target version yet, or are not restarted yet."""


def planned(plan: Mapping[str, Any]) -> tuple[PoolRecord, ...]:
    """The pools of a plan, which is the result of pool_order, in its order."""
    target, before, deed = plan["target_version"], plan["before"], deed_of(plan)
    going = {name for batch in plan["batches"] for name in batch["members"]}

    def is_left(name: str) -> bool:
        return name in going if deed is Deed.RESTART else before.get(name) != target

    return tuple(_advanced(each, [name for name in each["members"] if is_left(name)], deed) for each in plan["pools"])


def deed_of(plan: Mapping[str, Any]) -> Deed:
    """The kind of work that a plan is for."""
    return Deed(plan.get("deed") or Deed.UPGRADE)


def _advanced(pool: Mapping[str, Any], left: Collection[str], deed: Deed) -> PoolRecord:
    half = deed is Deed.UPGRADE and len(left) < len(pool["members"])
    return PoolRecord(pool["name"], DONE[deed] if not left else UNDER_WAY[deed] if half else PENDING, tuple(left))


def outside_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """The members of the cluster that are in no pool of the plan, and do not run the target version."""
    members = {*plan["members"]} - plan["before"].keys()
    return tuple(name for name in plan["left"] if name in members)


def rolled(
    pools: Collection[PoolRecord], members: Collection[str], deed: Deed, *, done: bool
) -> tuple[PoolRecord, ...]:
    """The pools after a batch of these members has begun, or is `done`."""
    return tuple(_rolled(pool, members, deed, done=done) for pool in pools)


def _rolled(pool: PoolRecord, members: Collection[str], deed: Deed, *, done: bool) -> PoolRecord:
    going = {*members} & {*pool.left}
    if not going:
        return pool
    left = tuple(name for name in pool.left if name not in going) if done else pool.left
    return replace(pool, status=UNDER_WAY[deed] if left else DONE[deed], left=left)
