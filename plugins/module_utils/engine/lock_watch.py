# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watching a lock that another run may hold: does that run live?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..common import ancestry
from ..common.task import Task
from .lock import Life, Lock, LockStore, Sight

PLACE = ("kept_in", "namespace", "name")
"""What says where a lock is kept."""


@dataclass
class Watch:
    """A lock as it was first seen, on the clock of the task."""

    task: Task
    store: LockStore
    first: Lock | None = None
    since: float = 0.0
    before: dict[str, Any] | None = None
    """Who held it at the first look."""

    def look(self) -> Sight:
        """The lock now, and what has become of it since the first look.

        A slow answer tells of the moment when it was given, so the time counts from the first answer to the last
        question.
        """
        asked = self.task.clock.now()
        lock = self.store.read()
        self.before = shown(lock) if self.before is None else self.before
        if self.first is None or lock is None or lock.run != self.first.run:
            self.begin(lock)
        renewed = lock is not None and self.first is not None and lock.renewed != self.first.renewed
        return Sight(lock, life_of(lock), max(0.0, asked - self.since), renewed)

    def begin(self, lock: Lock | None) -> None:
        """Watch this lock from now on."""
        self.first, self.since = lock, self.task.clock.now()


def life_of(lock: Lock | None) -> Life:
    """What this machine knows of the processes of the lock's holder."""
    if lock is None or not lock.processes or not lock.place or lock.place != ancestry.place():
        return Life.UNKNOWN
    controller, *workers = lock.processes
    if ancestry.alive(controller):
        return Life.ALIVE
    return Life.ENDING if any(ancestry.alive(worker) for worker in workers) else Life.GONE


def shown(lock: Lock | None) -> dict[str, Any]:
    """Who holds a lock, as results show it."""
    if lock is None or not lock.run:
        return {"run": None}
    names = ("run", "who", "since", "renewed", "doing", "stop")
    return {name: getattr(lock, name) for name in names if getattr(lock, name)}


def place_of(lock: Mapping[str, Any] | None) -> dict[str, str]:
    """Where a lock is kept: its kind, namespace and name."""
    return {name: str(lock.get(name) or "") for name in PLACE} if lock and lock.get("name") else {}
