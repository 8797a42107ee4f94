"""One real cluster: the checks of the gates (full disks, a running snapshot, long tasks, an index that stays yellow),
settings that are put back by hand as docs/running.md says, and one that the new version does not know."""

from __future__ import annotations

import contextlib
import json
import secrets
import tempfile
import urllib.error
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Report, Traffic, seed
from tests.lab.traffic.budgets import SINGLE_COPIES
from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, Cluster
from tests.scenarios.documented import curl_lines, sample_of, send
from tests.scenarios.fault_proxy import Trap
from tests.scenarios.interruptions import ACTS, VOTING, UpgradeRuns
from tests.scenarios.playbook import PLAN, Played, play
from tests.scenarios.preconditions import POOL, index
from tests.scenarios.tasks import Result, Tasks, step

pytestmark = pytest.mark.soak
FROM, TO = "2.19.6", "3.8.0"
MEMBERS = [f"{POOL}-{ordinal}" for ordinal in range(3)]
DISK = "cluster.routing.allocation.disk"
WATERMARK = f"{DISK}.watermark"
ROOMY = {f"{WATERMARK}.low": "99.7%", f"{WATERMARK}.high": "99.8%", f"{WATERMARK}.flood_stage": "99.9%"}
"""Watermarks that the disk of no machine which runs these tests is above."""
FULL = {**ROOMY, f"{WATERMARK}.low": "0.1%"}
"""Watermarks of which every disk in the world is above the first."""
FORGOTTEN = "compatibility.override_main_response_version"
"""A setting of 2.19 that 3.0 has taken away."""


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    """A folder that all members can write to, for a snapshot repository."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o777)  # the members are another user
        yield folder


@pytest.fixture(scope="module")
def cluster(lab: Lab, repository: Path) -> Iterator[Cluster]:
    """Three members that heed the watermarks of the disk, and may write snapshots."""
    settings = {"path.repo": str(repository), f"{DISK}.threshold_enabled": "true", **ROOMY}
    cluster = Cluster.start(lab, "gate-checks", three_combined, FROM, settings=settings)
    yield cluster
    cluster.remove()


@pytest.fixture
def tasks(cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]) -> Tasks:
    """Plays tasks against the cluster."""
    return Tasks(cluster, tmp_path, ansible_environment)


def said(result: Result) -> list[tuple[str, str]]:
    """The reasons of a verdict: state and code; a manager that is busy on a slow machine is none of the test's, nor
    are remarks on the last snapshot.

    Each test asks for all of them, and so shows that what was wrong in the one before it is no longer wrong.
    """
    reasons = [(reason["state"], reason["code"]) for reason in result["verdict"]["reasons"]]
    return [
        (state, code)
        for state, code in reasons
        if code not in {"tasks_pending", "no_snapshot", "last_snapshot", "disk_after_loss"}
    ]


def sentences(result: Result, code: str) -> list[str]:
    """The sentences under a code."""
    return [reason["message"] for reason in result["verdict"]["reasons"] if reason["code"] == code]


@contextlib.contextmanager
def full_disks(cluster: Cluster) -> Iterator[None]:
    """Every disk is above the low watermark, for a while."""
    cluster.ask("/_cluster/settings", "PUT", {"persistent": FULL})
    try:
        yield
    finally:
        cluster.ask("/_cluster/settings", "PUT", {"persistent": dict.fromkeys(FULL)})
        cluster.ask("/_cluster/reroute", "POST")


def holder(cluster: Cluster, name: str) -> str:
    """The id of the member with the replica of shard 0."""
    table = json.loads(cluster.ask(f"/_cluster/state/routing_table/{name}"))["routing_table"]["indices"]
    return str(next(copy["node"] for copy in table[name]["shards"]["0"] if not copy["primary"]))


def test_above_the_low_watermark_a_member_gets_its_replicas_not_back(cluster: Cluster, tasks: Tasks) -> None:
    """The reason for the check `disk`: a member gets no replica back, even if it has kept the files of it."""
    with index(cluster, "kept", shards=1, replicas=1), full_disks(cluster):
        cancel = {"index": "kept", "shard": 0, "node": holder(cluster, "kept")}
        cluster.ask("/_cluster/reroute", "POST", {"commands": [{"cancel": cancel}]})
        gate = tasks.one("cluster_health_gate", moment="after_upgrade", expected=MEMBERS, target_version=FROM)
    (message,) = sentences(gate, "unassigned")
    assert "The replica of kept[0] fits on none of the 3 data members" in message
    assert "disk_threshold on 3" in message


def test_a_setting_that_the_target_does_not_know_is_named_where_it_is_set(cluster: Cluster, tasks: Tasks) -> None:
    """An index that has it is refused: with 3.8.0 its replica failed on the upgraded member, and stayed away."""
    look: dict[str, Any] = {"moment": "before_upgrade", "expected": MEMBERS, "target_version": TO}
    extensions = {"index.store.hybrid.mmap.extensions": ["nvd"]}
    with index(cluster, "mapped", shards=1, replicas=1):
        cluster.ask("/mapped/_close", "POST")
        cluster.ask("/mapped/_settings", "PUT", extensions)
        cluster.ask("/mapped/_open", "POST")
        refused = tasks.one("cluster_health_gate", **look)
        cluster.ask("/mapped/_close", "POST")
        cluster.ask("/mapped/_settings", "PUT", dict.fromkeys(extensions))
        cluster.ask("/mapped/_open", "POST")
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {FORGOTTEN: "false"}})
        passes = tasks.one("cluster_health_gate", **look)
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {FORGOTTEN: None}})
    assert said(refused) == [("refused", "index_setting_removed")]
    assert "index.store.hybrid.mmap.extensions: mapped." in sentences(refused, "index_setting_removed")[0]
    assert said(passes) == [("passed", "cluster_setting_removed")]
    assert FORGOTTEN in sentences(passes, "cluster_setting_removed")[0]


def test_members_above_a_watermark_are_refused_by_name(cluster: Cluster, tasks: Tasks) -> None:
    look: dict[str, Any] = {"moment": "before_upgrade", "expected": MEMBERS, "target_version": TO}
    with full_disks(cluster):
        refuses, skips = tasks.play(
            step("cluster_health_gate", **look), step("cluster_health_gate", **look, skip_checks=["disk"])
        )
    assert said(refuses) == [("refused", "disk_watermark")]
    (message,) = sentences(refuses, "disk_watermark")
    for word in (*MEMBERS, "low watermark", "(0.1%)", "% used", "GiB free"):
        assert word in message
    assert said(skips) == [("passed", "check_skipped")]


@contextlib.contextmanager
def snapshot(cluster: Cluster, repository: Path, name: str) -> Iterator[None]:
    """A snapshot of that index that lasts, while the block does."""
    slow = {"type": "fs", "settings": {"location": str(repository), "max_snapshot_bytes_per_sec": "10kb"}}
    cluster.ask("/_snapshot/slow", "PUT", slow)
    for _number in range(20):
        cluster.ask(f"/{name}/_doc", "POST", {"text": secrets.token_hex(100_000)})
    cluster.ask("/_snapshot/slow/night?wait_for_completion=false", "PUT", {"indices": name})
    try:
        yield
    finally:
        cluster.ask("/_snapshot/slow/night", "DELETE")
        cluster.ask("/_snapshot/slow", "DELETE")


def test_a_running_snapshot_is_waited_for_by_name(cluster: Cluster, tasks: Tasks, repository: Path) -> None:
    def gate(moment: str, batch: int | None = None, **options: Any) -> Any:
        own: dict[str, Any] = {} if batch is None else {"batch": [MEMBERS[batch]]}
        return step("cluster_health_gate", moment=moment, expected=MEMBERS, target_version=TO, **own, **options)

    with index(cluster, "logs", shards=1, replicas=1), snapshot(cluster, repository, "logs"):
        table = json.loads(cluster.ask("/_cluster/state/routing_table,nodes/logs"))
        copies = table["routing_table"]["indices"]["logs"]["shards"]["0"]
        source = table["nodes"][next(copy["node"] for copy in copies if copy["primary"])]["name"]
        waits, gives_up, skips, *batches = tasks.play(
            gate("before_upgrade", wait=False),
            gate("before_upgrade", wait_timeout=1),
            gate("before_upgrade", skip_checks=["snapshots"]),
            *(gate("before_batch", number, wait=False) for number in range(3)),
        )
    assert said(waits) == [("waiting", "snapshot_running")]
    assert said(gives_up) == [("refused", "snapshot_running"), ("refused", "timed_out")]
    assert said(skips) == [("passed", "check_skipped")]
    (message,) = sentences(waits, "snapshot_running")
    assert message == f"Snapshot slow/night is being taken: logs[0] still to be written on {source}."
    assert [said(each) for each in batches] == [
        [("waiting", "snapshot_running")] if name == source else [] for name in MEMBERS
    ]


def reindex(cluster: Cluster, name: str) -> str:
    """Starts to copy that index, one document in ten seconds; gives the task's id."""
    for number in range(20):
        cluster.ask(f"/{name}/_doc/{number}?refresh=true", "PUT", {"number": number})
    body = {"source": {"index": name, "size": 1}, "dest": {"index": f"{name}-copied"}}
    answer = cluster.ask("/_reindex?requests_per_second=0.1&wait_for_completion=false", "POST", body)
    return str(json.loads(answer)["task"])


