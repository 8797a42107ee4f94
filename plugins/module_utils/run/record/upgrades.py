# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The upgrades of a cluster one after the other: version, phase, and the times of the whole and of its members. Pure.

They are what `status.history` of an UpgradeConfig tells, whose `worker` times are those of the members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...common.reading import listed, text
from .conditions import Condition, parse_condition

KEPT_UPGRADES = 20
"""Upgrades that are kept, the newest."""


@dataclass(frozen=True)
class Upgrade:
    """One upgrade. Each moment is in RFC 3339, and empty before it has come."""

    version: str
    phase: str
    started: str
    completed: str = ""
    """The moment at which it was completed; empty for one that has ended otherwise."""
    members_started: str = ""
    """The moment at which its first batch began."""
    members_completed: str = ""
    """The moment at which its last batch was done."""
    conditions: tuple[Condition, ...] = ()
    """See `milestones.conditions_of`; empty in a record that was written before they were kept."""

    def is_of(self, version: str, started: str) -> bool:
        """Whether it is the upgrade to this version that began at that time."""
        return (self.version, self.started) == (version, started)


def upgrade_of(
    version: str,
    phase: str,
    started: str,
    completed: str,
    batches: Sequence[tuple[str, str, bool]],
    conditions: tuple[Condition, ...] = (),
) -> Upgrade:
    """The upgrade whose `batches` have begun and ended at these moments, and are done or not."""
    begun = [begin for begin, _end, _done in batches if begin]
    whole = bool(batches) and all(done for _begin, _end, done in batches)
    ends = [end for _begin, end, _done in batches if end] if whole else []
    return Upgrade(version, phase, started, completed, min(begun, default=""), max(ends, default=""), conditions)


def with_upgrade(earlier: Sequence[Upgrade], now: Upgrade) -> tuple[Upgrade, ...]:
    """All upgrades, of which the last is the present one: it goes on until it is completed or another version comes."""
    last = earlier[-1] if earlier else None
    goes_on = last is not None and not last.completed and last.version == now.version
    same = last is not None and (goes_on or last.is_of(now.version, now.started))
    return (*(earlier[:-1] if same else earlier), now)[-KEPT_UPGRADES:]


def parse_upgrade(raw: Mapping[str, Any]) -> Upgrade:
    """An upgrade as it was written.

    Raises:
        Unreadable: a field is no text, or a condition is not readable.
    """
    texts = {name: text(raw, name, "") for name in Upgrade.__dataclass_fields__ if name != "conditions"}
    return Upgrade(**texts, conditions=listed(raw, "conditions", parse_condition, ()))
