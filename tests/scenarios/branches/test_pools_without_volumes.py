"""A pool without volumes: refused where its members would take the last copy with them, or cannot be drained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAN, play, upgrade
from tests.scenarios.preconditions import index

FROM, TO = "2.19.6", "3.8.0"


@pytest.fixture
def cluster(platform: Platform) -> Iterator[Cluster]:
    cluster = Cluster.start(platform, "ephemeral", three_combined, FROM, ephemeral=True)
    yield cluster
    cluster.remove()


def test_what_it_would_lose_and_what_cannot_leave_it_is_refused(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    before = cluster.fingerprint()
    with index(cluster, "lone", shards=1, replicas=0):
        for way in ("drain", "restart"):
            variables = cluster.variables(TO, upgrade_allow_single_copy=True, upgrade_ephemeral=way)
            refused = play(PLAN, variables, ansible_environment)
            assert refused.code != 0
            assert "lone[0]" in refused.message
            assert "it would be lost for good" in refused.message
            assert ("are moved to other members before they go" in refused.output) == (way == "drain")
    with index(cluster, "everywhere", shards=1, replicas=2):
        refused = upgrade(cluster.variables(TO), ansible_environment)
        print(refused.output)
        assert refused.code != 0
        assert "everywhere[0] cannot leave" in refused.message
        assert "same_shard on 2" in refused.message
        assert "upgrade_ephemeral: restart" in refused.message
    assert cluster.fingerprint() == before
