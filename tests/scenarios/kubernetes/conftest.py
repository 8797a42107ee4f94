"""A pool in a namespace of its own for each scenario, in the lab of all."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.scenarios.kubernetes.room import Room
from tests.scenarios.platforms import Platform


@pytest.fixture
def bare_room(platform: Platform) -> Iterator[Room]:
    """A room in which the user of an upgrade has no right at all."""
    made = Room(platform, f"room-{uuid.uuid4().hex[:8]}")
    yield made
    made.remove()


@pytest.fixture
def room(bare_room: Room) -> Room:
    """A room in which the user of an upgrade has the rights of the documented Role."""
    bare_room.grant()
    return bare_room
