"""An OpenSearch on machines that are upgraded: real members, moved by real evictions, under traffic.

The machines are the Kubernetes nodes of the lab. Something else upgrades them (the role member_delegated): it
switches them off, and they come back with the kubelet of the next version.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import yaml
from kubernetes import client

from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.machines.build import NEXT
from tests.lab.machines.objects import cluster_configuration
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic.budgets import AWAY, KILLED, Budget
from tests.scenarios.cluster import USER, Cluster
from tests.scenarios.load import loaded
from tests.scenarios.machines.upgrades import FILES, NAMESPACE, PLAYBOOK, shipped_rights
from tests.scenarios.playbook import Played, digest_in, play
from tests.scenarios.preconditions import budget

WORKERS = tuple(f"node-{zone}{number}" for zone in "abc" for number in (1, 2))
"""The machines. They are taken zone by zone, and each member moves within its zone."""
GROUP, VERSION, PLURAL = "upgrade.stateful", "v1alpha1", "nodeupdates"
BETWEEN, POWER_OFF = 0.2, 3.0
SETTINGS = "/_cluster/settings?flat_settings=true"


class RealUpgrader:
    """It carries out each NodeUpdate, as long as the block lasts."""

    def __init__(self, lab: Lab) -> None:
        self._lab, self._ending = lab, threading.Event()
        self._thread = threading.Thread(target=self._work, name="upgrader", daemon=True)
        self._failure: BaseException | None = None
        self.done: list[str] = []
        """The machines that have the next version."""

    def __enter__(self) -> RealUpgrader:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _work(self) -> None:
        try:
            with self._lab.client() as api:
                while not self._ending.wait(BETWEEN):
                    self._look(client.CustomObjectsApi(api), client.CoreV1Api(api))
        except BaseException as error:  # noqa: BLE001 - it is raised where the block ends
            self._failure = error

    def _look(self, updates: Any, core: Any) -> None:
        # The kubelet of the lab writes its own version whenever an image comes to its Kubernetes node.
        for name in self.done:
            core.patch_node_status(name, {"status": {"nodeInfo": {"kubeletVersion": f"v{NEXT}"}}})
        for each in updates.list_namespaced_custom_object(GROUP, VERSION, NAMESPACE, PLURAL)["items"]:
            attempt, name = each["spec"].get("attempt", 1), each["spec"]["nodeName"]
            if each.get("status", {}).get("observedAttempt") == attempt:
                continue
            if each["spec"]["step"] == "AfterDrain" and name not in self.done:
                self._lab.faults.node_dead(name)
                self._ending.wait(POWER_OFF)
                self._lab.faults.mend_node(name)
                core.patch_node_status(name, {"status": {"nodeInfo": {"kubeletVersion": f"v{NEXT}"}}})
                self.done.append(name)
            status = {"status": {"phase": "Ready", "observedAttempt": attempt}}
            updates.patch_namespaced_custom_object_status(
                GROUP, VERSION, NAMESPACE, PLURAL, each["metadata"]["name"], status
            )


@pytest.fixture
def wide_lab() -> Iterator[Lab]:
    """A lab with two Kubernetes nodes in each zone, as a cluster of kubeadm whose control plane is upgraded already."""
    with Lab.up("databases", lab_directory() / "lab", nodes_per_zone=2) as lab:
        described = yaml.safe_dump(cluster_configuration(NEXT, "", ""))
        metadata = {"name": "kubeadm-config", "namespace": "kube-system"}
        data = {"ClusterConfiguration": described}
        lab.apply([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}])
        lab.apply([yaml.safe_load((FILES / "node_update.yml").read_text(encoding="utf-8"))])
        lab.apply(shipped_rights())
        yield lab


@contextlib.contextmanager
def upgraded(
    lab: Lab, folder: Path, environment: Mapping[str, str], limits: Budget, *, named: bool
) -> Iterator[tuple[Cluster, Played]]:
    """One upgrade of all machines, under traffic. It fails where a document is missing at the end."""
    cluster = Cluster.start(lab, "on-machines", three_combined, "3.8.0")
    with budget(cluster, "members", healthy=2), loaded(cluster, folder, limits), RealUpgrader(lab):
        own: dict[str, Any] = {"upgrade_workloads": [workload(cluster)]} if named else {}
        yield cluster, run(lab, folder, environment, own)
        cluster.until_green()


def workload(cluster: Cluster) -> dict[str, Any]:
    """The cluster as a user names it."""
    return {"system": "opensearch", "namespace": cluster.namespace, "opensearch": {"hosts": [cluster.url]}}


def run(lab: Lab, folder: Path, environment: Mapping[str, str], own: Mapping[str, Any]) -> Played:
    """One run with consent to its plan."""
    inventory = folder / "inventory.json"
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = dict.fromkeys(WORKERS, local)
    inventory.write_text(json.dumps({"all": {"children": {"workers": {"hosts": hosts}}}}))
    given = {
        "target_version": NEXT,
        "upgrade_groups": ["workers"],
        "upgrade_namespace": NAMESPACE,
        "upgrade_kubernetes": {"kubeconfig": str(lab.kubeconfig(USER))},
        "upgrade_member_role": "stateful.upgrade.member_delegated",
        **own,
    }
    shown = {**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    planned = play(PLAYBOOK, given, shown, "-i", str(inventory), "--check")
    assert planned.code == 0, planned.output
    played = play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned)}, environment, "-i", str(inventory))
    print(played.output)
    return played


def seconds(played: Played) -> list[str]:
    """The time of each machine, as the run has reported it."""
    return re.findall(r"✔ \d/\d (?:node-\w+ +.*)", played.output)


@pytest.mark.soak
def test_machines_go_one_after_the_other_and_nothing_is_red(
    wide_lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    with upgraded(wide_lab, tmp_path, ansible_environment, KILLED, named=True) as (cluster, played):
        assert played.code == 0, played.message
        assert "6 upgraded" in played.output
        assert json.loads(cluster.ask(SETTINGS)) == {"persistent": {}, "transient": {}}
    print("with the database named:", *seconds(played), sep="\n")


@pytest.mark.soak
def test_the_time_of_machines_whose_database_nobody_asks(
    wide_lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """The budget of its pods alone holds the drains, so that shards may have no copy for a while."""
    with upgraded(wide_lab, tmp_path, ansible_environment, AWAY, named=False) as (_cluster, played):
        assert played.code == 0, played.message
    print("without it:", *seconds(played), sep="\n")
