"""The extension of Cluster API next to its real controllers: three machines of a control plane and two workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension.store import gate_name
from tests.lab.api import MERGE
from tests.lab.cluster_api.cluster_api import ClusterApiOnLab, condition
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.waiting import moment, until
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.scenarios.cluster_api.extension import Extension
from tests.unit.cluster_api.manifests import NAMESPACE

CLUSTERS, NAME, OLD, NEW = "shop", "mem", "v1.35.1", "v1.36.1"
DISCOVERED, HELD, FAILED, UPGRADED = 60.0, 90.0, 120.0, 300.0
ASKED_AGAIN = 3
BOOTSTRAP = "/apis/bootstrap.cluster.x-k8s.io/v1beta2"
CONFIG = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/stateful-upgrade"
Json = dict[str, Any]
POLICY: Json = {
    "budget": {"attempts": 3, "deadline": 600, "pause": 2, "poll": 2},
    "gate": {"hooks": ["BeforeControlPlaneUpgrade"], "max_age": 600, "poll": 2},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def extension(folder: Path) -> Iterator[Extension]:
    with Lab.up("cluster-api", lab_directory(), zones=("a",)) as lab, Extension(lab, folder) as made:
        label = {"upgrade.stateful/in-place": "true"}
        lab.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLUSTERS, "labels": label}}])
        yield made


@pytest.mark.soak
def test_every_machine_keeps_its_uid(extension: Extension, folder: Path) -> None:
    with ClusterApiOnLab(extension.lab, folder, extension.client) as cluster_api:
        story = Story(cluster_api, extension, folder)
        story.prepare()
        before = uids(cluster_api)
        story.is_held_by_its_gate()
        story.fails_for_good()
        story.comes_to_its_end()
        assert uids(cluster_api) == before
        assert at_a_time(folder) == 1
        story.holds_a_change_that_is_not_covered()
        assert uids(cluster_api) == before
        print("calls:", dict(cluster_api.calls()))


class Story:
    """An upgrade, stage by stage; each asserts what Cluster API has left alone."""

    def __init__(self, cluster_api: ClusterApiOnLab, extension: Extension, folder: Path) -> None:
        self._api, self._extension, self._folder = cluster_api, extension, folder

    def prepare(self) -> None:
        """A cluster in the old version, the extension discovered, and a worker."""
        self._extension.serve(POLICY)
        self._extension.register()
        began = time.monotonic()
        until("The discovery of the extension", lambda: discovered(self._api), DISCOVERED)
        print(f"discovered after {time.monotonic() - began:.1f} s")
        print(f"available after {self._api.make(CLUSTERS, NAME, OLD, 3, 2):.0f} s")
        (self._folder / "kubeconfig").write_bytes(self._api.workload_kubeconfig(CLUSTERS, NAME))
        module = [sys.executable, "-m", "tests.lab.cluster_api.upgrade"]
        self._extension.work([*module, str(self._folder), "{kubernetes_node}", "{version}"])

    def is_held_by_its_gate(self) -> None:
        """The gate says no: nothing is begun, and its sentence stands in a condition of the Cluster."""
        self._gate("no", "The index orders is yellow.")
        self._api.change(CLUSTERS, "clusters", NAME, {"spec": {"topology": {"version": NEW}}})
        until("The sentence of the gate", self._names_the_gate, HELD)
        assert versions(self._api) == {OLD}
        assert self._api.calls()["UpdateMachine", "Success"] == 0

    def _gate(self, fit: str, reason: str) -> None:
        about = {"name": gate_name(CLUSTERS, NAME), "namespace": NAMESPACE}
        data = {"fit": fit, "reason": reason, "seen": moment(0)}
        self._extension.lab.apply([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}])

    def _names_the_gate(self) -> bool:
        conditions = self._api.cluster(CLUSTERS, NAME).get("status", {}).get("conditions") or []
        return any("The index orders is yellow." in each.get("message", "") for each in conditions)

    def fails_for_good(self) -> None:
        """The first machine refuses: Cluster API asks again and again, and no run is started a second time."""
        refuse = self._folder / "refuse"
        refuse.touch()
        self._gate("yes", "")
        until("A failure", lambda: self._api.calls()["UpdateMachine", "Failure"] >= ASKED_AGAIN, FAILED)
        assert len(journal(self._folder)) == 1
        assert len(by_version(self._api, NEW)) == 1
        (machine,) = by_version(self._api, NEW)
        print("the Machine says:", [each["message"] for each in machine["status"]["conditions"] if each["message"]])
        refuse.unlink()
        assert len(journal(self._folder)) == 1
        self._clear(machine)

    def _clear(self, machine: Json) -> None:
        """Cluster API asks less and less often; a change of the Machine has it ask at once."""
        name = f"machine-{machine['metadata']['uid']}"
        path = CONFIG_MAPS.path(NAMESPACE, name)
        note = {"metadata": {"annotations": {"upgrade.stateful/clear": "ada"}}}
        self._api.server.ask("PATCH", path, note, MERGE)
        asked = {"metadata": {"annotations": {"upgrade.stateful/cleared": moment(0)}}}
        self._api.change(CLUSTERS, "machines", machine["metadata"]["name"], asked)

    def comes_to_its_end(self) -> None:
        """All machines are upgraded in place."""
        began = time.monotonic()
        until("The upgrade", lambda: is_at(self._api, NEW), UPGRADED)
        print(f"upgraded after {time.monotonic() - began:.0f} s")

    def holds_a_change_that_is_not_covered(self) -> None:
        """The workers' template changes in a field that no list has: nothing is replaced, and nothing is made."""
        self._extension.serve({**POLICY, "uncovered": "hold"})
        path = f"{BOOTSTRAP}/namespaces/{CLUSTERS}/kubeadmconfigtemplates/in-memory-default-worker-bootstraptemplate"
        other = [{"name": "eviction-hard", "value": "nodefs.available<1%"}]
        change = {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": other}}}
        self._api.server.ask("PATCH", path, {"spec": {"template": {"spec": change}}}, MERGE)
        until("A refusal", lambda: self._api.calls()["CanUpdateMachineSet", "Failure"] >= ASKED_AGAIN, HELD)
        assert "kubeletExtraArgs" in self._extension.said()


def discovered(cluster_api: ClusterApiOnLab) -> bool:
    """Whether Cluster API knows the hooks of the extension."""
    cluster_api.ready()
    return condition(cluster_api.server.ask("GET", CONFIG), "Discovered") == "True"


def uids(cluster_api: ClusterApiOnLab) -> dict[str, str]:
    """The UIDs of all Machines, by name."""
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in cluster_api.machines(CLUSTERS)}


