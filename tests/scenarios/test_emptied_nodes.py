"""One stop of its Kubernetes node serves all members of a batch, on real servers, under traffic."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import seven_members
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import CROWDED
from tests.runs.shipped import bound
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import upgrade

FROM, TO = "2.19.6", "3.8.0"
LOOK = """
import json, sys
from kubernetes import client, config
api = client.CoreV1Api(config.new_client_from_config(config_file=sys.argv[1]))
pods = api.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={sys.argv[2]}").items
found = {"cordoned": api.read_node(sys.argv[2]).spec.unschedulable, "pods": [each.metadata.name for each in pods]}
open(f"{sys.argv[3]}/{sys.argv[2]}.json", "w").write(json.dumps(found))
"""


def nodes(lab: Lab) -> list[dict[str, Any]]:
    """All Kubernetes nodes."""
    with lab.client() as api:
        found: list[dict[str, Any]] = api.sanitize_for_serialization(client.CoreV1Api(api).list_node().items)
    return found


@pytest.mark.soak
def test_each_kubernetes_node_is_empty_once_and_nothing_is_lost(
    lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(lab, "emptied", seven_members, FROM)
    try:
        lab.apply(bound("opensearch/files/emptying_role.yml"))
        looked, script, tasks = tmp_path / "looked", tmp_path / "look.py", tmp_path / "reboot.yml"
        looked.mkdir()
        script.write_text(LOOK, encoding="utf-8")
        argv = [sys.executable, str(script), str(lab.kubeconfig()), "{{ item }}", str(looked)]
        task = {"ansible.builtin.command": {"argv": argv}, "loop": "{{ upgrade_batch.empties }}", "name": "Look"}
        tasks.write_text(json.dumps([task]), encoding="utf-8")
        seed(cluster.target, tmp_path, documents=1_000)
        before = cluster.fingerprint()
        with Traffic.start(cluster.target, tmp_path) as traffic:
            given = cluster.variables(TO, upgrade_batching="node", upgrade_tasks_emptied=[str(tasks)])
            played = upgrade(given, ansible_environment)
            report = traffic.stop()
        print(played.output, report.table(), sep="\n")
        assert played.code == 0, played.message
        cluster.is_upgraded(TO)
        assert "7 members, 3 batches" in played.output
        report.keeps(CROWDED)
        assert report.loss is not None
        assert report.loss.acknowledged > 1_000
        seen = {each.stem: json.loads(each.read_text(encoding="utf-8")) for each in looked.iterdir()}
        assert len(seen) == 3
        assert all(each == {"cordoned": True, "pods": []} for each in seen.values()), seen
        assert cluster.fingerprint().settings == before.settings
        for node in nodes(lab):
            assert not node["spec"].get("unschedulable")
            notes = {**node["metadata"].get("annotations", {}), **node["metadata"].get("labels", {})}
            assert not [each for each in notes if each.startswith("upgrade.stateful/")]
    finally:
        cluster.remove()
