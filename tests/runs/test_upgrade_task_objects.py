"""UpgradeTasks whose Cluster, owner and Machines are read from the management cluster of Cluster API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import CLUSTERS, CONTROL_PLANE, OwnedMachines, management, owned
from tests.runs.upgrade_tasks import EVERY, TO, Tasks, codes
from tests.scenarios.playbook import Played

CONTROLLERS = EVERY[:3]


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster whose upgrades UpgradeTasks request, and its Machines: worker-2 is of a MachineDeployment."""
    with owned() as made:
        tasks, machines = made
        machines.make("MachineDeployment", "workers", machines.deployment("workers"))
        machines.own("worker-2", "MachineSet", "workers-a", "workers")
        yield tasks, machines


def planned(tasks: Tasks, name: str = "next") -> Played:
    """The plan of a run of a task."""
    return tasks.here.play(PLAYBOOK, tasks.variables(name, **management(tasks)), *tasks.found.arguments, CHECK)


def test_a_task_names_what_the_management_cluster_has(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    tasks.request(machines=CONTROLLERS, cluster={"name": "main"})
    accepted = planned(tasks)
    assert accepted.code == 0, accepted.output
    assert "leaves Machines m-worker-1 of KubeadmControlPlane main as they are" in accepted.output
    assert "only names" not in accepted.output


def test_a_task_is_declined_with_all_that_it_names_wrongly(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    machines.change("cp-3", lambda item: item["spec"].update(clusterName="other"))
    required = [*tasks.named("cp-1", "worker-2", "cp-3"), {"name": "m-gone", "nodeName": "cp-2"}]
    required.append({"name": "m-cp-2", "nodeName": "worker-1"})
    tasks.request(machinesRequireUpgrade=required)
    declined = tasks.play(tasks.variables(**management(tasks)))
    assert set(codes(declined)) == {"task_machine_foreign", "task_reference_missing"}, declined.output
    message = tasks.condition("Accepted")["message"]
    assert tasks.condition("Accepted")["reason"] == "Declined"
    for said in (
        "Machine clusters/m-worker-2 belongs to MachineDeployment workers, and the task is for KubeadmControlPlane",
        "Machine clusters/m-cp-3 belongs to Cluster other, and the task is for main.",
        "names Machine clusters/m-gone in spec.machinesRequireUpgrade, which the management cluster does not have.",
        "Machine clusters/m-cp-2 is Kubernetes node cp-2, and the task names worker-1.",
    ):
        assert said in message
    assert machines.marked() == {}


def test_an_owner_or_a_cluster_that_is_not_there_is_named(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    owner = {**CONTROL_PLANE, "name": "gone"}
    tasks.request(machines=CONTROLLERS, cluster={"name": "lost"}, controlPlaneRef=owner)
    declined = planned(tasks)
    assert f"names KubeadmControlPlane {CLUSTERS}/gone in spec.controlPlaneRef" in declined.output
    assert f"names Cluster {CLUSTERS}/lost in spec.cluster" in declined.output
    assert "is for Cluster clusters/lost, and the Kubernetes nodes belong to Cluster clusters/main" in declined.output
    unserved = {"apiVersion": "controlplane.example.com/v1", "kind": "OtherControlPlane", "name": "main"}
    tasks.request("unserved", machines=CONTROLLERS, controlPlaneRef=unserved)
    assert f"names OtherControlPlane {CLUSTERS}/main in spec.controlPlaneRef" in planned(tasks, "unserved").output


def test_a_machine_deployment_has_its_machines(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    reference = {"kind": "MachineDeployment", "name": "workers"}
    tasks.request(machines=("worker-1", "worker-2"), controlPlaneRef=None, machineDeploymentRef=reference)
    declined = planned(tasks)
    foreign = "Machine clusters/m-worker-1 belongs to KubeadmControlPlane main"
    assert f"{foreign}, and the task is for MachineDeployment workers." in declined.output
    assert "m-worker-2 belongs" not in declined.output


SIZED = {"version": f"v{TO}", "infraMachine": {"kind": "SandboxMachine", "spec": {"size": "l"}}}


def test_a_task_is_declined_by_the_difference_from_what_is_there(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    changed = machines.kind("SandboxMachine")
    machines.resources.change(changed, CLUSTERS, "m-cp-2", lambda item: item["spec"].update(size="l"))
    # What a task says of its machines counts only where nothing is read.
    said = [{**each, "machineSpec": SIZED} for each in tasks.named(*CONTROLLERS)]
    files = {"kind": "KubeadmConfig", "spec": {"files": [{"path": "/etc/motd"}]}}
    tasks.request(machinesRequireUpgrade=said, newMachineSpec={**SIZED, "bootstrapConfig": files})
    declined = tasks.play(tasks.variables(**management(tasks)))
    assert set(codes(declined)) == {"machine_differs"}, declined.output
    message = tasks.condition("Accepted")["message"]
    for name in CONTROLLERS:
        assert f"Machine m-{name} differs in bootstrapConfig.spec.files, which" in message
        assert (f"Machine m-{name} differs in infraMachine.spec.size, which" in message) is (name != "cp-2")
    assert "providerID" not in message
    tasks.request("covered", machines=CONTROLLERS, newMachineSpec=SIZED, template={"covers": ["infraMachine.spec.*"]})
    assert planned(tasks, "covered").code == 0


def test_without_a_management_cluster_they_are_only_names(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    tasks.request(machines=CONTROLLERS, controlPlaneRef={**CONTROL_PLANE, "name": "gone"})
    accepted = tasks.here.play(PLAYBOOK, tasks.variables(), *tasks.found.arguments, CHECK)
    assert accepted.code == 0, accepted.output
    assert "UpgradeTask next are only names here, since no management cluster is given" in accepted.output
