# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool that keeps its RollingUpdate: rolled by its partition, killed in the middle, and as it was afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubernetes import client

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, Cluster
from tests.scenarios.interruptions import KILLS, Siege

FROM, TO = "2.19.6", "3.8.0"


def test_a_pool_keeps_its_strategy(lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(lab, "partition", three_combined, FROM)
    try:
        seed(cluster.target, tmp_path, documents=1_000)
        with Traffic.start(cluster.target, tmp_path) as traffic:
            own_partition(cluster, 1)
            siege = Siege.lay(cluster, TO, ansible_environment, upgrade_strategy="RollingUpdate")
            # The first patch of the pool without its template lowers the partition for the highest ordinal.
            assert siege.killed_at("strategy", after=True, kill=KILLS["SIGKILL to its process group"])
            highest = max(siege.before.pods)
            until("the controller to replace what was let through", lambda: went(siege) == {highest}, BOOT)
            settled = siege.beside("stateful.upgrade.settle")
            print(siege.outputs[-1], settled.output, sep="\n")
            assert "has partition 1 of its own" in siege.outputs[-1]
            assert settled.code == 0, settled.message
            assert "stays at partition 2" in settled.output
            assert partition_of(cluster) == 2

            played = siege.completed()
            print(played.output)
            traffic.stop()
        assert played.code == 0, played.message
        assert went(siege) == {*siege.before.pods}
        assert siege.deleted() == []
        assert siege.left_behind() == {}
        assert partition_of(cluster) == 1, "what its user had is put back"
        report = check(cluster.target, tmp_path)
        print(report.table())
        cluster.is_upgraded(TO, report)
    finally:
        cluster.remove()


def went(siege: Siege) -> set[str]:
    """The members whose pod is another than before."""
    now = siege.cluster.fingerprint().pods
    return {name for name, uid in siege.before.pods.items() if now.get(name) not in {None, uid}}


def own_partition(cluster: Cluster, partition: int) -> None:
    """Set the partition as a user does who wants the first members kept as they are."""
    (name,) = cluster.fingerprint().pools
    patch = {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}}}
    with cluster.ground.client() as api:
        client.AppsV1Api(api).patch_namespaced_stateful_set(name, cluster.namespace, patch)


def partition_of(cluster: Cluster) -> int:
    (pool,) = cluster.fingerprint().pools.values()
    strategy: dict[str, Any] = pool["spec"]["updateStrategy"]
    assert strategy["type"] == "RollingUpdate"
    return int(strategy.get("rollingUpdate", {}).get("partition", 0))
