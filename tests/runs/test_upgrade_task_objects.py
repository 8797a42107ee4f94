"""UpgradeTasks whose Cluster, owner and Machines are read from the management cluster of Cluster API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import CLUSTERS, CONTROL_PLANE, KIND, OwnedMachines, management, owned
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, FROM, TO, Tasks, codes
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

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


UPGRADER = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "SandboxMachine", "name": "m-cp-1"}
SERVED_BY_NO_ONE = {"apiVersion": "example.com/v1", "kind": "Upgrader", "namespace": "os", "name": "metal"}


@pytest.mark.parametrize(
    ("reference", "called"),
    [({**UPGRADER, "name": "gone"}, f"SandboxMachine {CLUSTERS}/gone"), (SERVED_BY_NO_ONE, "Upgrader os/metal")],
)
def test_a_task_whose_upgrader_is_not_there_is_declined_by_its_name(
    both: tuple[Tasks, OwnedMachines], reference: Json, called: str
) -> None:
    tasks, _machines = both
    tasks.request(machines=CONTROLLERS, template={"upgraderRef": reference})
    declined = tasks.play(tasks.variables(**management(tasks)))
    assert codes(declined) == ["task_reference_missing"], declined.output
    accepted = tasks.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "Declined")
    assert f"UpgradeTask next names {called} in spec.template.upgraderRef, which" in accepted["message"]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (UPGRADER, ""),
        ({"kind": "Trident", "name": "os"}, "since it gives no group, kind or namespace."),
        (
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "name": "stateful-upgrade-machines"},
            "since this user may not get it.",
        ),
    ],
    ids=["there", "without a group", "denied"],
)
def test_an_upgrader_that_cannot_be_looked_for_is_a_remark(
    both: tuple[Tasks, OwnedMachines], reference: Json, said: str
) -> None:
    tasks, _machines = both
    tasks.request(machines=CONTROLLERS, template={"upgraderRef": reference})
    accepted = planned(tasks)
    assert accepted.code == 0, accepted.output
    assert ("is only a name here" in accepted.output) is bool(said)
    assert said in accepted.output


def test_a_machine_deployment_has_its_machines(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    reference = {"kind": "MachineDeployment", "name": "workers"}
    tasks.request(machines=("worker-1", "worker-2"), controlPlaneRef=None, machineDeploymentRef=reference)
    declined = planned(tasks)
    foreign = "Machine clusters/m-worker-1 belongs to KubeadmControlPlane main"
    assert f"{foreign}, and the task is for MachineDeployment workers." in declined.output
    assert "m-worker-2 belongs" not in declined.output


@pytest.mark.parametrize(("most", "passes"), [(1, False), ("50%", False), (2, True), ("67%", True)])
def test_a_machine_deployment_with_too_few_machines_is_waited_for(
    both: tuple[Tasks, OwnedMachines], most: int | str, passes: bool
) -> None:
    tasks, machines = both

    def limit(item: Json) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}}
        item["spec"].update(replicas=3, rollout={"strategy": strategy})

    machines.own("worker-1", "MachineSet", "workers-a", "workers")
    machines.resources.change(machines.kind("MachineDeployment"), CLUSTERS, "workers", limit)
    given = tasks.found.variables(TO, USER, upgrade_member_timeout=120, **management(tasks))
    shown = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    said = f"MachineDeployment {CLUSTERS}/workers has 2 of 3 machines available, and at most 1 may be away"
    assert (said in shown.message) is not passes
    assert (shown.code == 0) is passes, shown.output
    if passes:
        ended = tasks.play({**given, "upgrade_confirm": digest_in(shown)})
        assert ended.code == 0, ended.output
        assert {each.kubelet.version for each in tasks.found.machines.values()} == {TO}


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


def watched(machines: OwnedMachines) -> list[str]:
    """The Machines that the control plane would replace: at once, if one has another version than it, and it is not
    paused (cluster-api, `controlplane/kubeadm/internal/filters.go`)."""
    replaced: list[str] = []

    def look(change: Change) -> None:
        if change.kind.key != KIND.key or change.type == "DELETED":
            return
        (owner,) = change.item["metadata"]["ownerReferences"]
        if owner["kind"] != "KubeadmControlPlane":
            return
        control = machines.resources.get(machines.kind("KubeadmControlPlane"), CLUSTERS, "main")
        paused = "cluster.x-k8s.io/paused" in control["metadata"].get("annotations", {})
        if not paused and change.item["spec"]["version"] != control["spec"]["version"]:
            replaced.append(change.item["metadata"]["name"])

    machines.resources.store.listeners.append(look)
    return replaced


def give(machines: OwnedMachines, version: str, **notes: str) -> None:
    """Give the control plane a version, and annotations."""

    def change(item: Json) -> None:
        item["spec"]["version"] = f"v{version}"
        item["metadata"]["annotations"] = notes

    machines.resources.change(machines.kind("KubeadmControlPlane"), CLUSTERS, "main", change)


def versions(machines: OwnedMachines) -> dict[str, str]:
    return {name: machines.machine(name)["spec"]["version"] for name in machines.found.machines}


def spec_of(machines: OwnedMachines, kind: str, node: str) -> Json:
    return dict(machines.resources.get(machines.kind(kind), CLUSTERS, f"m-{node}")["spec"])


WRITTEN = {**dict.fromkeys(CONTROLLERS, f"v{TO}"), "worker-1": f"v{FROM}", "worker-2": f"v{FROM}"}


def sized(tasks: Tasks) -> None:
    """Ask for another size, which the upgrader changes, and another version."""
    covers = {"covers": ["infraMachine.spec.*"]}
    tasks.request(machines=CONTROLLERS, newMachineSpec=SIZED, template=covers)


def test_the_new_specification_is_written_where_the_owner_has_the_version(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    give(machines, TO, **{"cluster.x-k8s.io/paused": ""})
    replaced = watched(machines)
    sized(tasks)
    ended = tasks.play(tasks.agreed(**management(tasks)))
    assert ended.code == 0, ended.output
    assert versions(machines) == WRITTEN
    for name in CONTROLLERS:
        assert spec_of(machines, "SandboxMachine", name) == {"size": "l", "providerID": f"sandbox://{name}"}
        assert spec_of(machines, "KubeadmConfig", name) == {"files": []}
    give(machines, TO)
    machines.annotate("cp-1", "any", "change")
    assert replaced == [], "the owner is no longer paused, and has nothing to replace"


def test_a_machine_keeps_its_version_while_its_owner_has_another(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    replaced, before = watched(machines), versions(machines)
    sized(tasks)
    ended = tasks.play(tasks.agreed(**management(tasks)))
    assert ended.code == 0, ended.output
    assert versions(machines) == before
    assert replaced == []
    said = f"stays as it was, since KubeadmControlPlane {CLUSTERS}/main has not version {TO}"
    assert said in ended.output
    assert spec_of(machines, "SandboxMachine", "cp-1")["size"] == "m"


@pytest.mark.parametrize(
    "number", [pytest.param(each, marks=() if each in (14, 19) else pytest.mark.soak) for each in range(8, 60)]
)
def test_killed_behind_any_act_the_next_run_writes_it(both: tuple[Tasks, OwnedMachines], number: int) -> None:
    tasks, machines = both
    give(machines, TO, **{"cluster.x-k8s.io/paused": ""})
    sized(tasks)
    given = tasks.agreed(**management(tasks))
    with tasks.here.killing_behind(number):
        try:
            tasks.play(given)
        except Killed:
            tasks.here.later(900)
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert versions(machines) == WRITTEN
    assert {spec_of(machines, "SandboxMachine", name)["size"] for name in CONTROLLERS} == {"l"}
