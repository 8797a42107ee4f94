"""All indices in a remote store, in a pool that keeps its RollingUpdate, rolled by its partition and killed midway."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.processes import pod_user
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import KILLED
from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, Cluster
from tests.scenarios.interruptions import KILLS, UpgradeRuns

FROM, TO = "3.6.0", "3.8.0"
"""From 3.x, because the plan refuses to go on from 2.x there."""
STORE = "node.attr.remote_store"


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Cluster]:
    shared = lab.directory / "remote-store"
    shared.mkdir()
    if user := pod_user():
        os.chown(shared, user.uid, user.gid)
    settings = {
        "path.repo": str(shared),
        f"{STORE}.repository.shared.type": "fs",
        f"{STORE}.repository.shared.settings.location": str(shared),
        **{f"{STORE}.{kind}.repository": "shared" for kind in ("segment", "translog", "state")},
    }
    cluster = Cluster.start(lab, "remote-store", three_combined, FROM, settings=settings)
    yield cluster
    cluster.remove()


@pytest.mark.soak
def test_nothing_is_lost_and_a_pool_keeps_its_strategy(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    seed(cluster.target, tmp_path, documents=1_000)
    # Of two replicas one is on a member of the old version and one on a new one when the primary goes.
    cluster.ask("/traffic-0/_settings", "PUT", {"index": {"number_of_replicas": 2}})
    cluster.until_green()
    assert stored(cluster) == {("SEGMENT", "true")}
    own_partition(cluster, 1)
    upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment, upgrade_strategy="RollingUpdate")
    with Traffic.start(cluster.target, tmp_path) as traffic:
        # The first patch of the pool without its template lowers the partition for the highest ordinal.
        assert upgrade_runs.killed_at("strategy", after=True, kill=KILLS["SIGKILL to its process group"])
        highest = max(upgrade_runs.before.pods)
        until("the controller to replace what was let through", lambda: went(upgrade_runs) == {highest}, BOOT)
        settled = upgrade_runs.beside("stateful.upgrade.settle")
        print(upgrade_runs.outputs[-1], settled.output, sep="\n")
        assert "has partition 1 of its own" in upgrade_runs.outputs[-1]
        assert settled.code == 0, settled.message
        assert "stays at partition 2" in settled.output
        assert partition_of(cluster) == 2

        played = upgrade_runs.completed()
        report = traffic.stop()
    print(played.output, report.table(), cluster.ask("/_cat/segment_replication?v&bytes=b&time=ms"), sep="\n")
    assert played.code == 0, played.message
    assert went(upgrade_runs) == {*upgrade_runs.before.pods}
    assert upgrade_runs.deleted() == []
    assert upgrade_runs.left_behind() == {}
    assert partition_of(cluster) == 1, "what its user had is put back"
    cluster.is_upgraded(TO)
    report.keeps(KILLED)
    assert report.loss is not None
    assert report.loss.acknowledged > 1_000


def stored(cluster: Cluster) -> set[tuple[str, str]]:
    """The replication of the traffic's indices, and whether they are in the store."""
    indices = json.loads(cluster.ask("/traffic-*/_settings?flat_settings=true"))
    settings = [each["settings"] for each in indices.values()]
    return {(each["index.replication.type"], each["index.remote_store.enabled"]) for each in settings}


def went(upgrade_runs: UpgradeRuns) -> set[str]:
    """The members whose pod is another than before."""
    now = upgrade_runs.cluster.fingerprint().pods
    return {name for name, uid in upgrade_runs.before.pods.items() if now.get(name) not in {None, uid}}


def own_partition(cluster: Cluster, partition: int) -> None:
    """Set the partition as a user does who wants the first members kept as they are."""
    (name,) = cluster.fingerprint().pools
    patch = {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}}}
    with cluster.platform.client() as api:
        client.AppsV1Api(api).patch_namespaced_stateful_set(name, cluster.namespace, patch)


def partition_of(cluster: Cluster) -> int:
    (pool,) = cluster.fingerprint().pools.values()
    strategy: dict[str, Any] = pool["spec"]["updateStrategy"]
    assert strategy["type"] == "RollingUpdate"
    return int(strategy.get("rollingUpdate", {}).get("partition", 0))
