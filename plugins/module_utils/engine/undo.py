# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The head of every undo: the run that wrote it, the time, and the lock. Pure.

The values before the change follow the head; they are kept beside the change. One cluster can be reached under several
locks. So nobody puts back the change of a run that still holds its lock, whichever lock that is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLACE = ("kept_in", "namespace", "name")
"""The parts of the place of a lock."""
_OBJECT = re.compile(r"[a-z0-9.-]*")


@dataclass(frozen=True)
class Writer:
    """The run that wrote an undo."""

    run: str
    at: str
    lock: Mapping[str, str] = field(default_factory=dict)
    """The place of its lock; empty for a task outside a run, and for undos of older versions."""

    def head(self) -> dict[str, Any]:
        """The first fields of the undo in its written form."""
        return {"run": self.run, "at": self.at, **({"lock": dict(self.lock)} if self.lock else {})}


def writer_in(raw: Mapping[str, Any]) -> Writer:
    """The head of an undo that was read.

    Raises:
        ValueError: no run writes such a head. KeyError, TypeError and AttributeError say the same.
    """
    run, at, lock = raw["run"], raw["at"], raw.get("lock", {})
    if not isinstance(run, str) or not isinstance(at, str):
        raise ValueError("unknown run")
    if lock and (set(lock) != set(PLACE) or not all(_OBJECT.fullmatch(lock[name]) for name in PLACE)):
        raise ValueError("unknown lock")
    return Writer(run, at, dict(lock))


def place_of(lock: Mapping[str, Any] | None) -> dict[str, str]:
    """The place of a lock: its kind, namespace and name."""
    return {name: str(lock.get(name) or "") for name in PLACE} if lock and lock.get("name") else {}
