"""The disks of the members against the watermarks of the cluster.

A replica is allocated to no member above the low watermark, not even where its files already are (seen on 2.19;
elastic/elasticsearch#56578): after the restart of such a member its replicas would stay away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.disk import LEVELS, Disks, MemberDisk
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
    above: dict[str, list[MemberDisk]] = {}
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
            "Free or add disk space: the run makes volume claims larger whose StorageClass has allowVolumeExpansion"
            f" (upgrade_volumes). Or raise cluster.routing.allocation.disk.watermark.{level}. To go on"
            " nevertheless, set skip_checks: [disk].",
        )


CANDIDATES = 5
"""The members of a tier whose loss is tried out, so that 1,000 members take less than a second."""
ZONE = "zone"
"""The node attribute that says in which zone a member is, unless a user has another one."""


@dataclass(frozen=True)
class Loss:
    """The disks after a loss: the fullest that stays, and the bytes that find no place below the low watermark."""

    who: str
    disk: MemberDisk
    used: float
    """The share of that disk that would be in use."""
    others: int
    lost: int
    short: int

    @property
    def severity(self) -> tuple[int, float]:
        """The order of losses: the bytes without a place, then the fullest disk."""
        return self.short, self.used


@as_verdict
def judge_losses(
    seen: Disks, state: ClusterState, batches: Sequence[Collection[str]] = (), zone: str = ZONE
) -> Iterator[Reason]:
    """Remarks with the fullest disk if one member, one zone, or one of the `batches`, never came back.

    Of each kind the worst loss is reported. The figures are an estimate: everything on the lost disks counts as shards
    that are rebuilt, in equal parts, on the other members with the same data roles. While a batch is away as planned
    no shard is rebuilt, since the run keeps them from being allocated: the figures are for a batch that never returns.
    """
    if not seen.watermarks:
        return
    members = {member.name: member for member in state.members.values()}
    disks = [disk for disk in seen.disks if disk.member in members]
    zones = sorted({place for disk in disks if (place := members[disk.member].attributes.get(zone))})
    single = [(disk.member, frozenset({disk.member})) for disk in _with_most(disks, members)]
    whole = [
        (
            f"zone {place}",
            frozenset(disk.member for disk in disks if members[disk.member].attributes.get(zone) == place),
        )
        for place in zones
    ]
    named = {gone for _who, gone in whole}
    together = [
        (f"batch {number} ({enumerate_few(batch)})", gone)
        for number, batch in enumerate(batches, start=1)
        if len(gone := frozenset(batch) & {disk.member for disk in disks}) > 1 and gone not in named
    ]
    for kind in (single, whole, together):
        found = [loss for who, gone in kind if (loss := _after(who, disks, gone, members, seen))]
        if found:
            yield _remark_on(max(found, key=lambda loss: loss.severity), seen)


def _with_most(disks: Sequence[MemberDisk], members: dict[str, ClusterMember]) -> list[MemberDisk]:
    """The disks with the most bytes of each tier: the loss of another one fills the others less."""
    tiers: dict[frozenset[str], list[MemberDisk]] = {}
    for disk in disks:
        tiers.setdefault(_tier(members[disk.member]), []).append(disk)
    return [
        disk
        for of_tier in tiers.values()
        for disk in sorted(of_tier, key=lambda each: each.available - each.total)[:CANDIDATES]
    ]


def _after(
    who: str, disks: Sequence[MemberDisk], gone: Collection[str], members: dict[str, ClusterMember], seen: Disks
) -> Loss | None:
    """The worst of the tiers after a loss; None if no other member of a tier stays."""
    worst: Loss | None = None
    for tier in {_tier(members[name]) for name in gone if name in members}:
        of_tier = [disk for disk in disks if _tier(members[disk.member]) == tier]
        stays = [disk for disk in of_tier if disk.member not in gone and disk.total]
        lost = sum(disk.total - disk.available for disk in of_tier if disk.member in gone)
        if not stays or not lost:
            continue
        low = (seen.watermarks or {})["low"]
        short = max(0, lost - sum(low.room(disk) for disk in stays))
        part = lost / len(stays)
        fullest = max(stays, key=lambda disk: (disk.total - disk.available + part) / disk.total)
        used = (fullest.total - fullest.available + part) / fullest.total
        loss = Loss(who, fullest, used, len(stays), lost, short)
        worst = loss if worst is None or loss.severity > worst.severity else worst
    return worst


def _tier(member: ClusterMember) -> frozenset[str]:
    return frozenset(role for role in member.roles if role == "data" or role.startswith("data_"))


def _remark_on(loss: Loss, seen: Disks) -> Reason:
    disk, marks = loss.disk, seen.watermarks or {}
    message = (
        f"If {loss.who} never came back and its shards were rebuilt on the other {loss.others}, the disk of"
        f" {disk.member} would be about {100 * loss.used:.0f}% full, the fullest of them (now {100 * disk.used:.0f}%)"
    )
    then = MemberDisk(disk.member, disk.total, round(disk.total * (1 - loss.used)))
    level = next((level for level in LEVELS if marks[level].exceeded(then)), None)
    if level is None:
        return remark("disk_after_loss", f"{message}.")
    named = level.replace("_", " ") if level == "flood_stage" else f"{level} watermark"
    message += f", above the {named} ({marks[level].text})."
    if loss.short:
        message += (
            f" Of its {_in_units(loss.lost)}, about {_in_units(loss.short)} would find no place below the low watermark"
            f" ({marks['low'].text})."
        )
    return remark("disk_after_loss", message, "Free or add disk space first.")


def _in_units(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
