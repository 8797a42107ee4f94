# SPDX-License-Identifier: GPL-3.0-or-later
"""A changed setting reaches real members in the pods that they have, under traffic; Kubernetes is in memory."""

from __future__ import annotations

import base64
import json
import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.elasticsearch.homes import STOCKED
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import ELASTICSEARCH, OPENSEARCH, three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.waiting import until
from tests.scenarios.circumstances import POOL
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.playbook import Playing, play

RESTART = "stateful.upgrade.restart"
SETTING = "indices.query.bool.max_clause_count"
PHASE = "upgrade.stateful/restart-phase"
WHILE_KILLED = 3.0
"""Seconds that a changed Secret takes to reach its pod, so that a run can be killed meanwhile."""


SERVERS = ((OPENSEARCH, "2.19.6"), (OPENSEARCH, "3.8.0"), (ELASTICSEARCH, STOCKED[-1]))


@pytest.fixture(params=SERVERS, ids=[f"{product.name}-{version}" for product, version in SERVERS])
def configured(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three members that read their settings from a Secret, each a manager with data, in three zones."""
    product, version = request.param
    with Lab.up("restart", lab_directory() / "lab", in_memory=True) as lab:
        cluster = Cluster.start(lab, "restart", three_combined, version, product=product, configured=True)
        lab.apply(bound(RESTART_ROLE, cluster.namespace))
        yield cluster


def wanted(cluster: Cluster, **settings: object) -> list[dict[str, Any]]:
    """The option for the present content of each member with these settings after it."""
    with cluster.ground.client() as api:
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
    with cluster.ground.client() as api:
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
    configured: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before = configured.fingerprint()
    seed(configured.target, tmp_path, documents=1_000)
    given = {name: value for name, value in configured.variables("").items() if name != "target_version"}
    given["upgrade_configuration"] = wanted(configured, **{SETTING: 2048})
    shown = play(RESTART, given, ansible_environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    given["upgrade_confirm"] = digest[1]
    with Traffic.start(configured.target, tmp_path) as traffic:
        for member in before.pods:
            configured.ground.faults.slow_mounts(configured.namespace, member, WHILE_KILLED)
        killed_in("stop", configured, given, ansible_environment)
        configured.ground.faults.mend_all()
        killed_in("start", configured, given, ansible_environment)
        played = play(RESTART, given, ansible_environment)
        traffic.stop()
    report = check(configured.target, tmp_path)
    print(played.output, report.table(), sep="\n")
    assert played.code == 0, played.message
    assert report.unharmed, report.table()
    assert active(configured) == {"2048"}
    assert configured.fingerprint().pods == before.pods
    assert configured.fingerprint().settings == before.settings
    assert phases(configured) == set()
