"""A place with the files of an agent for each test, and one agent for all tests of a module that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.agent.agents import Agent, Place, agent


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of the test's own."""
    return Place(tmp_path)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent that the tests of a module share; a request has to come within a second."""
    with agent(Place(tmp_path_factory.mktemp("agent")), options=["--request-timeout", "1"]) as running:
        running.await_log("begun")
        yield running
