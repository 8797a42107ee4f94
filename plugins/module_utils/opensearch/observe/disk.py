"""Pure: the disks of the members, and the watermarks of the cluster.

From 8.5 on Elasticsearch bounds the free space that a share asks for (`max_headroom`, 200 GB for the low watermark),
unless that watermark was set itself (server source, DiskThresholdSettings).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...common.reading import Json, Unreadable, listed, named, one_of, part, text, texts, whole, within

LEVELS = ("flood_stage", "high", "low")
"""The watermarks, the worst first."""
HEADROOM, _NONE = ".max_headroom", "-1"

_BYTES = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>b|[kmgtp]b?)", re.IGNORECASE)
_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


@dataclass(frozen=True)
class Watermark:
    """The limit for a full disk: its text, and either the share in use (0 to 1) or the bytes that stay free."""

    text: str
    used: float | None = None
    free: float | None = None
    headroom: float = math.inf
    """The most bytes that a share asks to be free, however large the disk is."""

    def exceeded(self, disk: MemberDisk) -> bool:
        """Whether that disk is fuller than the watermark."""
        if self.used is not None:
            return disk.used > self.used and disk.available < self.headroom
        return disk.available < (self.free or 0)

    def room(self, disk: MemberDisk) -> int:
        """The bytes that may come to that disk before it is fuller than the watermark."""
        kept = (self.free or 0) if self.used is None else min(disk.total * (1 - self.used), self.headroom)
        return max(0, round(disk.available - kept))


@dataclass(frozen=True)
class MemberDisk:
    """The fullest data path of a member, in bytes."""

    member: str
    total: int
    available: int

    @property
    def used(self) -> float:
        """The share in use, from 0 to 1."""
        return 1 - self.available / self.total if self.total else 0.0


@dataclass(frozen=True)
class Disks:
    """The disks of the data members, and the watermarks by level, or None if the cluster heeds none."""

    disks: tuple[MemberDisk, ...] = ()
    watermarks: Mapping[str, Watermark] | None = None


def with_gains(seen: Disks, gains: Mapping[str, int]) -> Disks:
    """The disks as they are once those of some members have grown by so many bytes."""
    disks = (
        MemberDisk(disk.member, disk.total + gain, disk.available + gain)
        for disk in seen.disks
        for gain in (gains.get(disk.member, 0),)
    )
    return replace(seen, disks=tuple(disks))


def parse_watermark(text: str) -> Watermark:
    """A watermark from a setting: `85%` or `0.85` in use, or `500mb` free.

    Raises:
        ValueError: the text is of none of these forms.
    """
    text = text.strip()
    if text.endswith("%"):
        return Watermark(text, used=float(text[:-1]) / 100)
    found = _BYTES.fullmatch(text)
    if found:
        return Watermark(text, free=float(found["number"]) * 1024 ** _POWERS[found["unit"][0].lower()])
    return Watermark(text, used=float(text))


def parse_watermarks(answer: Json, data_members: int) -> Mapping[str, Watermark] | None:
    """The watermarks in force, from `_cluster/settings?include_defaults=true`; None if the cluster heeds none."""
    scopes = [_disk(answer, scope) for scope in ("defaults", "persistent", "transient")]
    settings = {name: value for found in scopes for name, value in found.items()}
    defaults, *explicit = (dict(_marks(part(found, "watermark", {}))) for found in scopes)
    given = {name: value for found in explicit for name, value in found.items()}
    # The default of a headroom is shown as it is without the watermark that is set here.
    unbounded = {f"{level}{HEADROOM}": _NONE for level in LEVELS if level in given}
    marks = {**defaults, **unbounded, **given}
    if not _is_on(settings, "threshold_enabled"):
        return None
    if data_members == 1 and not _is_on(marks, "enable_for_single_data_node", "false"):
        return None
    return {level: _watermark(marks, level) for level in LEVELS}


def _marks(found: Json) -> Iterator[tuple[str, Any]]:
    """The settings of the watermarks with all of their names.

    `low.max_headroom` is below `low` if only that is set, and next to it if both are (server source, Settings).
    """
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", each) for inner, each in _marks(value))
        else:
            yield name, value


def _watermark(marks: Json, level: str) -> Watermark:
    found, headroom = _read(marks, level), text(marks, f"{level}{HEADROOM}", _NONE)
    if headroom == _NONE:
        return found
    return replace(found, headroom=_read(marks, f"{level}{HEADROOM}").free or 0.0)


def _read(marks: Json, name: str) -> Watermark:
    written = text(marks, name)
    try:
        return parse_watermark(written)
    except ValueError as error:
        raise Unreadable(f"is {written!r}, which is no watermark", name) from error


def _is_on(settings: Json, name: str, default: str | None = None) -> bool:
    return {"true": True, "false": False}[one_of({name: default, **settings}, name, ("true", "false"))]


def _disk(answer: Json, scope: str) -> Json:
    found = answer
    for name in (scope, "cluster", "routing", "allocation", "disk"):
        found = part(found, name, {})
    return found


def parse_disks(answer: Json) -> tuple[MemberDisk, ...]:
    """The fullest path of each member that keeps shards, from `_nodes/stats/fs`.

    Members that hold nothing but a cache of remote data (roles `warm`, `search` and `data_frozen` alone) are left out.
    Elasticsearch fills nine tenths of the disk of such a frozen member with that cache when it starts, and moves no
    shard because of it (Elasticsearch guide, Searchable snapshots, `shared_cache.size`).
    """
    found = named(answer, "nodes", lambda _identity, node: _fullest(node), {})
    return tuple(disk for disk in found.values() if disk)


def _fullest(node: Json) -> MemberDisk | None:
    if not any(role == "data" or role.startswith("data_") for role in {*texts(node, "roles", ())} - {"data_frozen"}):
        return None
    name = text(node, "name")

    def disk(path: Json) -> MemberDisk:
        return MemberDisk(name, whole(path, "total_in_bytes"), whole(path, "available_in_bytes"))

    paths = within(node, "fs", lambda fs: listed(fs, "data", disk))
    if not paths:
        raise Unreadable("has no data path")
    return min(paths, key=lambda disk: disk.available / disk.total if disk.total else 1.0)
