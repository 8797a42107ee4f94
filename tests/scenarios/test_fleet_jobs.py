"""A fleet whose cluster is upgraded by a Kubernetes Job on the lab: a real Job controller, and a pod that runs the
playbook by its own account, with the folder extensions/gitops/fleet."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from tests.kustomization import built
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PATIENCE, Playing, play

FLEET = "stateful.upgrade.fleet"
FROM, TO = "2.19.6", "3.8.0"


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Cluster]:
    cluster = Cluster.start(lab, "fleet-jobs", three_combined, FROM)
    folder = Path(__file__).parents[2] / "extensions" / "gitops" / "fleet"
    objects = built(folder)
    for each in objects:
        each["metadata"]["namespace"] = cluster.namespace
        for subject in each.get("subjects", []):
            subject["namespace"] = cluster.namespace
    lab.apply(objects)
    yield cluster
    cluster.remove()


def jobs(cluster: Cluster) -> list[Any]:
    """The Jobs in the namespace."""
    with cluster.platform.client() as api:
        return list(client.BatchV1Api(api).list_namespaced_job(cluster.namespace).items)


@pytest.mark.soak
def test_a_job_outlives_the_run_of_the_fleet_and_is_found_again(
    cluster: Cluster, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    folder, inventory = tmp_path / "fleet", tmp_path / "clusters.yml"
    launcher = {
        "upgrade_fleet_launcher": "kubernetes_job",
        "upgrade_fleet_template": "stateful-upgrade",
        "upgrade_fleet_namespace": cluster.namespace,
    }
    # The pod has an account of its own, so that no variable names a kubeconfig.
    own = {"target_version": TO, "upgrade_namespace": cluster.namespace, "upgrade_opensearch_hosts": cluster.url}
    inventory.write_text(yaml.safe_dump({"all": {"hosts": {"north": {**own, **launcher}}}}))
    kubeconfig = {"K8S_AUTH_KUBECONFIG": str(cluster.platform.kubeconfig())}
    environment = {**ansible_environment, **kubeconfig, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    given: dict[str, Any] = {"upgrade_fleet_path": str(folder)}
    words = ("--inventory", str(inventory))
    planned = play(FLEET, given, environment, *words, "--check")
    assert planned.code == 0, planned.output
    assert jobs(cluster) == [], "check mode launches nothing"
    given["upgrade_fleet_confirm"] = statistics(planned)["upgrade_fleet_confirm"]
    killed = Playing(FLEET, given, environment, *words)
    until("The launch", lambda: jobs(cluster), PATIENCE)
    killed.signal(signal.SIGKILL, group=True)
    killed.abandon()
    done = play(FLEET, given, environment, *words)
    assert done.code == 0, done.output
    (job,) = jobs(cluster)
    entry = json.loads((folder / "clusters" / "north.json").read_text())
    assert (entry["state"], entry["launch"]["job"]) == ("done", job.metadata.name)
    assert "3 upgraded to 3.8.0" in (folder / "clusters" / "north.log").read_text()
    cluster.is_upgraded(TO)
