# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disks of the members against the watermarks of the cluster.

A replica is allocated to no member above the low watermark, not even where its files already are (seen on 2.19;
elastic/elasticsearch#56578): after the restart of such a member its replicas would stay away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.disk import LEVELS, Disk, Disks
from ..observe.state import ClusterMember, ClusterState

_WORDS = {
    "flood_stage": "the flood stage ({}), where writes to their indices are blocked",
    "high": "the high watermark ({}), where shards are moved away from them",
    "low": "the low watermark ({}), where no replica is allocated to them, not even one whose files they have kept",
}


@as_verdict
def judge_disks(seen: Disks) -> Iterator[Reason]:
    """Whether no member is above a watermark. Each is named under the worst that it is above."""
    if not seen.watermarks:
        return
    above: dict[str, list[Disk]] = {}
    for disk in seen.disks:
        level = next((level for level in LEVELS if seen.watermarks[level].exceeded(disk)), None)
        if level:
            above.setdefault(level, []).append(disk)
    for level in (level for level in LEVELS if level in above):
        members = enumerate_few(
            f"{disk.member} ({100 * disk.used:.1f}% used, {_in_units(disk.available)} free)"
            for disk in sorted(above[level], key=lambda disk: -disk.used)
        )
        yield refused(
            "disk_watermark",
            f"The disks of these members are above {_WORDS[level].format(seen.watermarks[level].text)}: {members}.",
            f"Free or add disk space, or raise cluster.routing.allocation.disk.watermark.{level}. To go on"
            " nevertheless, set skip_checks: [disk].",
        )


CANDIDATES = 5
"""The members of a tier whose loss is tried out, so that 1,000 members cost no second."""
ZONE = "zone"
"""The node attribute that says in which zone a member is, unless a user has another one."""


@as_verdict
def judge_losses(seen: Disks, state: ClusterState) -> Iterator[Reason]:
    """Remarks with the fullest disk if one member, or one zone, never came back: of each the loss that is worst.

    The figures are an estimate: everything on the lost disks is taken for shards which are rebuilt, in equal parts, on
    the other members with the same data roles.
    """
    if not seen.watermarks:
        return
    members = {member.name: member for member in state.members.values()}
    disks = [disk for disk in seen.disks if disk.member in members]
    zones = sorted({zone for disk in disks if (zone := members[disk.member].attributes.get(ZONE))})
    single = [(disk.member, {disk.member}) for disk in _with_most(disks, members)]
    whole = [
        (f"zone {zone}", {disk.member for disk in disks if members[disk.member].attributes.get(ZONE) == zone})
        for zone in zones
    ]
    for losses in (single, whole):
        found = [(*loss, who) for who, gone in losses if (loss := _after(disks, gone, members))]
        if found:
            yield _told(max(found, key=lambda each: each[0]), seen)


def _with_most(disks: Sequence[Disk], members: dict[str, ClusterMember]) -> list[Disk]:
    """The disks with the most bytes of each tier: the loss of another one fills the others less."""
    tiers: dict[frozenset[str], list[Disk]] = {}
    for disk in disks:
        tiers.setdefault(_tier(members[disk.member]), []).append(disk)
    return [
        disk
        for of_tier in tiers.values()
        for disk in sorted(of_tier, key=lambda each: each.available - each.total)[:CANDIDATES]
    ]


def _after(
    disks: Sequence[Disk], gone: Collection[str], members: dict[str, ClusterMember]
) -> tuple[float, Disk, int] | None:
    """The share in use of the fullest disk that stays, that disk, and how many stay; None if there is none."""
    worst: tuple[float, Disk, int] | None = None
    for tier in {_tier(members[name]) for name in gone}:
        of_tier = [disk for disk in disks if _tier(members[disk.member]) == tier]
        stays = [disk for disk in of_tier if disk.member not in gone and disk.total]
        lost = sum(disk.total - disk.available for disk in of_tier if disk.member in gone)
        for disk in stays:
            used = (disk.total - disk.available + lost / len(stays)) / disk.total
            if worst is None or used > worst[0]:
                worst = used, disk, len(stays)
    return worst


def _tier(member: ClusterMember) -> frozenset[str]:
    return frozenset(role for role in member.roles if role == "data" or role.startswith("data_"))


def _told(loss: tuple[float, Disk, int, str], seen: Disks) -> Reason:
    used, disk, others, who = loss
    message = (
        f"If {who} never came back and its shards were rebuilt on the other {others}, the disk of {disk.member} would"
        f" be about {100 * used:.0f}% full, the fullest of them (now {100 * disk.used:.0f}%)"
    )
    marks, then = seen.watermarks or {}, Disk(disk.member, disk.total, round(disk.total * (1 - used)))
    level = next((level for level in LEVELS if level in marks and marks[level].exceeded(then)), None)
    if level is None:
        return remark("disk_after_loss", f"{message}.")
    named = level.replace("_", " ") if level == "flood_stage" else f"{level} watermark"
    return remark(
        "disk_after_loss", f"{message}, above the {named} ({marks[level].text}).", "Free or add disk space first."
    )


def _in_units(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
