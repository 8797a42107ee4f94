# SPDX-License-Identifier: GPL-3.0-or-later
"""Upgrades of real clusters whose members are processes on plain hosts, by tasks that the user gives."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.fixtures import lab_directory
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.hosts.cluster import COMBINED, HostCluster
from tests.scenarios.playbook import Played, play
from tests.scenarios.restless import Restless

PLAYBOOK = "stateful.upgrade.opensearch_hosts"
FROM, TO = "2.19.6", "3.8.0"


@pytest.fixture
def cluster() -> Iterator[HostCluster]:
    cluster = HostCluster.start(lab_directory(), {"search": [COMBINED] * 3}, FROM)
    yield cluster
    cluster.remove()


def digest(cluster: HostCluster, environment: Mapping[str, str], variables: Mapping[str, Any]) -> str:
    """The plan's, as the check mode shows it."""
    checked = play(PLAYBOOK, variables, environment, "-i", str(cluster.inventory()), "--check")
    assert checked.code == 0, checked.output
    found = re.search(r", plan (p[0-9a-f]{11})", checked.output)
    assert found is not None, checked.output
    return found[1]


def upgrade(cluster: HostCluster, environment: Mapping[str, str], **more: Any) -> Played:
    """Look at the plan, consent to it, and carry it out."""
    variables = cluster.variables(TO, **more)
    confirmed = {**variables, "upgrade_confirm": digest(cluster, environment, variables)}
    return play(PLAYBOOK, confirmed, environment, "-i", str(cluster.inventory()))


def left_behind(cluster: HostCluster) -> tuple[Any, Any]:
    """Settings and lock: nothing of either after a run."""
    settings = json.loads(cluster.ask("/_cluster/settings"))
    locks = json.loads(cluster.ask("/_component_template"))["component_templates"]
    return settings, [each["name"] for each in locks if each["name"].startswith("stateful-upgrade")]


def elected_of(cluster: HostCluster) -> str:
    """The name of the elected manager."""
    (elected,) = json.loads(cluster.ask("/_cat/cluster_manager?format=json"))
    return str(elected["node"])


NOTHING: tuple[Any, Any] = ({"persistent": {}, "transient": {}}, [])


