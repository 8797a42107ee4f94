# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch of nodes from outside, end to end on Longhorn's controllers in memory."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import (
    health_gate,
    node_engine_plan,
    node_engine_switch,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.running import upgrade_record

from tests.sandbox.longhorn.description import Volume
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver, three

S1 = tuple(Volume(f"vol-{number}", SPREAD, "n1") for number in (1, 2, 3))
S2 = tuple(Volume(f"vol-{number}", ("n2", "n3"), "n1") for number in (1, 2, 3))
S3 = tuple(Volume(f"vol-{number}", SPREAD, f"n{number}") for number in (1, 2, 3))


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> type[Driver]:
    """Makes the modules ask the Longhorn of the latest driver."""

    class Driving(Driver):
        def __init__(self, longhorn: Longhorn) -> None:
            super().__init__(longhorn)
            for module in (node_engine_switch, node_engine_plan, health_gate, upgrade_record, client):
                monkeypatch.setattr(module, "connect", self.connect)

    return Driving


@pytest.mark.parametrize("volumes", [S1, S2, S3], ids=["S1", "S2", "S3"])
def test_the_succeeding_cases_of_the_design_are_completed(drive: type[Driver], volumes: tuple[Volume, ...]) -> None:
    driver = drive(three(*volumes))
    planned = driver.plan()
    assert planned.verdict.reasons == ()
    assert [batch["members"] for batch in planned.more["batches"]] == [["n1"], ["n2"], ["n3"]]
    done = driver.switch(*NODES_OF_THREE)
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.images() == dict.fromkeys(NODES_OF_THREE, "v1.12.0")
    driver.switch(state="restored")
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []
    assert driver.gate("after_upgrade", target_version="v1.12.0").verdict.passed
    assert driver.snapshots() > 0
    driver.switch(state="cleaned")
    assert driver.longhorn.until(lambda: driver.snapshots() == 0)
    again = driver.switch(*NODES_OF_THREE)
    assert (again.verdict.state, again.changed) == (State.PASSED, False)
