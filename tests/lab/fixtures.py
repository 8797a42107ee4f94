"""Fixtures for tests on a real control plane; import them into a conftest.py or a test module."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.namespace import Namespace


def lab_directory() -> Path:
    """A new directory that the pods' user may enter."""
    directory = Path(tempfile.mkdtemp(prefix="lab-"))
    directory.chmod(0o755)
    return directory


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """One lab for the whole test session; after failures its directory stays, with all logs."""
    running = Lab.up("tests", lab_directory())
    yield running
    failed = request.session.testsfailed > 0
    running.down(keep=failed)
    if failed:
        print(f"the lab's logs are in {running.directory}")


@pytest.fixture
def namespace(lab: Lab) -> Iterator[Namespace]:
    """A namespace of its own for one test."""
    made = Namespace(lab, f"test-{uuid.uuid4().hex[:8]}")
    yield made
    made.remove()
