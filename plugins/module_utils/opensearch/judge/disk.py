# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disks of the members against the watermarks of the cluster.

A replica is allocated to no member above the low watermark, not even where its files already are (seen on 2.19;
elastic/elasticsearch#56578): after the restart of such a member its replicas would stay away.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.disk import LEVELS, Disk, Disks

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


def _in_units(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
