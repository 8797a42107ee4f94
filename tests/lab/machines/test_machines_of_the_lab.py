"""The machines of the lab: the real kubeadm says what was recorded of it, and upgrades a whole machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_blockers import blockers_in
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_plans import manifest_changes, planned

from tests.lab.machines.answers import ADMIN, ASKED, DRY, RECORDED, failures, machine_of_control_plane
from tests.lab.machines.build import INSTALLED, NEXT
from tests.lab.machines.cluster import KubeadmCluster
from tests.lab.machines.machine import Machine
from tests.lab.machines.operating_system import why_not

CHANGING = re.compile(r"E\d{4} [\d:.]+ +\d+ |\d{4}-\d\d-\d\dT[\d:]+Z|(?<=\"residualTime\": )\d+")
"""The parts of an answer that are others each time."""


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[KubeadmCluster, Machine]]:
    """The cluster for all tests: the last one upgrades it."""
    if reason := why_not():
        pytest.skip(reason)
    with machine_of_control_plane() as found:
        yield found


def test_machines_share_no_control_group(made: tuple[KubeadmCluster, Machine]) -> None:
    """Their services are called alike: the machine that ends one would remove the group of another machine's."""
    cluster, machine = made
    group = "/sys/fs/cgroup/lab.slice"
    machine.run("mkdir", group)
    others = [each for each in cluster.machines.values() if each is not machine]
    assert others
    for each in others:
        each.run("test", "!", "-e", group)


def test_kubeadm_answers_as_it_was_recorded(made: tuple[KubeadmCluster, Machine]) -> None:
    _cluster, machine = made
    for name in ("certificates.json", "images.txt"):
        assert same(machine.run(*ASKED[name]), (RECORDED / name).read_text(encoding="utf-8")), name
    plan, recorded = json.loads(machine.run(*ASKED["plan.json"])), json.loads((RECORDED / "plan.json").read_text())
    assert plan.keys() == recorded.keys()
    components = plan["availableUpgrades"][0]["components"]
    assert {each["newVersion"] for each in components if each["name"] != "CoreDNS"} == {f"v{NEXT}"}
    compared, kept = (
        manifest_changes({"rc": 0, "stdout": each})
        for each in (machine.run(*ASKED["diff.txt"]), (RECORDED / "diff.txt").read_text(encoding="utf-8"))
    )
    # It names the manifests in no order.
    assert compared == kept


def test_kubeadm_refuses_as_it_was_recorded(made: tuple[KubeadmCluster, Machine]) -> None:
    for name, failure in failures(*made).items():
        assert failure.code == 1, name
        assert same(failure.said, (RECORDED / f"{name}.txt").read_text(encoding="utf-8")), failure.said


def test_a_dry_run_without_its_kubeconfig_file_is_no_proof(made: tuple[KubeadmCluster, Machine]) -> None:
    """kubeadm then tries the upgrade on a cluster that it has made up, and succeeds."""
    _cluster, machine = made
    dry = f"env KUBEADM_UPGRADE_DRYRUN_DIR={DRY} kubeadm upgrade apply -y --dry-run v{NEXT}"
    said = machine.run("sh", "-c", f"mv {ADMIN} /etc/; {dry}; ended=$?; mv /etc/admin.conf {ADMIN}; exit $ended")
    (blocker,) = blockers_in({"rc": 0, "stdout": said})
    assert "it has no /etc/kubernetes/admin.conf" in blocker["said"]


def test_kubeadm_upgrades_a_machine(made: tuple[KubeadmCluster, Machine]) -> None:
    """Its own phases end, among them the job of its preflight, the new static pods and the new certificates."""
    cluster, machine = made
    before = expiry(machine)
    files = (
        "sh",
        "-c",
        "find /etc/kubernetes /var/lib/kubelet/*.yaml /var/lib/kubelet/*.env -type f -exec sha256sum {} +",
    )
    there = machine.run(*files)
    for command in (("apply", "-y", "--dry-run", f"v{NEXT}"), ("node", "--dry-run")):
        dry = machine.run("env", f"KUBEADM_UPGRADE_DRYRUN_DIR={DRY}", "kubeadm", "upgrade", *command)
        assert "Finished dryrunning successfully" in dry
        assert blockers_in({"rc": 0, "stdout": dry}) == []
    assert machine.run(*files) == there, "a dry run writes to no other folder than its own"
    assert {image.rpartition(":")[2] for image in cluster.images_of_control_plane().values()} == {f"v{INSTALLED}"}
    said = machine.run("kubeadm", "upgrade", "apply", "-y", f"v{NEXT}")
    assert f'SUCCESS! A control plane node of your cluster was upgraded to "v{NEXT}"' in said
    assert {image.rpartition(":")[2] for image in cluster.images_of_control_plane().values()} == {f"v{NEXT}"}
    done = machine.run(*ASKED["plan.json"])
    assert planned({"rc": 0, "stdout": done}, NEXT)["blockers"] == [], "it has nothing left to plan"
    after = expiry(machine)
    assert all(after[name] > before[name] for name in ("apiserver", "admin.conf", "scheduler.conf"))
    assert after["ca"] == before["ca"], "kubeadm does not renew authorities"


def expiry(machine: Machine) -> dict[str, str]:
    """The end of each certificate."""
    found = json.loads(machine.run(*ASKED["certificates.json"]))
    items = found["certificates"] + found["certificateAuthorities"]
    return {each["name"]: each["expirationDate"] for each in items}


def same(answer: str, recorded: str) -> bool:
    """Whether two answers differ in times and process ids only."""
    return CHANGING.sub("", answer) == CHANGING.sub("", recorded)
