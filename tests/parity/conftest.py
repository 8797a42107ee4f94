"""The fixtures that the parity tests share."""

from __future__ import annotations

import pytest

from .playbook_runner import PlaybookRunner


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> PlaybookRunner:
    """A place where playbooks run both ways."""
    return PlaybookRunner(tmp_path_factory.mktemp("parity"))
