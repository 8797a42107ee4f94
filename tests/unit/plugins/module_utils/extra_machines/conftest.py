"""The driver whose Cluster API the module asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines import extra_machines

from tests.sandbox.machines.machines import Machines
from tests.unit.plugins.module_utils.extra_machines.driving import Driver


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Driver]:
    """Makes a Cluster API with these MachineDeployments, which the module then asks."""

    def made(version: str = "v1beta2", **deployments: int) -> Driver:
        driver = Driver(Machines(deployments or {"workers": 3}, version))

        def connect(_options: Any) -> Any:
            return driver.api.client()

        monkeypatch.setattr(extra_machines, "connect", connect)
        return driver

    return made
