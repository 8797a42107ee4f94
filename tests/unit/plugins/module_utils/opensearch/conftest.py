"""Fixtures that several files of tests of OpenSearch share."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import Room, furnished


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    """A namespace and a cluster in it, to be planned for."""
    return furnished(monkeypatch)
