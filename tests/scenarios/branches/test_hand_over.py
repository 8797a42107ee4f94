# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed while the elected manager is excluded from voting leaves nobody excluded for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.ground import Ground
from tests.scenarios.interruptions import END, Siege, conclude, kill_and_wait

FROM, TO = "2.19.6", "3.8.0"


@pytest.fixture
def siege(ground: Ground, ansible_environment: Mapping[str, str]) -> Iterator[Siege]:
    cluster = Cluster.start(ground, "excluded", three_combined, FROM)
    yield Siege.lay(cluster, TO, ansible_environment)
    cluster.remove()


def test_killed_while_the_elected_manager_is_excluded_settle_lets_it_vote_again(siege: Siege) -> None:
    cluster = siege.cluster
    elected = cluster.elected()
    assert siege.killed_at("exclude", after=True, kill=kill_and_wait), siege.outputs[-1]
    assert cluster.excluded() == [elected]

    settled = siege.beside("stateful.upgrade.settle")
    print(settled.output)
    assert settled.code == 0, settled.message
    assert cluster.excluded() == []
    until("all to vote", lambda: len(cluster.voting()["last_committed_config"]) == 3, END)
    assert cluster.fingerprint().settings == siege.before.settings
    conclude(siege)
    assert cluster.excluded() == []
