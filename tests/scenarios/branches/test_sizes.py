"""A pool gains a member, which finds its configuration, and loses it again once its shards have moved away."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.branches.test_new_configuration import MEMBERS, contents, restarted
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import Played
from tests.scenarios.preconditions import POOL, index

pytestmark = pytest.mark.real_servers

NEW = f"{POOL}-3"


def names(cluster: Cluster) -> list[str]:
    """The members, by name."""
    return sorted(node["name"] for node in json.loads(cluster.ask("/_nodes"))["nodes"].values())


def sized(cluster: Cluster, replicas: int, environment: Mapping[str, str]) -> tuple[Played, Played]:
    """A run for this size: the one that shows its plan, and the one that was confirmed."""
    first = contents(cluster)[MEMBERS[0]]
    wish = {"pool": POOL, "contents": {NEW: first.replace(MEMBERS[0], NEW)}, "replicas": replicas}
    return restarted(cluster, {}, environment, upgrade_configuration=[wish])


def test_a_pool_gains_a_member_and_loses_it_again(platform: Platform, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(platform, "sizes", three_combined, "2.19.6", configured=True)
    try:
        platform.apply(bound(RESTART_ROLE, cluster.namespace))
        before, keys = cluster.fingerprint(), contents(cluster)
        shown, grown = sized(cluster, 4, ansible_environment)
        print(shown.output, grown.output)
        assert f"{NEW} is added to pool {POOL}" in shown.output
        assert "Plan: 0 to restart, 1 to add, 3 to leave alone." in shown.output
        assert grown.code == 0, grown.message
        assert names(cluster) == [*MEMBERS, NEW]
        assert sorted(contents(cluster)) == [*MEMBERS, NEW]
        with index(cluster, "logs", shards=4, replicas=1):
            shown, shrunk = sized(cluster, 3, ansible_environment)
            print(shown.output, shrunk.output)
            assert f"{NEW} is removed from pool {POOL}" in shown.output
            assert "1 to remove, 3 to leave alone" in shown.output
            assert shrunk.code == 0, shrunk.message
            assert names(cluster) == MEMBERS
            cluster.until_green()
        assert contents(cluster) == keys
        assert cluster.fingerprint().pods == before.pods
        assert cluster.fingerprint().settings == before.settings
    finally:
        cluster.remove()