def test_nothing_is_lost(cluster: HostCluster, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    seed(cluster.target, tmp_path, documents=1_000)
    with Traffic.start(cluster.target, tmp_path) as traffic:
        played = upgrade(cluster, ansible_environment)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(played.output, report.table(), sep="\n")

    assert played.code == 0, played.message
    assert set(cluster.versions().values()) == {TO}
    assert report.loss is not None
    assert report.loss.acknowledged > 1_000
    assert report.unharmed
    assert left_behind(cluster) == NOTHING
    shown = play("stateful.upgrade.status", cluster.variables(TO), ansible_environment)
    print(shown.output)
    assert shown.code == 0, shown.message
    for said in (
        f": Completed, to {TO}, ",
        f"deployed {TO}",
        "pool search: upgraded",
        "Nobody is at work on this cluster",
    ):
        assert said in shown.output
    assert len(re.findall(r"done +search-\d, \d+(?:\.\d)? s", shown.output)) == 3
    private = {stat.S_IMODE(path.stat().st_mode) for path in (cluster.directory / "records").iterdir()}
    assert private == {0o600}

    again = play(PLAYBOOK, cluster.variables(TO), ansible_environment, "-i", str(cluster.inventory()))
    assert again.code == 0, again.message
    assert set(again.changed.values()) == {0}


def test_indices_made_all_along_hold_no_batch_up(cluster: HostCluster, ansible_environment: Mapping[str, str]) -> None:
    with Restless(cluster.ask) as users:
        played = upgrade(cluster, ansible_environment)
    print(played.output)
    print(f"{len(users.made)} indices made, {played.output.count('Count how often')} attempts in vain")
    assert played.code == 0, played.message
    assert users.made
    assert set(cluster.versions().values()) == {TO}
    assert left_behind(cluster) == NOTHING
    cluster.until_green()


def test_what_fails_stops_the_run_and_is_gone_on_with(
    cluster: HostCluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    seed(cluster.target, tmp_path, documents=1_000)
    with Traffic.start(cluster.target, tmp_path) as traffic:
        every = [f"es-{member}" for member in cluster.addresses]
        unprepared = upgrade(cluster, ansible_environment, lab_without_package=every)
        assert unprepared.code != 0
        assert "There is no package of version 3.8.0." in unprepared.message
        assert set(cluster.versions().values()) == {FROM}

        second = re.findall(r"\d\. (search-\d) \(", unprepared.output)[1]
        stopped = upgrade(cluster, ansible_environment, lab_broken_package=[f"es-{second}"])
        print(stopped.output)
        assert stopped.code != 0
        assert f"es-{second}, Install OpenSearch:" in stopped.message
        assert sorted(cluster.versions().values()) == [FROM, TO]  # the second is down, the third as it was
        assert cluster.host(second).process is None
        assert left_behind(cluster) == NOTHING

        for beside in ("status", "settle", "abort"):
            said = play(f"stateful.upgrade.{beside}", cluster.variables(TO), ansible_environment)
            assert said.code == 0, said.message
            assert ("Nobody is at work" if beside == "status" else "Everything is put back.") in said.output
            if beside == "status":
                assert f": Upgrading, to {TO}, " in said.output
                assert f"Stopped at batch-02.{second}" in said.output
                assert f"failed   {second}" in said.output
            assert left_behind(cluster) == NOTHING

        gone_on = upgrade(cluster, ansible_environment)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(gone_on.output, report.table(), sep="\n")
    assert gone_on.code == 0, gone_on.message
    assert set(cluster.versions().values()) == {TO}
    assert report.unharmed
    assert left_behind(cluster) == NOTHING


def test_members_go_together_and_one_out_of_reach_stops_the_run(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    """Of two managers only the elected one votes, and nobody has consented to a standstill."""
    layout = {"search": [("data", "ingest")] * 2 + [("cluster_manager",)] * 2}
    cluster = HostCluster.start(lab_directory(), layout, FROM)
    try:
        seed(cluster.target, tmp_path, documents=1_000)
        elected = elected_of(cluster)
        with Traffic.start(cluster.target, tmp_path) as traffic:
            # It is lost while it is stopped: Ansible drops the host, and no rescue of its own is run.
            lost = upgrade(cluster, ansible_environment, lab_lost=["es-search-1"], upgrade_batching="disjoint")
            print(lost.output)
            assert lost.code != 0
            assert "es-search-1 could not be reached any more." in lost.message
            assert "2 members without whom every shard keeps a copy" in lost.output
            assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
            assert left_behind(cluster) == NOTHING
            assert elected_of(cluster) == elected

            # Somebody repairs it while the next run has begun, with the new version.
            gone_on = upgrade(
                cluster,
                ansible_environment,
                lab_upgraded_by_another=["es-search-1"],
                upgrade_batching="disjoint",
            )
            traffic.stop()
        report = check(cluster.target, tmp_path)
        print(gone_on.output, report.table(), sep="\n")
        assert gone_on.code == 0, gone_on.message
        assert "the elected manager goes last, and hands over first" in gone_on.output
        assert "Somebody else has upgraded search-1: " in gone_on.output
        assert re.search(r"search-1 +upgraded by somebody else", gone_on.output)
        assert gone_on.changed["es-search-1"] == 2  # what the other one did, and no step of the run
        assert f"{elected} has handed over to {elected_of(cluster)}" in gone_on.output
        assert set(cluster.versions().values()) == {TO}
        assert report.unharmed
        # The vote has gone over for good, although nobody is excluded any more.
        voting = json.loads(cluster.ask("/_cluster/state/metadata?filter_path=metadata.cluster_coordination"))
        coordination = voting["metadata"]["cluster_coordination"]
        assert len(coordination["last_committed_config"]) == 1
        assert coordination.get("voting_config_exclusions", []) == []
        assert left_behind(cluster) == NOTHING
    finally:
        cluster.remove()
