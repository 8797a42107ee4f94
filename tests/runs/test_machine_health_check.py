"""A MachineHealthCheck that reads the condition MachineUpToDate of Machines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.owned_machines import CLUSTERS, KIND, SKIP, OwnedMachines, management, owned
from tests.runs.upgrade_tasks import EVERY, Tasks
from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.kubernetes.store import Change

CONTROLLERS = EVERY[:3]


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster with a worker of a MachineDeployment."""
    with owned() as (tasks, found):
        found.make("MachineDeployment", "workers", found.deployment("workers"))
        found.own("worker-1", "MachineSet", "workers-a", "workers")
        yield tasks, found


class HealthCheck:
    """A MachineHealthCheck with `unhealthyMachineConditions` of MachineUpToDate, at its worst: without any time, and
    without a most of unhealthy machines. It deletes a Machine as soon as the status is False, unless the annotation
    keeps it (cluster-api, `machinehealthcheck_targets.go`, `machineChecks`)."""

    def __init__(self, found: OwnedMachines) -> None:
        self._found = found
        self.replaced: list[str] = []
        found.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind.key == KIND.key and change.type != "DELETED" and self._is_unhealthy(change.item):
            name = change.item["metadata"]["name"]
            if name not in self.replaced:
                self.replaced.append(name)
                self._found.resources.delete(KIND, CLUSTERS, name)

    @staticmethod
    def _is_unhealthy(machine: Json) -> bool:
        kept = SKIP in machine["metadata"].get("annotations", {})
        return not kept and condition_of(machine, "MachineUpToDate").get("status") == "False"


def test_a_health_check_replaces_a_failed_machine_once_a_person_lets_it_go(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, found = both
    check = HealthCheck(found)
    tasks.request(machines=CONTROLLERS)
    assert tasks.play(tasks.agreed(**management(tasks))).code == 0
    workers = {"kind": "MachineDeployment", "name": "workers"}
    tasks.request("workers", machines=("worker-1",), controlPlaneRef=None, machineDeploymentRef=workers)
    tasks.found.machines["worker-1"].kubelet.never_ready = True
    failed = tasks.play(tasks.agreed("workers", **management(tasks), upgrade_member_timeout=120))
    assert failed.code != 0
    assert found.condition("worker-1") == ("False", "ExternalUpgradeFailed")
    assert check.replaced == [], "it may hold the only copy of data"
    found.annotate("worker-1", SKIP, None)
    assert check.replaced == ["m-worker-1"]


def test_a_health_check_replaces_no_machine_that_failed_before_its_drain(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, found = both
    check = HealthCheck(found)
    tasks.request(machines=CONTROLLERS)
    for name in CONTROLLERS:
        tasks.found.machines[name].commands.upgrade_fails = "[ERROR ImagePull]: it is not found"
    assert tasks.play(tasks.agreed(**management(tasks))).code != 0
    assert ("Unknown", "ExternalUpgradeFailed") in found.conditions().values()
    assert check.replaced == []
    for name in CONTROLLERS:
        tasks.found.machines[name].commands.upgrade_fails = ""
    ended = tasks.play(tasks.agreed(**management(tasks)))
    assert ended.code == 0, ended.output
    assert check.replaced == []
