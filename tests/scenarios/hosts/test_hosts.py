"""Upgrades of real clusters whose members are processes on plain hosts, by tasks that the user gives."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.fixtures import lab_directory
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import HOSTS, INDEX_LOAD
from tests.scenarios.hosts.cluster import COMBINED, HostCluster
from tests.scenarios.index_load import IndexLoad
from tests.scenarios.playbook import Played, play

PLAYBOOK = "stateful.upgrade.opensearch_hosts"
FROM, TO = "2.19.6", "3.8.0"


def consented(cluster: HostCluster, environment: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """The variables of an upgrade, with consent to its plan as the check mode shows it: once, for all its runs."""
    variables = cluster.variables(TO, **more)
    checked = play(PLAYBOOK, variables, environment, "-i", str(cluster.inventory()), "--check")
    assert checked.code == 0, checked.output
    found = re.search(r"^Plan (p[0-9a-f]{11})   ", checked.output, re.MULTILINE)
    assert found is not None, checked.output
    return {**variables, "upgrade_confirm": found[1]}


def run(cluster: HostCluster, environment: Mapping[str, str], variables: Mapping[str, Any], **more: Any) -> Played:
    """One run of the playbook."""
    played = play(PLAYBOOK, {**variables, **more}, environment, "-i", str(cluster.inventory()))
    print(played.output)
    return played


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


def test_nothing_is_lost_and_indices_made_all_along_hold_no_batch_up(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = HostCluster.start(lab_directory(), {"search": [COMBINED] * 3}, FROM)
    try:
        seed(cluster.target, tmp_path, documents=1_000)
        variables = consented(cluster, ansible_environment)
        with Traffic.start(cluster.target, tmp_path) as traffic:
            with IndexLoad(cluster.ask) as users:
                played = run(cluster, ansible_environment, variables)
            report = traffic.stop()
        print(report.table())
        print(f"{len(users.made)} indices made, {played.output.count('Count how often')} attempts in vain")

        assert played.code == 0, played.message
        assert set(cluster.versions().values()) == {TO}
        assert users.made
        assert report.loss is not None
        assert report.loss.acknowledged > 1_000
        report.keeps(INDEX_LOAD)
        assert left_behind(cluster) == NOTHING
        cluster.until_green()
        shown = play("stateful.upgrade.status", cluster.variables(TO), ansible_environment)
        print(shown.output)
        assert shown.code == 0, shown.message
        for said in (
            f": Completed, to {TO}, ",
            f"deployed {TO}",
            "pool search: upgraded",
            "No run is active on this cluster",
        ):
            assert said in shown.output
        assert len(re.findall(r"done +search-\d, \d+(?:\.\d)? s", shown.output)) == 3
        private = {stat.S_IMODE(path.stat().st_mode) for path in (cluster.directory / "records").iterdir()}
        assert private == {0o600}

        again = run(cluster, ansible_environment, cluster.variables(TO))
        assert again.code == 0, again.message
        assert set(again.changed.values()) == {0}
    finally:
        cluster.remove()


@pytest.mark.soak
def test_members_go_together_and_what_fails_or_is_out_of_reach_stops_the_run(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    """Of two managers only the elected one votes, and no one has consented to a standstill."""
    layout = {"search": [("data", "ingest")] * 2 + [("cluster_manager",)] * 2}
    cluster = HostCluster.start(lab_directory(), layout, FROM)
    try:
        seed(cluster.target, tmp_path, documents=1_000)
        elected = elected_of(cluster)
        variables = consented(cluster, ansible_environment, upgrade_batching="disjoint")
        with Traffic.start(cluster.target, tmp_path) as traffic:
            nothing_goes_without_a_package(cluster, ansible_environment, variables)

            # It is lost while it is stopped: Ansible drops the host, and no rescue of its own is run.
            lost = run(cluster, ansible_environment, variables, lab_lost=["es-search-1"])
            assert lost.code != 0
            assert "es-search-1 could not be reached any more." in lost.message
            assert "2 members without whom every shard keeps a copy" in lost.output
            assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
            assert left_behind(cluster) == NOTHING
            assert elected_of(cluster) == elected

            # A person repairs it while the next run has started, with the new version; then a package is broken.
            faults = {"lab_upgraded_by_another": ["es-search-1"], "lab_broken_package": ["es-search-0"]}
            stopped = run(cluster, ansible_environment, variables, **faults)
            assert stopped.code != 0
            assert "Someone else has upgraded search-1: " in stopped.output
            assert re.search(r"search-1 +upgraded by someone else", stopped.output)
            assert stopped.changed["es-search-1"] == 2  # what the other one did, and no step of the run
            assert "es-search-0, Install OpenSearch:" in stopped.message
            # The member with the broken package is down, and the elected manager is the same.
            assert sorted(cluster.versions().values()) == [FROM, TO, TO]
            assert cluster.host("search-0").process is None
            assert left_behind(cluster) == NOTHING
            beside_a_run_that_stopped(cluster, ansible_environment, "batch-02.search-0")

            gone_on = run(cluster, ansible_environment, variables)
            report = traffic.stop()
        print(report.table())
        assert gone_on.code == 0, gone_on.message
        assert re.search(r"the elected manager (goes last, and )?hands over first", gone_on.output)
        assert f"{elected} has handed over to {elected_of(cluster)}" in gone_on.output
        assert list(cluster.versions().values()) == [TO] * 4
        report.keeps(HOSTS)
        the_vote_has_gone_over_for_good(cluster)
        assert left_behind(cluster) == NOTHING
    finally:
        cluster.remove()


def nothing_goes_without_a_package(
    cluster: HostCluster, environment: Mapping[str, str], variables: Mapping[str, Any]
) -> None:
    """The tasks of the user find no package on any host, before a member is stopped."""
    every = [f"es-{member}" for member in cluster.addresses]
    refused = run(cluster, environment, variables, lab_without_package=every)
    assert refused.code != 0
    assert "There is no package of version 3.8.0." in refused.message
    assert set(cluster.versions().values()) == {FROM}


def the_vote_has_gone_over_for_good(cluster: HostCluster) -> None:
    """One votes, although no one is excluded any more."""
    state = json.loads(cluster.ask("/_cluster/state/metadata?filter_path=metadata.cluster_coordination"))
    coordination = state["metadata"]["cluster_coordination"]
    assert len(coordination["last_committed_config"]) == 1
    assert coordination.get("voting_config_exclusions", []) == []


def beside_a_run_that_stopped(cluster: HostCluster, environment: Mapping[str, str], batch: str) -> None:
    """The other playbooks report the run that stopped at this batch, and find nothing to put back.

    One of them aborts the upgrade, and the last one resumes it.
    """
    for beside in ("status", "settle", "abort"):
        said = play(f"stateful.upgrade.{beside}", cluster.variables(TO), environment)
        print(said.output)
        assert said.code == 0, said.message
        assert ("No run is active" if beside == "status" else "Nothing to put back.") in said.output
        if beside == "status":
            assert f": Upgrading, to {TO}, " in said.output
            assert f"Stopped at {batch}" in said.output
            assert re.search(rf"failed +{batch.partition('.')[2]}", said.output)
        assert left_behind(cluster) == NOTHING
    assert play("stateful.upgrade.resume", cluster.variables(TO), environment).code == 0
