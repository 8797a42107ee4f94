# SPDX-License-Identifier: GPL-3.0-or-later
"""The elected manager hands over before its batch goes, on real servers; killed in between, nobody stays excluded."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import seven_members, three_combined, two_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import END, VOTING, Siege, concluded, kill_and_wait

FROM, TO = "2.19.6", "3.8.0"
NUMBERS = itertools.count(1)


def elects(cluster: Cluster, name: str) -> bool:
    """Whether it is elected; for a moment nobody is, and nobody answers."""
    with contextlib.suppress(OSError):
        return cluster.elected() == name
    return False


@pytest.fixture
def siege(request: pytest.FixtureRequest, lab: Lab, ansible_environment: Mapping[str, str]) -> Iterator[Siege]:
    layout = getattr(request, "param", three_combined)
    cluster = Cluster.start(lab, f"hand-over-{next(NUMBERS)}", layout, FROM)
    yield Siege.lay(cluster, TO, ansible_environment)
    cluster.remove()


def test_seven_members_go_in_three_batches_and_the_elected_one_hands_over(
    lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(lab, "hand-over", seven_members, FROM)
    try:
        elected = cluster.elected()
        seed(cluster.target, tmp_path, documents=1_000)
        siege = Siege.lay(cluster, TO, ansible_environment, upgrade_batching="disjoint")
        with Traffic.start(cluster.target, tmp_path) as traffic:
            with siege.running() as (wire, run):
                played = run.wait()
            traffic.stop()
        report = check(cluster.target, tmp_path)
        print(played.output, report.table(), sep="\n")

        assert played.code == 0, played.message
        cluster.is_upgraded(TO, report)
        assert len(re.findall(r"^PLAY \[Roll\]", played.output, re.M)) == 3
        assert "the elected manager hands over first" in played.output
        assert f"{elected} has handed over to " in played.output

        done = [(act.method, act.path.partition("?")[0]) for act in wire.acts]
        votes = [number for number, (_method, path) in enumerate(done) if path == VOTING]
        # The first removes none: it shows that what is excluded may be taken back.
        assert [done[number][0] for number in votes] == ["DELETE", "POST", "DELETE"]
        assert f"node_names={elected}" in wire.acts[votes[1]].path
        gone = next(
            number for number, (method, path) in enumerate(done) if method == "DELETE" and path.endswith(elected)
        )
        assert votes[-1] < gone
        assert cluster.excluded() == []
        until("all to vote", lambda: len(cluster.voting()["last_committed_config"]) == 3, END)
        assert siege.left_behind() == {}
    finally:
        cluster.remove()


@pytest.mark.parametrize("siege", [two_combined], indirect=True)
def test_two_managers_hand_over_and_killed_at_each_act_of_it_the_next_run_goes_on(siege: Siege, tmp_path: Path) -> None:
    """Of two only the elected one votes, and nobody has consented to a standstill."""
    cluster = siege.cluster
    elected = cluster.elected()
    seed(cluster.target, tmp_path, documents=1_000)
    with Traffic.start(cluster.target, tmp_path) as traffic:
        # Exclusions that are left are taken back at the beginning of the next run, which is killed there, too.
        for act in ("exclude", "include"):
            assert siege.killed_at(act, after=True, kill=kill_and_wait), f"no run came to {act}\n{siege.outputs[-1]}"
        assert cluster.excluded() == []
        # It has handed over by then, so that nothing would be left to see. It is elected again.
        other = cluster.elected()
        assert other != elected
        cluster.ask(f"{VOTING}?node_names={other}", "POST")
        until("the first to be elected again", lambda: elects(cluster, elected), END)
        cluster.ask(f"{VOTING}?wait_for_removal=false", "DELETE")

        played = siege.completed()
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(report.table())
    assert f"{elected} has handed over to {other}" in played.output
    assert report.loss is not None
    assert (report.loss.count, report.health["red"]) == (0, 0)
    assert cluster.excluded() == []
    # The vote has gone over for good, although nobody is excluded any more.
    assert len(cluster.voting()["last_committed_config"]) == 1
    assert cluster.elected() == other
    concluded(siege, played)
