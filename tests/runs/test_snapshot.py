"""The snapshot of an upgrade in whole runs: before the first batch, taken once, and named where people look."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.world import CalledCluster, World, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, PLAYBOOK

FROM, TO = "2.19.6", "3.8.0"
REPORT, STATUS = "stateful.upgrade.report", "stateful.upgrade.status"
ATTEMPTS = 3
SLOW = {"type": "fs", "settings": {"location": "/snapshots/backup", "max_snapshot_bytes_per_sec": "1kb"}}


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


@pytest.fixture
def cluster(here: World) -> CalledCluster:
    """A cluster with two indices and a slow repository."""
    made = here.cluster(FROM, settings={"path.repo": "/snapshots"})
    made.ask("/_snapshot/backup", "PUT", SLOW)
    for name in ("orders", "logs"):
        made.ask(f"/{name}", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 1}})
        for number in range(10):
            made.ask(f"/{name}/_doc/{number}", "PUT", {"text": "x" * 500})
    made.until_green()
    return made


def snapshots(cluster: CalledCluster) -> list[dict[str, Any]]:
    """Those of the repository."""
    found: list[dict[str, Any]] = json.loads(cluster.ask("/_snapshot/backup/_all"))["snapshots"]
    return found


def given(cluster: CalledCluster) -> dict[str, Any]:
    return {**cluster.variables(TO), "upgrade_snapshot": "backup"}


def order(here: World, start: int) -> list[str]:
    """The snapshots and the first deletions of members, in the order of their requests."""
    acts = here.acts()[start:]
    made = [f"{method} {path}" for method, path in acts if "/_snapshot/backup/upgrade-" in path]
    first = next(
        n for n, (method, path) in enumerate(acts) if method == "DELETE" and "/pods/" in path and "pull" not in path
    )
    last = max(n for n, (_method, path) in enumerate(acts) if "/_snapshot/backup/upgrade-" in path)
    assert last < first, "the snapshot comes before the first batch"
    return made


def test_a_run_takes_it_before_its_first_batch_and_names_it(
    here: World, cluster: CalledCluster, tmp_path: Path
) -> None:
    planned = here.play(PLAN, given(cluster))
    assert "a snapshot of all indices and of the global state is taken and proven: backup/upgrade-" in planned.output
    assert "There is no way back" not in planned.output
    assert "stays: image of 1 pool, snapshot in backup" in planned.output
    assert snapshots(cluster) == []
    consent, start = here.confirmed(given(cluster)), len(here.acts())
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    (taken,) = snapshots(cluster)
    assert (taken["state"], sorted(taken["indices"])) == ("SUCCESS", ["logs", "orders"])
    assert len(order(here, start)) == 1
    sentence = f"Snapshot backup/{taken['snapshot']} holds 2 indices with 2 shards and the global state"
    assert sentence in done.output
    known = {name: consent[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    status = here.play(STATUS, known).output
    assert "step snapshot: completed" in status
    assert sentence in status
    file = tmp_path / "report.md"
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    assert sentence in file.read_text(encoding="utf-8")


def test_a_run_killed_behind_its_start_goes_on_with_the_same_one(here: World, cluster: CalledCluster) -> None:
    consent = here.confirmed(given(cluster))
    start = len(here.acts())
    assert (
        here.play(
            PLAYBOOK, {**consent, "upgrade_steps": [{"name": "snapshot", "timeout": 1}], "upgrade_wait": False}
        ).code
        == 0
    )
    (running,) = snapshots(cluster)
    assert running["state"] == "IN_PROGRESS"
    for _pass in range(2):
        again = here.play(PLAYBOOK, {**consent, "upgrade_wait": False})
        assert again.code == 0, again.output
    assert [each["snapshot"] for each in snapshots(cluster)] == [running["snapshot"]]
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert [each["snapshot"] for each in snapshots(cluster)] == [running["snapshot"]]
    assert len(order(here, start)) == 1


def test_each_kill_until_the_first_batch_leaves_one_snapshot(here: World, cluster: CalledCluster) -> None:
    consent, start = here.confirmed(given(cluster)), len(here.acts())
    killed = 0
    for number in range(1, 40):
        if here.killed_behind(number, consent) is not None:
            break
        killed += 1
        if snapshots(cluster):
            break
    assert killed
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert len(snapshots(cluster)) == 1
    assert len(order(here, start)) == 1


def test_one_that_is_partial_keeps_every_member_as_it_is(here: World, cluster: CalledCluster) -> None:
    consent, before = here.confirmed(given(cluster)), cluster.fingerprint()
    here.sandbox.members.clusters_in(cluster.namespace)[0].snapshots.failing = {"orders"}
    refused = here.play(PLAYBOOK, consent)
    assert refused.code != 0
    (partial,) = snapshots(cluster)
    assert f"Snapshot backup/{partial['snapshot']} is not a way back: it is PARTIAL" in refused.message
    after = cluster.fingerprint()
    assert (after.pods, after.settings) == (before.pods, before.settings)
    assert refused.message.endswith("Fix the cause, and run again: another one is taken.")
    again = here.play(PLAN, given(cluster))
    assert again.code == 0, again.output
    assert f"{partial['snapshot']}-2 takes its place" in again.output
    assert here.play(PLAYBOOK, consent).code != 0
    third = here.play(PLAYBOOK, consent)
    assert f"delete it (DELETE _snapshot/backup/{partial['snapshot']}-3)" in third.message
    assert len(snapshots(cluster)) == ATTEMPTS
    assert "snapshot_incomplete" in here.play(PLAN, given(cluster)).output
    assert cluster.fingerprint().pods == before.pods


def test_a_run_behind_one_that_is_partial_takes_another_one(here: World, cluster: CalledCluster) -> None:
    # Found by seed 167: a member went away, and each later run refused until a person had deleted the snapshot.
    consent, servers = here.confirmed(given(cluster)), here.sandbox.members.clusters_in(cluster.namespace)[0]
    servers.snapshots.failing = {"orders"}
    assert here.play(PLAYBOOK, consent).code != 0
    servers.snapshots.failing = set()
    (partial,) = snapshots(cluster)
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert [each["snapshot"] for each in snapshots(cluster)] == [partial["snapshot"], f"{partial['snapshot']}-2"]
    assert f"Snapshot backup/{partial['snapshot']}-2 holds 2 indices with 2 shards" in done.output


def test_one_that_a_policy_starts_as_a_batch_is_about_to_go_is_waited_for(here: World, cluster: CalledCluster) -> None:
    """A member that went then ended it PARTIAL: the gate, which waits for snapshots, was passed already."""
    # Each member has a primary of this index.
    cluster.ask("/spread", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
    for number in range(30):
        cluster.ask(f"/spread/_doc/{number}", "PUT", {"text": "x" * 500})
    cluster.until_green()
    consent, before = here.confirmed(cluster.variables(TO)), here.calling.after

    def start(request: Request) -> None:
        before(request)
        restricted = request.method == "PUT" and "cluster.routing.allocation.enable" in str(request.body)
        if restricted and not snapshots(cluster):
            cluster.ask("/_snapshot/backup/nightly", "PUT", {"partial": True})

    here.calling.after = start
    try:
        done = here.play(PLAYBOOK, consent)
    finally:
        here.calling.after = before
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert [(each["snapshot"], each["state"]) for each in snapshots(cluster)] == [("nightly", "SUCCESS")]
