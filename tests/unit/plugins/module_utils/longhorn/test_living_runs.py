"""What a run has set is not adopted or put back while that run still holds its lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import Lease
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock

from tests.sandbox.longhorn.description import Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.unit.plugins.module_utils.longhorn.driving import SPREAD, Driver, Killed, Killing, outliving

ACTS_BEFORE_THE_END = 8
"""Node, setting, snapshots and engines are changed, and the instance manager is still there."""


class Living:
    """A run that holds its lock and renews it, although its task was killed in the middle of a node."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        driver.run, driver.lock, driver.guard = "night", "another-lock", Killing(ACTS_BEFORE_THE_END)
        with pytest.raises(Killed):
            driver.switch("n1")
        driver.guard = None
        self.lease = Lease(driver.api.client(), NAMESPACE, "another-lock")
        lock = Lock(run="night", who="dev@laptop", since="2026-11-21T01:00:00Z", renewed="0", seconds=60, version="1")
        self.lease.write(lock, None)
        self.renew()

    def renew(self) -> None:
        held = self.lease.read()
        if held is not None:
            self.lease.write(replace(held, renewed=str(self.driver.longhorn.clock.now())), held)
            self.driver.longhorn.clock.later(10.0, self.renew)

    def dies(self) -> None:
        held = self.lease.read()
        assert held is not None
        self.lease.remove(held)


WAYS: list[tuple[str, Callable[[Driver], Outcome]]] = [
    ("the begin of a run", lambda driver: driver.plan(state="begun", confirmed=driver.plan().more["digest"])),
    ("the switch of the same node", lambda driver: driver.switch("n1")),
    ("a settle", lambda driver: driver.switch(state="restored")),
]


@pytest.mark.parametrize("act", [each[1] for each in WAYS], ids=[each[0] for each in WAYS])
def test_the_changes_of_a_run_that_lives_are_its_own(drive: type[Driver], act: Callable[[Driver], Outcome]) -> None:
    driver = drive(outliving(Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n1")))
    night = Living(driver)
    left, managers = driver.leftovers(), driver.images()
    driver.run, driver.lock = "run-2", "stateful-upgrade"
    refused = act(driver)
    (reason,) = (each for each in refused.verdict.deciding() if each.code == "locked")
    assert "Run night of dev@laptop has held the lock" in reason.message
    assert "abort playbook" in reason.remedy
    assert (driver.leftovers(), driver.images()) == (left, managers)
    night.dies()
    assert act(driver).verdict.passed
