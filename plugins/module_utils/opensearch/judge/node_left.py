"""The time for which copies wait for a member that has left, before they are built on another one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..observe.settings import NODE_LEFT, Settings
from ..observe.state import ClusterMember
from ..observe.version import Version
from .last_snapshot import seconds_of

OF_SERVER = 60.0
"""Seconds that the servers wait by default (server source, UnassignedInfo)."""
KNOWN_FROM = Version(3, 8, 0)
"""The first version that has a setting of the whole cluster for it. Each older one has it for each index alone, and a
run neither writes to all indices nor needs to: while it has a member down, no replica is allocated anywhere."""


def delay_is_set(wanted: str, settings: Settings, members: Iterable[ClusterMember], ours: Iterable[str]) -> bool:
    """Whether a run sets this delay: all members know it, it is longer than the present one, and the run has set none
    yet. A present one that cannot be read stays. `ours` are the settings in its undo."""
    there = list(members)
    knows = bool(there) and all(not each.version.elasticsearch and each.version >= KNOWN_FROM for each in there)
    if not knows or NODE_LEFT in ours:
        return False
    present = settings.effective(NODE_LEFT)
    try:
        return seconds_of(wanted) > (OF_SERVER if present in (None, "-1") else seconds_of(str(present)))
    except ValueError:
        return False
