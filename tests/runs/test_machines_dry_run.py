"""The dry run, the plan and the diff of kubeadm, by which the role member_kubeadm decides before its upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import Machines, machines
from tests.runs.test_machines_role import FIRST, FROM, TO, WORKER, take
from tests.runs.world import world
from tests.sandbox.kubeadm.building import DEPLOYMENTS, SYSTEM
from tests.sandbox.kubeadm.description import DNS, images_of
from tests.sandbox.kubeadm.planning import PASSWORD


@pytest.fixture
def made() -> Iterator[Machines]:
    """A machine of the control plane, and a worker."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        yield found


def test_the_dry_run_names_all_that_stands_in_the_way(made: Machines) -> None:
    machine = made.machines[FIRST]
    machine.written.preflight |= {
        "SystemVerification": "missing required cgroups: pids",
        "CoreDNSUnsupportedPlugins": "CoreDNS cannot migrate the following plugins:\n[federation]",
    }
    refused = take(made, FIRST, "prepare")
    assert (
        "cannot upgrade cp-1, so it was left alone: SystemVerification: missing required cgroups: pids."
        in refused.message
    )
    assert (
        "CoreDNSUnsupportedPlugins: CoreDNS cannot migrate the following plugins: [federation]. See" in refused.message
    )
    assert (machine.written.left, machine.written.upgraded, made.cluster.version()) == ([], [], FROM)
    assert machine.packages.installed["kubeadm"] == FROM
    # Without it the images are pulled too.
    assert not set(images_of(TO)) <= machine.commands.images
    # A worker asks for its own machine only.
    made.machines[WORKER].written.preflight |= machine.written.preflight
    refused = take(made, WORKER, "prepare")
    assert "CoreDNS" not in refused.message
    assert "missing required cgroups: pids" in refused.message