def end(cluster: Cluster, task: str) -> None:
    """End the task as the remedy says."""
    cluster.ask(f"/_tasks/{task}/_cancel", "POST")


def test_a_long_task_is_waited_for_by_name(cluster: Cluster, tasks: Tasks) -> None:
    look: dict[str, Any] = {"expected": MEMBERS, "target_version": TO}
    with index(cluster, "busy", shards=1, replicas=1):
        task = reindex(cluster, "busy")
        waits, gives_up, skips, batch = tasks.play(
            step("cluster_health_gate", moment="before_upgrade", wait=False, **look),
            step("cluster_health_gate", moment="before_upgrade", wait_timeout=1, **look),
            step("cluster_health_gate", moment="before_upgrade", skip_checks=["tasks"], **look),
            step("cluster_health_gate", moment="before_batch", batch=MEMBERS[:1], wait=False, **look),
        )
        end(cluster, task)
    assert said(waits) == said(batch) == [("waiting", "long_task")]
    assert said(gives_up) == [("refused", "long_task"), ("refused", "timed_out")]
    assert said(skips) == [("passed", "check_skipped")]
    (message,) = sentences(waits, "long_task")
    assert "A task that a restart would end runs on " in message
    assert f"(reindex, task {task}): reindex from [busy] to [busy-copied]" in message
    assert f"POST _tasks/{task}/_cancel" in gives_up["msg"]


