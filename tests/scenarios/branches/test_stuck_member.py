"""A member that does not come back: the run names it, stops, settles, and the next run continues where it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, play, upgrade

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"


@pytest.fixture
def cluster(platform: Platform) -> Iterator[Cluster]:
    cluster = Cluster.start(platform, "stuck", three_combined, FROM)
    cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
    yield cluster
    cluster.remove()


def test_the_run_stops_settles_and_goes_on(cluster: Cluster, ansible_environment: Mapping[str, str]) -> None:
    before = cluster.fingerprint()
    planned = play(PLAYBOOK, cluster.variables(TO), ansible_environment, "--check")
    assert planned.code == 0, planned.message
    first, second, third = batches(planned.output)
    begun = upgrade(cluster.variables(TO, upgrade_members=[first]), ansible_environment)
    assert begun.code == 0, begun.message
    cluster.platform.faults.never_ready(cluster.namespace, second)

    narrowed = cluster.variables(
        TO, upgrade_members=[second], upgrade_member_timeout=60, upgrade_allow_left_behind=True
    )
    stopped = upgrade(narrowed, ansible_environment)

    print(stopped.output)
    assert stopped.code != 0
    assert f"Pod {second} " in stopped.message
    assert "upgrade_member_timeout" in stopped.message
    now = cluster.fingerprint()
    assert now.settings == before.settings
    assert now.pods[third] == before.pods[third]
    assert now.pods[first] != before.pods[first]
    assert "OnDelete" in stopped.output  # said, with the reason, that it stays
    assert cluster.versions()[first] == TO

    cluster.platform.faults.mend(cluster.namespace, second)
    resumed = upgrade(cluster.variables(TO), ansible_environment)

    print(resumed.output)
    assert resumed.code == 0, resumed.message
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert after.pods[first] == now.pods[first]
    assert after.pods[second] == now.pods[second]
    assert set(cluster.versions().values()) == {TO}
    assert {name: pool["spec"]["updateStrategy"] for name, pool in after.pools.items()} == {
        name: pool["spec"]["updateStrategy"] for name, pool in before.pools.items()
    }


def batches(output: str) -> list[str]:
    """The members of the plan in order, as the recap names the batches."""
    recap = output.partition("PLAY RECAP")[2]
    return [line.split()[0].partition(".")[2] for line in recap.splitlines() if line.startswith("batch-")]
