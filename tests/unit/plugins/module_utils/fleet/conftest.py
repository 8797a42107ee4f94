"""The folder of a fleet whose upgrade goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster, FleetPlan
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.waves import Wave


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with one cluster, which is being upgraded."""
    folder = Folder(tmp_path)
    folder.write(FleetPlan((Wave("wave 1", ("north",)),), 1, "f1"))
    folder.put(Cluster("north", "upgrading", digest="p1", began="2026-11-28T10:00:00Z"))
    return folder
