"""Upgrades of members on plain hosts, in one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, ClusterOnHosts, cluster_on_hosts, digest_shown
from tests.runs.world import World, world

FROM, TO = "2.19.6", "3.8.0"
POOL = Pool("members", 3, ("cluster_manager", "data", "ingest"))


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone."""
    with world() as made:
        yield made


@pytest.fixture
def cluster(here: World) -> Iterator[ClusterOnHosts]:
    """Three members, and an index with a copy on two of them."""
    with cluster_on_hosts(here, FROM, (POOL,)) as made:
        made.ask("/orders", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
        made.until_green()
        yield made


def test_three_hosts_are_upgraded(here: World, cluster: ClusterOnHosts) -> None:
    given = cluster.variables(TO)
    planned = here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments, CHECK)
    done = here.play(PLAYBOOK_OF_HOSTS, {**given, "upgrade_confirm": digest_shown(planned)}, *cluster.arguments)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert cluster.ask("/_cluster/settings") == '{"persistent": {}, "transient": {}}'
    stops = [path for method, path in here.acts() if path.startswith("/hosts/") and path.endswith("/systemd")]
    assert len(stops) == 6