def test_all_that_stands_in_the_way_of_a_machine_is_said_at_once(made: Machines) -> None:
    machine, resources = made.machines[FIRST], made.cluster.kubernetes.server.resources
    machine.written.preflight |= {"CoreDNSMigration": "CoreDNS will not be upgraded", "CreateJob": "no image is there"}
    machine.commands.configurations["kubelet.config.k8s.io"] = "v1alpha1"

    def newer(item: Any) -> None:
        item["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/coredns/coredns:v1.15.0"

    resources.change(DEPLOYMENTS, SYSTEM, DNS, newer)
    said = take(made, FIRST, "prepare").message
    assert "CoreDNSMigration: CoreDNS will not be upgraded. Correct the Corefile" in said
    assert "take CoreDNS back to an older version, so cp-1 was left alone: CoreDNS 1.15.0 → 1.14.1." in said
    assert "the configuration kubelet.config.k8s.io has version v1alpha1" in said
    # Its image is not pulled while the dry run finds something, so its Job says nothing.
    assert "CreateJob" not in said
    assert not [each for each in machine.commands.ran if each.startswith("crictl pull")]
    machine.written.preflight.clear()
    machine.commands.fails["crictl pull"] = "connection refused by the registry"
    said = take(made, FIRST, "prepare").message
    assert "connection refused by the registry. Make them reachable" in said
    assert "the configuration kubelet.config.k8s.io has version v1alpha1" in said
    assert (machine.commands.upgrades, machine.written.left) == ([], [])


def test_a_dry_run_waits_for_the_api(made: Machines) -> None:
    plane = made.cluster.control_plane
    plane.take_down(FIRST, "kube-apiserver")
    made.cluster.kubernetes.clock.later(45.0, lambda: plane.bring_up(FIRST, "kube-apiserver"))
    assert take(made, WORKER, "prepare").code == 0
    tries = [each for each in made.machines[WORKER].commands.ran if "--dry-run" in each]
    assert len(tries) > 1


def test_what_a_command_of_the_user_has_installed_tries_the_upgrade_first(made: Machines) -> None:
    machine = made.machines[FIRST]
    machine.commands.programs.add("/opt/install")
    machine.written.preflight["CoreDNSMigration"] = "CoreDNS will not be upgraded"
    given: dict[str, Any] = {"member_kubeadm_install_command": ["/opt/install"]}
    assert take(made, FIRST, "prepare", **given).code == 0
    assert (
        "CoreDNSMigration: CoreDNS will not be upgraded. Correct the Corefile"
        in take(made, FIRST, "before_drain", **given).message
    )
    assert (machine.packages.installed["kubeadm"], machine.written.upgraded) == (TO, [])


def test_the_plan_of_kubeadm_names_what_becomes_of_the_cluster(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    done = take(made, FIRST, "prepare", member_kubeadm_arguments=["--ignore-preflight-errors=Swap", "--patches", "/p"])
    assert done.code == 0, done.output
    said = " ".join(done.output.split())
    assert (
        f"By the plan of kubeadm {TO} on cp-1: kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy"
        f" {FROM} → {TO}, etcd 3.6.5-0 → 3.6.6-0, CoreDNS 1.13.1 → 1.14.1; kube-apiserver: image v{FROM} → v{TO},"
        " flags --old-flag-of-kube-apiserver, 3 other lines; kube-controller-manager: image"
    ) in said
    assert PASSWORD not in done.output
    plan, diff = (each for each in commands.ran if each.startswith(("kubeadm upgrade plan", "kubeadm upgrade diff")))
    assert plan == f"kubeadm upgrade plan v{TO} -o json --ignore-preflight-errors=Swap"
    assert diff == f"kubeadm upgrade diff v{TO}"
    # It is of the whole cluster, so the other machines have none.
    take(made, WORKER, "prepare")
    assert not [each for each in made.machines[WORKER].commands.ran if each.startswith("kubeadm upgrade plan")]


def test_the_plan_of_kubeadm_refuses_what_its_dry_run_only_pretends(made: Machines) -> None:
    machine = made.machines[FIRST]
    machine.commands.configurations["kubelet.config.k8s.io"] = "v1alpha1"
    machine.commands.fails["kubeadm upgrade diff"] = 'error: the manifest file "/etc/x.yaml" does not exist'
    said = take(made, FIRST, "prepare").message
    assert (
        f"kubeadm {TO} cannot upgrade the cluster of cp-1, so it was left alone: the configuration"
        " kubelet.config.k8s.io has version v1alpha1, and kubeadm reads only v1beta1. Convert it to v1beta1 in"
        ' ConfigMap kube-system/kubelet-config. kubeadm upgrade diff: error: the manifest file "/etc/x.yaml" does not'
        " exist. Correct that. Then run again."
    ) in said
    machine.commands.configurations.clear()
    machine.commands.fails.clear()
    machine.written.preflight["CreateJob"] = "could not create Job"
    said = take(made, FIRST, "prepare").message
    assert "CreateJob: could not create Job. See why the cluster runs no new Job in kube-system." in said
    assert machine.packages.installed["kubeadm"] == FROM


def test_a_plan_that_is_only_text_or_empty_is_a_note(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    commands.plans_json = False
    done = take(made, FIRST, "prepare")
    assert (done.code, "so its dry run alone has decided" in done.output) == (0, True)
    commands.plans_json = True
    assert take(made, FIRST, "before_drain", "after_drain").code == 0
    made.here.later(60.0)
    done = take(made, FIRST, "prepare")
    assert done.code == 0, done.output
    assert f"an API server is on {TO} already" in done.output


def test_what_a_command_of_the_user_has_installed_plans_the_upgrade_too(made: Machines) -> None:
    machine = made.machines[FIRST]
    machine.commands.programs.add("/opt/install")
    machine.written.preflight["CreateJob"] = "could not create Job"
    done = take(made, FIRST, "before_drain", member_kubeadm_install_command=["/opt/install"])
    assert "CreateJob: could not create Job" in done.message
    assert (machine.commands.upgrades, machine.written.upgraded) == ([], [])