def test_the_commands_of_the_documentation_put_everything_back(cluster: Cluster, tasks: Tasks) -> None:
    before = cluster.fingerprint()
    look, write, vote = curl_lines()
    tasks.play(
        step("shard_allocation", state="prepared", rebalance="none"), step("shard_allocation", state="restricted")
    )
    other = next(name for name in MEMBERS if name != cluster.elected())
    cluster.ask(f"{VOTING}?node_names={other}", "POST")
    assert cluster.excluded() == [other]

    undo, shown = json.loads(send(cluster, look)), sample_of(look)
    assert undo["changes"] == shown["changes"]
    assert shown.keys() <= undo.keys()
    send(cluster, vote)
    send(cluster, write)

    assert cluster.excluded() == []
    assert cluster.fingerprint() == before


def test_with_consent_to_yellow_and_single_copies_a_run_goes_on_and_a_task_begun_meanwhile_is_waited_for(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    """Upgrades the cluster, so that only what comes after an upgrade can come after it."""
    seed(cluster.target, tmp_path, documents=1_000)
    cluster.ask("/traffic-0/_settings", "PUT", {"index": {"number_of_replicas": 0}})
    cluster.until_green()
    pin(cluster)
    with full_disks(cluster):
        plan = play(PLAN, cluster.variables(TO), ansible_environment)
    assert plan.code != 0
    assert f"raise {WATERMARK}.low" in plan.message
    for word in ("The replica of pinned[0] fits on none of the 3 data members", "filter on 1", "same_shard on 2"):
        assert word in plan.message
    assert "traffic-0[0]" in plan.message

    settings = cluster.fingerprint().settings
    cluster.ask("/_cluster/settings", "PUT", {"persistent": {FORGOTTEN: "false"}})
    consent: dict[str, Any] = {"upgrade_skip_checks": ["unassigned"], "upgrade_allow_single_copy": True}
    upgrade_runs, begun = UpgradeRuns.begin(cluster, TO, ansible_environment, **consent), list[str]()
    method, path, holds = ACTS["restore"]
    with Traffic.start(cluster.target, tmp_path) as traffic:
        with upgrade_runs.running(upgrade_archived="refuse") as (proxy, run):
            proxy.trap = Trap(
                method, path, after=True, spring=lambda: begun.append(reindex(cluster, "meanwhile")), holds=holds
            )

            def waits() -> bool:
                """The lock says what the run does."""
                return any("reindex from [meanwhile]" in json.dumps(act.body) for act in proxy.acts)

            until("the run to wait for the task", waits, BOOT)
            end(cluster, *begun)
            stopped = run.wait()
        print(stopped.output)
        assert any(f", task {begun[0]})" in json.dumps(act.body) for act in proxy.acts), "the lock names the task"
        assert "Note: The check unassigned was not made before the upgrade (upgrade_skip_checks)." in stopped.output
        is_refused_with_a_setting_that_is_forgotten(cluster, stopped)
        finished = upgrade_runs.completed()
        report = traffic.stop()
    print(finished.output, report.table(), sep="\n")
    assert finished.code == 0, finished.message
    assert f"{FORGOTTEN} = 'false' is unknown to the version that runs" in finished.output
    assert "Note: The check unassigned was not made after the upgrade (upgrade_skip_checks)." in finished.output
    assert set(cluster.versions().values()) == {TO}
    assert cluster.fingerprint().settings == settings
    assert cluster.health()["status"] == "yellow"
    assert json.loads(cluster.ask("/_cluster/health/traffic-*"))["status"] == "green"
    is_there_again(report)


def is_there_again(report: Report) -> None:
    """Fails unless there were single copies that were away with their member, and nothing of them is lost."""
    assert report.health["red"] > 0
    report.keeps(SINGLE_COPIES)


def pin(cluster: Cluster) -> None:
    """Make an index of three copies for which there are two members."""
    pinned = {"number_of_shards": 1, "number_of_replicas": 2, "index.routing.allocation.exclude._name": MEMBERS[2]}
    cluster.ask("/pinned", "PUT", {"settings": pinned})
    until("two copies of it", lambda: len(started(cluster, "pinned")) == 2, BOOT)


def is_refused_with_a_setting_that_is_forgotten(cluster: Cluster, stopped: Played) -> None:
    """The run named the setting and stopped, and the server takes no change as long as it is there."""
    assert stopped.code != 0
    assert f"archived.{FORGOTTEN} (persistent)" in stopped.output
    with pytest.raises(urllib.error.HTTPError) as refused:
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {"cluster.metadata.owner": "team search"}})
    assert FORGOTTEN in refused.value.read().decode(), "a server that takes changes needs nothing of this"


def started(cluster: Cluster, name: str) -> list[str]:
    """The members with a started copy of shard 0."""
    shards = json.loads(cluster.ask(f"/_cat/shards/{name}?format=json"))
    return [each["node"] for each in shards if each["state"] == "STARTED"]
