"""A pool in a namespace of its own for each scenario."""

from __future__ import annotations

from tests.scenarios.kubernetes.conftest import bare_room, room

__all__ = ["bare_room", "room"]
