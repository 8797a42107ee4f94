"""The whole upgrade on real servers, under traffic, with the documented rights and no others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import ROLLING
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import ENABLE, EXCLUDE
from tests.scenarios.playbook import PLAYBOOK, play, upgrade
from tests.scenarios.tasks import Tasks, step

FROM, TO = "2.19.6", "3.8.0"

USER_SETTINGS = {
    "persistent": {
        "cluster.routing.allocation.enable": "primaries",
        "cluster.metadata.owner": "team search",
        "indices.recovery.max_bytes_per_sec": "77mb",
    },
    "transient": {
        "cluster.routing.allocation.enable": "all",
        "cluster.routing.allocation.node_concurrent_recoveries": "7",
    },
}
"""Set by the user before: allocation in both scopes, where transient hides persistent."""


DELAY_OF_INDEX = "index.unassigned.node_left.delayed_timeout"
LIMITS: dict[str, Any] = {"upgrade_recoveries": 10}


def test_nothing_is_lost_and_all_is_put_back(lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    """The replicas of one index copy operations, those of the other one segments."""
    cluster = Cluster.start(lab, "three-combined", three_combined, FROM)
    try:
        cluster.ask("/_cluster/settings", "PUT", USER_SETTINGS)
        segments = {"template": {"settings": {"index.replication.type": "SEGMENT"}}}
        cluster.ask("/_index_template/segments", "PUT", {**segments, "index_patterns": ["traffic-0"]})
        seed(cluster.target, tmp_path, documents=1_000)
        # Of two replicas one is on a member of the old version and one on a new one when the primary goes.
        cluster.ask("/traffic-0/_settings", "PUT", {"index": {"number_of_replicas": 2}})
        cluster.until_green()
        assert replication(cluster) == {"traffic-0": "SEGMENT", "traffic-1": "DOCUMENT"}
        before = cluster.fingerprint()
        with Traffic.start(cluster.target, tmp_path) as traffic:
            played = upgrade(cluster.variables(TO, **LIMITS), ansible_environment)
            report = traffic.stop()
        print(played.output, report.table(), sep="\n")
        print(cluster.ask("/_cat/segment_replication?v&bytes=b&time=ms"))

        assert played.code == 0, played.message
        cluster.is_upgraded(TO)
        report.keeps(ROLLING)
        assert report.loss is not None
        assert report.loss.acknowledged > 1_000
        after = cluster.fingerprint()
        assert after.settings == before.settings
        assert strategies(after.pools) == strategies(before.pools)
        assert annotations_of(after.pools) == annotations_of(before.pools)

        again = play(PLAYBOOK, cluster.variables(TO), ansible_environment)
        assert again.code == 0, again.message
        assert again.changed == {"localhost": 0}, again.output
        assert cluster.fingerprint() == after
    finally:
        cluster.remove()


@pytest.mark.soak
def test_a_pool_without_volumes_loses_nothing(lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    """One member restarts without its data, which the others give it again; the others are drained.

    They are drained by someone who has a kubeconfig, and no route to the members.
    """
    cluster = Cluster.start(lab, "ephemeral", three_combined, FROM, ephemeral=True)
    try:
        before = cluster.fingerprint()
        first = max(before.pods.keys() - {cluster.elected()})
        # A member without its data comes back as another node, for whose copies the servers would wait a minute.
        soon = {"template": {"settings": {DELAY_OF_INDEX: "1s"}}}
        cluster.ask("/_index_template/soon", "PUT", {**soon, "index_patterns": ["*"]})
        seed(cluster.target, tmp_path, documents=1_000)
        with Traffic.start(cluster.target, tmp_path) as traffic:
            restart = cluster.variables(TO, upgrade_ephemeral="restart", upgrade_members=[first])
            restarted = upgrade(restart, ansible_environment, "--diff")
            cluster.ask("/_all/_settings", "PUT", {DELAY_OF_INDEX: None})
            # A name that leads nowhere: what reaches the members goes through the Kubernetes API.
            way: dict[str, Any] = {"hosts": ["http://opensearch.invalid:9200"]}
            way["port_forward"] = {"namespace": cluster.namespace, "service": cluster.name}
            drain = cluster.variables(TO, upgrade_ephemeral="drain", upgrade_opensearch=way)
            drained = upgrade(drain, ansible_environment, "--diff")
            report = traffic.stop()
        for played, drains in ((restarted, False), (drained, True)):
            print(played.output)
            assert played.code == 0, played.message
            assert "Traceback" not in played.output
            assert (EXCLUDE in played.output) == drains
        print(report.table())
        cluster.is_upgraded(TO)
        report.keeps(ROLLING)
        assert cluster.fingerprint().settings == before.settings

        away, back = Tasks(cluster, tmp_path, ansible_environment).play(
            step("shard_allocation", state="restricted"), step("shard_allocation", state="restored")
        )
        assert away["diff"]["after"] == {f"persistent {ENABLE}": "primaries"}
        assert back["diff"]["after"] == away["diff"]["before"] == {}
    finally:
        cluster.remove()


def replication(cluster: Cluster) -> dict[str, str]:
    """Index of the traffic → what its replicas copy."""
    indices = json.loads(cluster.ask("/traffic-*/_settings?flat_settings=true&include_defaults=true"))
    return {name: {**of["defaults"], **of["settings"]}["index.replication.type"] for name, of in indices.items()}


def strategies(pools: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pool["spec"]["updateStrategy"] for name, pool in pools.items()}


def annotations_of(pools: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pool["annotations"] for name, pool in pools.items()}
