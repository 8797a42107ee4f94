"""A member that does not come back, looked at until its cause is reported."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.replacement import SLOW

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import TIMEOUT, Room

SOON = SLOW + 5
"""Seconds after which a roll says what it is at, and is asked again; events and logs are looked for after `SLOW`."""


def until_stuck(room: Room, name: str, wanted: str, says: str = "", **options: Any) -> Outcome:
    """The outcome for a member that does not come back, once it has come so far that `wanted` is the reason."""
    seen: list[str] = []

    def stuck() -> Outcome | None:
        outcome = room.roll(name, wait_timeout=SOON, **options)
        first = next(iter(outcome.verdict.deciding()), None)
        assert first is not None, f"{name} came back: {outcome.verdict}"
        seen[:] = [f"{first.code}: {first.message}"]
        return outcome if first.code == wanted and says in first.message else None

    try:
        return until(f"{wanted} to be said of {name}", stuck, TIMEOUT)
    finally:
        print(*seen)
