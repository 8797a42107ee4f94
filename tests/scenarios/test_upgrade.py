# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole upgrade on real servers, under traffic, with the documented rights and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Report, Traffic, check, seed
from tests.scenarios.circumstances import index
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, play, upgrade
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


ENABLE = "cluster.routing.allocation.enable"
DELAY = "cluster.routing.allocation.unassigned.node_left.delayed_timeout"
LIMITS = {"upgrade_recoveries": 10, "upgrade_recovery_bytes": "200mb"}


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Cluster]:
    cluster = Cluster.start(lab, "three-combined", three_combined, FROM)
    cluster.ask("/_cluster/settings", "PUT", USER_SETTINGS)
    yield cluster
    cluster.remove()


def upgrade_under_traffic(
    cluster: Cluster, directory: Path, environment: Mapping[str, str], **variables: Any
) -> tuple[Played, Report]:
    """One upgrade under traffic."""
    seed(cluster.target, directory, documents=5_000)
    with Traffic.start(cluster.target, directory) as traffic:
        played = upgrade(cluster.variables(TO, **variables), environment)
        traffic.stop()
    report = check(cluster.target, directory)
    print(played.output, report.table(), sep="\n")
    return played, report


def test_nothing_is_lost_and_all_is_put_back(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before = cluster.fingerprint()
    played, report = upgrade_under_traffic(cluster, tmp_path, ansible_environment, **LIMITS)

    assert played.code == 0, played.message
    cluster.is_upgraded(TO, report)
    assert report.loss is not None
    assert report.loss.acknowledged > 5_000
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert strategies(after.pools) == strategies(before.pools)
    assert annotations_of(after.pools) == annotations_of(before.pools)

    again = play(PLAYBOOK, cluster.variables(TO), ansible_environment)
    assert again.code == 0, again.message
    assert again.changed == {"localhost": 0}
    assert cluster.fingerprint() == after


@pytest.mark.parametrize("way", ["drain", "restart"])
def test_a_pool_without_volumes_loses_nothing(
    lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str], way: str
) -> None:
    cluster = Cluster.start(lab, f"ephemeral-{way}", three_combined, FROM, ephemeral=True)
    try:
        if way == "drain":
            not_drained_where_no_other_member_takes_a_shard(cluster, ansible_environment)
        else:
            # A member without its data comes back as another node, for whose copies the servers would wait a minute.
            soon = {"template": {"settings": {"index.unassigned.node_left.delayed_timeout": "1s"}}}
            cluster.ask("/_index_template/soon", "PUT", {**soon, "index_patterns": ["*"]})
        cluster.ask("/lone", "PUT", {"settings": {"index": {"number_of_replicas": 0}}})
        cluster.until_green()
        before = cluster.fingerprint()
        refused = play(
            PLAN, cluster.variables(TO, upgrade_allow_single_copy=True, upgrade_ephemeral=way), ansible_environment
        )
        assert "lone[0]" in refused.message
        assert "it would be lost for good" in refused.message
        assert ("are moved to other members before they go" in refused.output) == (way == "drain")
        assert cluster.fingerprint() == before

        cluster.ask("/lone/_settings", "PUT", {"index": {"number_of_replicas": 1}})
        cluster.until_green()
        played, report = upgrade_under_traffic(cluster, tmp_path, ansible_environment, upgrade_ephemeral=way)
        assert played.code == 0, played.message
        assert ("Shards move away from" in played.output) == (way == "drain")
        cluster.is_upgraded(TO, report)
        assert cluster.fingerprint().settings == before.settings

        tasks = Tasks(cluster, tmp_path, ansible_environment)
        away, back = tasks.play(
            step("shard_allocation", state="restricted", method="auto"), step("shard_allocation", state="restored")
        )
        chosen = {"drain": {f"persistent {DELAY}": "1h"}, "restart": {f"persistent {ENABLE}": "primaries"}}
        assert away["diff"]["after"] == chosen[way], "of the indices, those of the template have a delay of their own"
        assert back["diff"]["after"] == away["diff"]["before"] == {}
    finally:
        cluster.remove()


def not_drained_where_no_other_member_takes_a_shard(cluster: Cluster, environment: Mapping[str, str]) -> None:
    """An index with a copy on every member is refused when its members are to be drained."""
    with index(cluster, "everywhere", shards=1, replicas=2):
        before = cluster.fingerprint()
        refused = upgrade(cluster.variables(TO), environment)
        print(refused.output)
        assert "everywhere[0] cannot leave" in refused.message
        assert "same_shard on 2" in refused.message
        assert "upgrade_ephemeral: restart" in refused.message
        assert cluster.fingerprint() == before


def strategies(pools: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pool["spec"]["updateStrategy"] for name, pool in pools.items()}


def annotations_of(pools: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pool["annotations"] for name, pool in pools.items()}
