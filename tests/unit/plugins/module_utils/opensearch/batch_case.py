"""Members and pools as a planner is given them."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import Batch
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Member, Pool
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

OLD, NEW, MINOR = Version(2, 19, 6), Version(3, 8, 0), Version(2, 19, 7)


def member(
    name: str,
    zone: str = "",
    *,
    manages: bool = False,
    elected: bool = False,
    there: bool = True,
    data: bool = True,
    machine: str = "",
) -> Member:
    version, group = OLD if there else None, name.split("-", maxsplit=1)[0]
    return Member(name, group, version, manages, holds_data=data, elected=elected, zone=zone, machine=machine)


def pool(*members: Member, in_use: bool = False) -> Pool:
    return Pool(members[0].pool, members, "opensearch", "opensearch:2", "opensearch:3", "OnDelete", in_use)


def names(batches: Sequence[Batch]) -> list[tuple[str, ...]]:
    return [batch.members for batch in batches]
