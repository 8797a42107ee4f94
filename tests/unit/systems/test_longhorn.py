# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks on Longhorn in memory, as a user with exactly the shipped roles runs them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.lab.waiting import until
from tests.sandbox.kubernetes.in_process import TOKEN
from tests.sandbox.listening import Listening
from tests.sandbox.longhorn.description import Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, NODES_OF_THREE, SPREAD, Driver, three
from tests.unit.systems.playing import Playbooks

SYSTEM = "stateful.upgrade.longhorn"
FACTOR = 5.0
"""The seconds of Longhorn that pass in one real second."""
LONGEST = 600
"""Seconds that a playbook may take on a busy machine."""


class Played(Playbooks):
    """The playbooks, and the Longhorn that they act on."""

    longest = LONGEST

    def __init__(self, driver: Driver, listening: Listening, environment: Mapping[str, str]) -> None:
        self.driver, self.listening = driver, listening
        url = listening.serve(driver.longhorn.kubernetes.server).url
        variables = {
            "target_version": "v1.12.0",
            "upgrade_namespace": NAMESPACE,
            "upgrade_kubernetes": {"host": url, "api_key": TOKEN},
            "upgrade_accept_unverified": ACCEPTED,
        }
        super().__init__({**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}, variables)

    def digest(self) -> str:
        """The digest of the plan, as the playbook plan hands it on."""
        said = self.play("stateful.upgrade.plan", upgrade_system=SYSTEM)
        return said.partition('"upgrade_confirm": "')[2].partition('"')[0]

    def seen(self, name: str) -> Any:
        """The answer of a method of the driver, while no server answers."""
        with self.listening.lock:
            return getattr(self.driver, name)()


@pytest.fixture
def played(ansible_environment: Mapping[str, str]) -> Iterator[Played]:
    driver = Driver(three(Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n2")))
    with Listening(driver.longhorn.clock, FACTOR) as listening:
        yield Played(driver, listening, ansible_environment)


def test_nodes_are_planned_switched_and_shown(played: Played) -> None:
    agreed = played.digest()
    said = played.play("stateful.upgrade.longhorn", upgrade_confirm=agreed)
    assert "to v1.12.0: 3 of 3 Kubernetes nodes in 3 batches" in said
    assert "Upgraded to v1.12.0: 3 of 3 Kubernetes nodes in this run. All volumes are whole." in said
    assert '"upgrade_state": "done"' in said
    assert played.seen("images") == dict.fromkeys(NODES_OF_THREE, "v1.12.0")
    assert played.seen("leftovers") == []
    assert played.driver.longhorn.observer.by_acts == []
    assert ": Completed, to v1.12.0" in played.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    assert "Nothing to do: every Kubernetes node already ran v1.12.0." in played.play("stateful.upgrade.longhorn")


def test_a_killed_run_is_gone_on_with(played: Played) -> None:
    agreed = played.digest()
    with played.listening.lock:
        played.driver.longhorn.faults.rebuild_stuck("vol-1")
    process = played.start("stateful.upgrade.longhorn", upgrade_confirm=agreed)
    until("The first node runs the new image", lambda: played.seen("images")["n1"] == "v1.12.0", LONGEST)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert played.seen("leftovers")
    with played.listening.lock:
        played.driver.longhorn.faults.mend_all()
    assert "was interrupted" in played.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    said = played.play("stateful.upgrade.longhorn", upgrade_confirm=agreed)
    assert "Upgraded to v1.12.0" in said
    assert played.seen("leftovers") == []
    assert played.driver.longhorn.observer.by_acts == []


def test_without_acceptance_nothing_is_touched(played: Played) -> None:
    said = played.play("stateful.upgrade.longhorn", 2, upgrade_accept_unverified=[])
    assert "nobody has verified that I/O survives this on Longhorn 1.12" in " ".join(said.split())
    assert played.seen("leftovers") == []
