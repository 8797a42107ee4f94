"""The Job and the CronJob of extensions/gitops, in the cluster, by their own account with exactly the shipped Role."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from tests.kustomization import built
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.traffic.budgets import KILLED
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import play

GITOPS = Path(__file__).parents[2] / "extensions" / "gitops"
FROM, TO = "2.19.6", "3.8.0"
NAME = "stateful-upgrade"
LONGEST = 600.0
"""Seconds that a Job may take on a busy machine; nothing is judged by time."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Runs:
    """The runs in the namespace of a cluster, and what they leave for others to read."""

    cluster: Cluster

    def apply(self, folder: str, **variables: Any) -> None:
        """Apply a folder as an overlay would that sets the namespace, the variables and the Secret."""
        text = yaml.safe_dump({"target_version": TO, **variables})
        own: list[Json] = [
            {"kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"upgrade.yml": text}},
            {
                "kind": "Secret",
                "metadata": {"name": f"{NAME}-opensearch"},
                "stringData": {"OPENSEARCH_HOSTS": self.cluster.url},
            },
        ]
        objects = [*({"apiVersion": "v1", **each} for each in own), *built(GITOPS / folder)]
        for each in objects:
            if each["kind"] == "CronJob":
                # Its own passes would start at the next minute.
                each["spec"]["suspend"] = True
            each["metadata"]["namespace"] = self.cluster.namespace
            for subject in each.get("subjects", []):
                subject["namespace"] = self.cluster.namespace
        self.cluster.platform.apply(objects)

    def ended(self, job: str) -> Json:
        """The message of the pod with which a Job has ended, once it has. The Job is gone afterwards."""
        with self.cluster.platform.client() as api:
            core, batch = _core(api), _batch(api)

            def conditions() -> set[str]:
                seen = batch.read_namespaced_job(job, self.cluster.namespace).status.conditions or []
                return {each.type for each in seen if each.status == "True"} & {"Complete", "Failed"}

            until(f"The end of Job {job}", conditions, LONGEST)
            (how,) = conditions()
            pods = core.list_namespaced_pod(self.cluster.namespace, label_selector=f"job-name={job}").items
            pod = max(pods, key=lambda each: each.metadata.creation_timestamp)
            log = core.read_namespaced_pod_log(pod.metadata.name, self.cluster.namespace)
            message = pod.status.container_statuses[0].state.terminated.message
            batch.delete_namespaced_job(job, self.cluster.namespace, propagation_policy="Foreground")
            until("The end of its pods", lambda: not self.pods(job), LONGEST)
        print(log, message, sep="\n")
        return {"how": how, "log": log, **json.loads(message)}

    def pods(self, job: str) -> list[str]:
        """The pods of a Job."""
        with self.cluster.platform.client() as api:
            found = _core(api).list_namespaced_pod(self.cluster.namespace, label_selector=f"job-name={job}")
        return [each.metadata.name for each in found.items]

    def evict(self, pod: str) -> None:
        """Let a pod leave its Kubernetes node, as `kubectl drain` does."""
        about = client.V1ObjectMeta(name=pod, namespace=self.cluster.namespace)
        with self.cluster.platform.client() as api:
            _core(api).create_namespaced_pod_eviction(pod, self.cluster.namespace, client.V1Eviction(metadata=about))

    def start_pass(self) -> str:
        """Start a pass of the CronJob now, as `kubectl create job --from` does; gives the name of its Job."""
        with self.cluster.platform.client() as api:
            batch = _batch(api)
            template = batch.read_namespaced_cron_job(NAME, self.cluster.namespace).spec.job_template
            about = client.V1ObjectMeta(name=f"{NAME}-pass")
            batch.create_namespaced_job(self.cluster.namespace, client.V1Job(metadata=about, spec=template.spec))
        return f"{NAME}-pass"


def _core(api: client.ApiClient) -> Any:
    return client.CoreV1Api(api)


def _batch(api: client.ApiClient) -> Any:
    return client.BatchV1Api(api)


@pytest.fixture
def runs(lab: Lab) -> Iterator[Runs]:
    cluster = Cluster.start(lab, "gitops", three_combined, FROM)
    yield Runs(cluster)
    cluster.remove()


@pytest.mark.soak
def test_a_job_upgrades_the_cluster_it_lives_beside(
    runs: Runs, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster, before = runs.cluster, runs.cluster.fingerprint()
    runs.apply("job")
    refused = runs.ended(NAME)
    assert (refused["how"], refused["upgrade_state"], refused["upgrade_reasons"]) == (
        "Failed",
        "refused",
        ["not_confirmed"],
    )
    assert cluster.fingerprint() == before
    (digest,) = set(re.findall(r"-e upgrade_confirm=(p[0-9a-f]{11})", refused["log"]))

    seed(cluster.target, tmp_path, documents=1_000)
    with Traffic.start(cluster.target, tmp_path) as traffic:
        runs.apply("job", upgrade_confirm=digest)
        until("The first member's deletion", lambda: before.pods.items() - cluster.fingerprint().pods.items(), LONGEST)
        (first,) = runs.pods(NAME)
        runs.evict(first)
        done = runs.ended(NAME)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    assert (done["how"], done["upgrade_state"]) == ("Complete", "done")
    cluster.is_upgraded(TO)
    report.keeps(KILLED)
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert {name: pool["spec"]["updateStrategy"] for name, pool in after.pools.items()} == {
        name: pool["spec"]["updateStrategy"] for name, pool in before.pools.items()
    }

    runs.apply("cronjob", upgrade_confirm=digest)
    again = runs.ended(runs.start_pass())
    assert (again["how"], again["upgrade_state"]) == ("Complete", "done")
    assert cluster.fingerprint().pods == after.pods

    markdown = tmp_path / "report.md"
    # The binding of the account has taken the place of that of the user.
    variables = cluster.variables(TO, "admin", upgrade_report_path=str(markdown))
    reported = play("stateful.upgrade.report", variables, ansible_environment)
    assert reported.code == 0, reported.message
    assert f"to {TO}: Completed" in markdown.read_text().splitlines()[0]
