"""A MachineHealthCheck that reads the condition MachineUpToDate of Machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import CLUSTERS, KIND, SKIP, OwnedMachines, management, owned
from tests.runs.upgrade_tasks import EVERY, TO, Tasks, codes
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER

CONTROLLERS = EVERY[:3]
AT_WORK = ("Unknown", "ExternalUpgradeInProgress")


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster with a worker of a MachineDeployment."""
    with owned() as (tasks, found):
        found.make("MachineDeployment", "workers", found.deployment("workers"))
        found.own("worker-1", "MachineSet", "workers-a", "workers")
        yield tasks, found


class HealthCheck:
    """A MachineHealthCheck with `unhealthyMachineConditions` of MachineUpToDate, at its worst: without any time, and
    without a most of unhealthy machines. It marks a Machine as soon as the status is False, and takes its mark off as
    soon as it is not. One that the annotation keeps stays as it is (cluster-api, `machinehealthcheck_targets.go`).

    The owner deletes what is marked, at once or from some time on, whatever the annotations are by then
    (`machine_filters.go`, `IsUnhealthyAndOwnerRemediated`).
    """

    def __init__(self, found: OwnedMachines, *, owner_waits: bool = False) -> None:
        self._found, self._waits = found, owner_waits
        self.replaced: list[str] = []
        found.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind.key == KIND.key and change.type != "DELETED":
            self._look(change.item)

    def _look(self, machine: Json) -> None:
        name, node = machine["metadata"]["name"], machine.get("status", {}).get("nodeRef", {}).get("name", "")
        if node and SKIP not in machine["metadata"].get("annotations", {}):
            healthy = condition_of(machine, "MachineUpToDate").get("status") != "False"
            if healthy == is_to_be_replaced(machine):
                self.mark(node, healthy=healthy)
                return
        if is_to_be_replaced(machine) and not self._waits and name not in self.replaced:
            self.replaced.append(name)
            self._found.resources.delete(KIND, CLUSTERS, name)

    def mark(self, node: str, *, healthy: bool) -> None:
        """Write what it has seen, even long before."""
        status = str(healthy)
        seen = {"type": "HealthCheckSucceeded", "status": status, "reason": "Any", "message": f"It is {status}."}
        owner = {"type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation", "message": ""}
        since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}

        def change(item: Json) -> None:
            others = [
                each for each in item["status"]["conditions"] if each["type"] not in (seen["type"], owner["type"])
            ]
            item["status"]["conditions"] = [*others, {**seen, **since}, *([] if healthy else [{**owner, **since}])]

        self._found.change(node, change, "status")


def is_to_be_replaced(machine: Json) -> bool:
    """Whether its owner has to replace it."""
    conditions = ("HealthCheckSucceeded", "OwnerRemediated")
    return all(condition_of(machine, each).get("status") == "False" for each in conditions)


def failed_worker(tasks: Tasks) -> dict[str, Any]:
    """Have the only worker of a task fail after its drain; gives the variables of the run."""
    tasks.request(machines=CONTROLLERS)
    assert tasks.play(tasks.agreed(**management(tasks))).code == 0
    workers = {"kind": "MachineDeployment", "name": "workers"}
    tasks.request("workers", machines=("worker-1",), controlPlaneRef=None, machineDeploymentRef=workers)
    tasks.found.machines["worker-1"].kubelet.never_ready = True
    given = {**management(tasks), "upgrade_member_timeout": 120}
    assert tasks.play(tasks.agreed("workers", **given)).code != 0
    return given


def test_a_health_check_replaces_a_failed_machine_once_a_person_lets_it_go(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, found = both
    check = HealthCheck(found)
    failed_worker(tasks)
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


def test_a_machine_that_its_owner_is_to_replace_is_refused_until_settle_ends_the_cause(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, found = both
    check = HealthCheck(found, owner_waits=True)
    given = failed_worker(tasks)
    found.annotate("worker-1", SKIP, None)
    assert is_to_be_replaced(found.machine("worker-1"))
    for skip in (None, "ada"):
        found.annotate("worker-1", SKIP, skip)
        variables = tasks.variables("workers", **given)
        refused = tasks.here.play(PLAYBOOK, variables, *tasks.found.arguments, CHECK)
        assert codes(refused) == ["kubernetes_node_unfit", "timed_out", "machine_to_be_replaced"]
        assert "Machine clusters/m-worker-1 of Kubernetes node worker-1 is to be replaced" in refused.output
    kubelet = tasks.found.machines["worker-1"].kubelet
    kubelet.never_ready = False
    kubelet.restart(TO)
    tasks.here.later(60)
    found.annotate("worker-1", SKIP, None)
    settled = tasks.found.variables(TO, USER, **management(tasks), upgrade_system="stateful.upgrade.machines")
    assert tasks.here.play("stateful.upgrade.settle", settled, *tasks.found.arguments).code == 0
    assert not is_to_be_replaced(found.machine("worker-1"))
    ended = tasks.play(tasks.agreed("workers", **given))
    assert ended.code == 0, ended.output
    assert (found.marked(), check.replaced) == ({}, [])


@pytest.mark.parametrize("written", ["PATCH /status", "GET /machines"], ids=["while it is held", "after that"])
def test_a_health_check_that_had_looked_before_the_hold_ends_the_run_before_the_drain(
    both: tuple[Tasks, OwnedMachines], written: str
) -> None:
    tasks, found = both
    check = HealthCheck(found, owner_waits=True)
    tasks.request(machines=CONTROLLERS)
    given, marked = tasks.agreed(**management(tasks)), list[str]()

    def late(request: Request) -> None:
        method, _space, end = written.partition(" ")
        held = [node for node in CONTROLLERS if found.condition(node) == AT_WORK]
        if held and not marked and request.method == method and request.path.endswith(end):
            marked.extend(held)
            check.mark(held[0], healthy=False)

    tasks.here.calling.after = late
    ended = tasks.play(given)
    assert ended.code != 0
    assert codes(ended) == ["machine_to_be_replaced"]
    assert not any(found.resources.get(NODES, "", node)["spec"].get("unschedulable") for node in CONTROLLERS)
    assert (found.condition(marked[0]), SKIP in found.notes(marked[0])) == (("Unknown", "ExternalUpgradeFailed"), False)
    upgraded = tasks.found.machines[marked[0]].commands.upgrades
    assert bool(upgraded) == (written == "GET /machines")