def versions(cluster_api: ClusterApiOnLab) -> set[str]:
    """The versions that Machines are to have."""
    return {str(each["spec"].get("version")) for each in cluster_api.machines(CLUSTERS)}


def by_version(cluster_api: ClusterApiOnLab, version: str) -> list[Json]:
    """The Machines that are to have a version."""
    return [each for each in cluster_api.machines(CLUSTERS) if each["spec"].get("version") == version]


def journal(folder: Path) -> list[tuple[str, float, float]]:
    """The runs of the command, each with its Kubernetes node, its start and its end."""
    lines = [each.split() for each in (folder / "journal").read_text(encoding="utf-8").splitlines()]
    starts = [(node, float(time)) for what, node, time in lines if what == "begins"]
    ends = [(node, float(time)) for what, node, time in lines if what == "ends"]
    return [(node, start, end) for (node, start), (_node, end) in zip(starts, ends, strict=True)]


def at_a_time(folder: Path) -> int:
    """The most machines that were worked on at the same time."""
    runs = journal(folder)
    return max(sum(start <= begun < end for _node, start, end in runs) for _node, begun, _end in runs)


def is_at(cluster_api: ClusterApiOnLab, version: str) -> bool:
    """Whether all machines are available in a version, and none is being updated."""
    machines = cluster_api.machines(CLUSTERS)
    return all(
        each["spec"].get("version") == version
        and each.get("status", {}).get("nodeInfo", {}).get("kubeletVersion") == version
        and condition(each, "Available") == "True"
        and condition(each, "Updating") == "False"
        for each in machines
    )
