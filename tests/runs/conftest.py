"""These tests need a process that was prepared before any other file of the tests was read."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

if "tests.runs.prepared" not in sys.modules:
    raise pytest.UsageError("Run these tests with `make runs`, or with pytest -p tests.runs.prepared tests/runs.")

from tests.runs import executor
from tests.runs.world import World, world


@pytest.fixture
def here() -> Iterator[World]:
    """A world of its own."""
    with world() as made:
        yield made


@pytest.fixture
def with_executor() -> Iterator[World]:
    """A world whose playbooks are run by the executor of ansible-core, which counts tasks and shows warnings."""
    with world(executor.play) as made:
        yield made
