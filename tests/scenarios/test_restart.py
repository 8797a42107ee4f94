"""A changed setting reaches real members in their existing pods, under traffic; Kubernetes is in memory."""

from __future__ import annotations

import base64
import json
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.certificates import Authority
from tests.lab.elasticsearch.homes import STOCKED
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.agents import NAME, TOKEN, interpreter, with_agents
from tests.lab.opensearch.layouts import ELASTICSEARCH, OPENSEARCH, three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.traffic.budgets import AWAY, RESTARTED
from tests.lab.waiting import until
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.playbook import Playing, play
from tests.scenarios.preconditions import POOL

RESTART = "stateful.upgrade.restart"
SETTING = "indices.query.bool.max_clause_count"
PHASE = "upgrade.stateful/restart-phase"
NAMED = 'cluster.name: "'
WHILE_KILLED = 3.0
"""Seconds that a changed Secret takes to reach its pod, so that a run can be killed before it does."""


SERVERS = ((OPENSEARCH, "2.19.6", "kubelet"), (OPENSEARCH, "3.8.0", "agent"), (ELASTICSEARCH, STOCKED[-1], "kubelet"))
NAMES = [f"{product.name}-{version}-by-{way}" for product, version, way in SERVERS]
QUICKEST = NAMES[0]
"""What the others have in addition runs on servers in memory: agents, and the other product."""


@dataclass(frozen=True)
class Configured:
    """A cluster whose members read their settings from a Secret, and the variables of its restarts."""

    cluster: Cluster
    given: Mapping[str, Any]


@pytest.fixture(
    params=[
        pytest.param(server, id=name, marks=[] if name == QUICKEST else [pytest.mark.soak])
        for server, name in zip(SERVERS, NAMES, strict=True)
    ]
)
def configured(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Configured]:
    """Three members, each a manager with data, in three zones."""
    product, version, way = request.param
    authority = Authority("agents")
    authority_file = tmp_path / "agents.pem"
    authority_file.write_bytes(authority.certificate)

    def layout(*of: Any, **more: Any) -> list[dict[str, Any]]:
        manifests = three_combined(*of, **more)
        return with_agents(manifests, authority, interpreter(directory / "python")) if way == "agent" else manifests

    directory = lab_directory()
    with Lab.up("restart", directory / "lab", in_memory=True) as lab:
        cluster = Cluster.start(lab, "restart", layout, version, product=product, configured=True)
        lab.apply(bound(RESTART_ROLE, cluster.namespace))
        given = {name: value for name, value in cluster.variables("").items() if name != "target_version"}
        connection = {"through": "pod_address", "token": TOKEN, "ca_cert": str(authority_file), "server_name": NAME}
        yield Configured(
            cluster,
            {
                **given,
                "upgrade_restart_way": way,
                **({"upgrade_agent": connection} if way == "agent" else {}),
            },
        )


def wanted(cluster: Cluster, **settings: object) -> list[dict[str, Any]]:
    """The option for the present content of each member with these settings after it."""
    with cluster.platform.client() as api:
        found: Any = client.CoreV1Api(api).read_namespaced_secret(f"{POOL}-configuration", cluster.namespace)
    more = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
    contents = {name: base64.b64decode(text).decode() + more for name, text in found.data.items()}
    return [{"pool": POOL, "contents": contents}]


def active(cluster: Cluster) -> set[str | None]:
    """The values of the setting with which the members run."""
    nodes = json.loads(cluster.ask("/_nodes/settings?flat_settings=true"))["nodes"].values()
    assert len(nodes) == len(cluster.fingerprint().pods)
    return {node["settings"].get(SETTING) for node in nodes}


def phases(cluster: Cluster) -> set[str]:
    """The phases that pods are in."""
    with cluster.platform.client() as api:
        pods: Any = client.CoreV1Api(api).list_namespaced_pod(cluster.namespace).items
    return {(pod.metadata.annotations or {}).get(PHASE, "") for pod in pods} - {""}


def killed_in(phase: str, cluster: Cluster, given: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """One run that is killed once a pod is in this phase."""
    run = Playing(RESTART, given, environment)
    until(f"A pod to be in phase {phase}", lambda: phase in phases(cluster) or run.ended, 120.0)
    assert not run.ended, run.so_far
    run.signal(signal.SIGKILL, group=True)
    run.abandon()


def test_a_changed_setting_reaches_every_member_and_nothing_is_lost(
    configured: Configured, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = configured.cluster
    before = cluster.fingerprint()
    seed(cluster.target, tmp_path, documents=1_000)
    given = {**configured.given, "upgrade_configuration": wanted(cluster, **{SETTING: 2048})}
    shown = play(RESTART, given, ansible_environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    given["upgrade_confirm"] = digest[1]
    with Traffic.start(cluster.target, tmp_path) as traffic:
        for member in before.pods:
            cluster.platform.faults.slow_mounts(cluster.namespace, member, WHILE_KILLED)
        killed_in("stop", cluster, given, ansible_environment)
        cluster.platform.faults.mend_all()
        killed_in("start", cluster, given, ansible_environment)
        played = play(RESTART, given, ansible_environment)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(played.output, report.table(), sep="\n")
    assert played.code == 0, played.message
    report.keeps(RESTARTED)
    assert active(cluster) == {"2048"}
    assert cluster.fingerprint().pods == before.pods
    assert cluster.fingerprint().settings == before.settings
    assert phases(cluster) == set()
    if given["upgrade_restart_way"] == "agent":
        _all_restart_at_once(configured, tmp_path, ansible_environment)


def _all_restart_at_once(configured: Configured, tmp_path: Path, environment: Mapping[str, str]) -> None:
    """A setting on which members have to agree, in a run that is killed while all are stopped, and once more."""
    cluster = configured.cluster
    before = cluster.fingerprint()
    (wish,) = wanted(cluster)
    renamed = {name: text.replace(f"{NAMED}opensearch", f"{NAMED}renamed") for name, text in wish["contents"].items()}
    given = {**configured.given, "upgrade_configuration": [{**wish, "contents": renamed}]}
    refused = play(RESTART, given, environment)
    assert "upgrade_allow_full_restart" in refused.message, refused.output
    given["upgrade_allow_full_restart"] = True
    shown = play(RESTART, given, environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    assert "All processes stop before the first one starts" in shown.output
    given["upgrade_confirm"] = digest[1]
    with Traffic.start(cluster.target, tmp_path) as traffic:
        for member in before.pods:
            cluster.platform.faults.slow_mounts(cluster.namespace, member, WHILE_KILLED)
        killed_in("stop-coordinated", cluster, given, environment)
        killed_in("start-coordinated", cluster, given, environment)
        cluster.platform.faults.mend_all()
        played = play(RESTART, given, environment)
        cluster.until_green()
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(played.output, report.table(), sep="\n")
    assert played.code == 0, played.message
    report.keeps(AWAY)
    assert json.loads(cluster.ask("/"))["cluster_name"] == "renamed"
    back = {**given, "upgrade_configuration": [wish]}
    digest = re.search(
        r"Plan (p\w{11})", play(RESTART, {**back, "upgrade_confirm": "p00000000000"}, environment).output
    )
    assert digest
    undisturbed = play(RESTART, {**back, "upgrade_confirm": digest[1]}, environment)
    print(undisturbed.output)
    assert undisturbed.code == 0, undisturbed.message
    assert "The whole cluster was away for " in undisturbed.output
    assert json.loads(cluster.ask("/"))["cluster_name"] == "opensearch"
    assert cluster.fingerprint().pods == before.pods
    assert cluster.fingerprint().settings == before.settings
    assert phases(cluster) == set()
