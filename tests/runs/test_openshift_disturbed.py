"""Upgrades of OpenShift whose pools, versions or Kubernetes nodes something else changes, or is allowed to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.runs.test_openshift import CalledOpenShift
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.description import KubernetesNode, Pool
from tests.sandbox.openshift.kinds import MACHINE_CONFIG

ASKED = "- name: See that the database is whole\n  ansible.builtin.fail:\n    msg: One copy is away.\n"
OF_WORKERS = f"{ASKED}  when: upgrade_batch.members | length == 1\n"
"""A gate that no batch of one Kubernetes node passes."""


def gate_of(folder: Path, tasks: str) -> str:
    """A file with the tasks of a gate."""
    path = folder / "gate.yml"
    path.write_text(tasks)
    return str(path)


def test_kubernetes_nodes_without_a_zone_are_taken_last_and_each_batch_is_asked_for(
    here: World, tmp_path: Path
) -> None:
    nodes = tuple(KubernetesNode(f"worker-{place}", zone) for place, zone in enumerate(["", "a", "b"]))
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), Pool("worker", nodes))))
    gate = gate_of(tmp_path, f"{ASKED}  when: upgrade_batch.members == ['worker-2']\n")
    assert cluster.upgrade(upgrade_workload_gate=gate).code != 0
    assert cluster.on_target() == {"master-0", "master-1", "master-2", "worker-1"}
    assert cluster.paused() == ["worker"]
    assert cluster.upgrade().code == 0
    cluster.is_upgraded()


def test_a_kubernetes_node_of_windows_is_in_no_batch(here: World) -> None:
    cluster = CalledOpenShift(here)

    def windows(item: Json) -> None:
        metadata = item["metadata"]
        metadata["labels"]["kubernetes.io/os"] = "windows"
        metadata["annotations"] = {
            key: each for key, each in metadata["annotations"].items() if MACHINE_CONFIG not in key
        }

    cluster.openshift.resources.change(NODES, "", "worker-2", windows, Writing("windows", strict="Strict"))
    cluster.openshift.clock.advance(60)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert cluster.paused() == []
