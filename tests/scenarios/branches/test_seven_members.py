"""Seven members of which some are lost during an upgrade, and acts whose answers are lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.opensearch.layouts import seven_members
from tests.lab.traffic.budgets import CROWDED
from tests.scenarios.cluster import Cluster
from tests.scenarios.fault_proxy import Trap
from tests.scenarios.interruptions import ACTS, MORE_ACTS, UpgradeRuns
from tests.scenarios.load import loaded
from tests.scenarios.platforms import Platform
from tests.scenarios.preconditions import lose

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"


@pytest.mark.soak
def test_managers_lost_before_and_after_their_template_has_changed_go_once(
    platform: Platform, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(platform, "seven-members", seven_members, FROM)
    try:
        elected = cluster.elected()
        late, early = sorted({f"opensearch-managers-{ordinal}" for ordinal in range(3)} - {elected})
        came_back: dict[str, str] = {}
        with loaded(cluster, tmp_path, CROWDED):
            upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment)
            with upgrade_runs.running() as (proxy, run):

                def lose_late() -> None:
                    came_back[early] = cluster.versions()[early]
                    lose(cluster, late)

                def lose_early() -> None:
                    proxy.trap = Trap("PATCH", "/statefulsets/opensearch-managers", after=True, spring=lose_late)
                    lose(cluster, early)

                proxy.trap = Trap("DELETE", "/pods/opensearch-data", after=True, spring=lose_early)
                played = run.wait()
        print(played.output)

        assert played.code == 0, played.message
        assert came_back == {early: FROM}
        cluster.is_upgraded(TO)
        # The one that was lost late came back on the new version by itself, before its turn.
        assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods.keys() - {late})
        assert upgrade_runs.left_behind() == {}
    finally:
        cluster.remove()


def test_members_that_share_no_last_copy_go_together_though_the_first_answer_of_every_act_is_lost(
    platform: Platform, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(platform, "together", seven_members, FROM)
    try:
        # With a copy on each of the three data members, any two of them can go at once.
        with loaded(cluster, tmp_path, CROWDED, replicas=2):
            upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment, upgrade_batching="disjoint")
            with upgrade_runs.running() as (proxy, run):
                proxy.loses = {**ACTS, **MORE_ACTS}
                played = run.wait()
        print(played.output, proxy.made(proxy.loses), sep="\n")

        assert played.code == 0, played.message
        cluster.is_upgraded(TO)
        # A manager and a data member in each, the elected one in the last; with the coordinating one in one of them.
        assert sorted(re.findall(r"^  \d   .*; (\d) members of zone", played.output, re.M)) == ["2", "2", "3"]
        assert len(re.findall(r"^PLAY \[Roll\] \*+$(?!\nskipping: no hosts)", played.output, re.M)) == 3
        assert "the elected manager hands over first" in played.output
        assert {*proxy.lost} == proxy.loses.keys() - {"drain"}
        assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods)
        assert cluster.excluded() == []
        assert upgrade_runs.left_behind() == {}
    finally:
        cluster.remove()
