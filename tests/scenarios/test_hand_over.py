"""Runs that are killed on real servers: while a member is down, and at each act by which the elected one hands over."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import two_combined
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import KILLED
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import END, KILLS, VOTING, UpgradeRuns, concluded, kill_and_wait

FROM, TO = "2.19.6", "3.8.0"


def elects(cluster: Cluster, name: str) -> bool:
    """Whether it is elected; for a short time no member is, and none answers."""
    with contextlib.suppress(OSError):
        return cluster.elected() == name
    return False


def elect_again(cluster: Cluster, elected: str, other: str) -> None:
    """The same member is the elected manager again, as before it handed over."""
    cluster.ask(f"{VOTING}?node_names={other}", "POST")
    until("the first to be elected again", lambda: elects(cluster, elected), END)
    cluster.ask(f"{VOTING}?wait_for_removal=false", "DELETE")


def test_two_managers_hand_over_and_killed_at_each_act_of_it_the_next_run_goes_on(
    lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    """Of two only the elected one votes, and no one has consented to a standstill."""
    cluster = Cluster.start(lab, "hand-over", two_combined, FROM)
    try:
        elected = cluster.elected()
        seed(cluster.target, tmp_path, documents=1_000)
        upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment)
        with Traffic.start(cluster.target, tmp_path) as traffic:
            # The first member is down, and the workers of the run outlive it.
            assert upgrade_runs.killed_at("delete", after=True, kill=KILLS["SIGKILL to the controller"]), (
                upgrade_runs.outputs[-1]
            )
            # Exclusions that are left are taken back at the start of the next run, which is killed there, too.
            for act in ("exclude", "include"):
                assert upgrade_runs.killed_at(act, after=True, kill=kill_and_wait), (
                    f"no run came to {act}\n{upgrade_runs.outputs[-1]}"
                )
            assert cluster.excluded() == []
            # It has handed over by then, so that nothing would be left to see.
            other = cluster.elected()
            assert other != elected
            elect_again(cluster, elected, other)

            played = upgrade_runs.completed()
            report = traffic.stop()
        print(report.table())
        assert f"{elected} has handed over to {other}" in played.output
        report.keeps(KILLED)
        assert cluster.excluded() == []
        # The vote has gone over for good, although no one is excluded any more.
        assert len(cluster.voting()["last_committed_config"]) == 1
        assert cluster.elected() == other
        concluded(upgrade_runs, played)
    finally:
        cluster.remove()
