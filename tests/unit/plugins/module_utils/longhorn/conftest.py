"""The driver whose Longhorn the modules ask."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import (
    health_gate,
    node_engine_plan,
    node_engine_switch,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock import lease
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import kept_in

from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import Driver


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> type[Driver]:
    """Makes the modules ask the Longhorn of the latest driver."""

    class Driving(Driver):
        def __init__(self, longhorn: Longhorn) -> None:
            super().__init__(longhorn)
            for module in (node_engine_switch, node_engine_plan, health_gate, kept_in, lease, client):
                monkeypatch.setattr(module, "connect", self.connect)

    return Driving
