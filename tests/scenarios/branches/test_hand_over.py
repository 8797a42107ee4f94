"""A run that is killed while the elected manager is excluded from voting leaves no one excluded for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import END, UpgradeRuns, conclude, kill_and_wait
from tests.scenarios.platforms import Platform

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"


@pytest.fixture
def upgrade_runs(platform: Platform, ansible_environment: Mapping[str, str]) -> Iterator[UpgradeRuns]:
    cluster = Cluster.start(platform, "excluded", three_combined, FROM)
    yield UpgradeRuns.begin(cluster, TO, ansible_environment)
    cluster.remove()


def test_killed_while_the_elected_manager_is_excluded_settle_lets_it_vote_again(upgrade_runs: UpgradeRuns) -> None:
    cluster = upgrade_runs.cluster
    elected = cluster.elected()
    assert upgrade_runs.killed_at("exclude", after=True, kill=kill_and_wait), upgrade_runs.outputs[-1]
    assert cluster.excluded() == [elected]

    settled = upgrade_runs.beside("stateful.upgrade.settle")
    print(settled.output)
    assert settled.code == 0, settled.message
    assert cluster.excluded() == []
    until("all to vote", lambda: len(cluster.voting()["last_committed_config"]) == 3, END)
    assert cluster.fingerprint().settings == upgrade_runs.before.settings
    conclude(upgrade_runs)
    assert cluster.excluded() == []
