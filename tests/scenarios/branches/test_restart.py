"""Processes are restarted while their pods stay: as many times as asked for, once for each request, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.waiting import moment
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.playbook import STATUS, play
from tests.scenarios.preconditions import POOL, index
from tests.scenarios.tasks import Tasks, step

pytestmark = pytest.mark.real_servers

MEMBERS = [f"{POOL}-{ordinal}" for ordinal in range(3)]
LAST = MEMBERS[-1]
RESTART = "stateful.upgrade.restart"
PREFIX = "upgrade.stateful/"


@pytest.fixture
def tasks(standing: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]) -> Tasks:
    standing.platform.apply(bound(RESTART_ROLE, standing.namespace))
    return Tasks(standing, tmp_path, ansible_environment)


def processes(cluster: Cluster) -> dict[str, str]:
    """Member → ephemeral id, which no other process has."""
    nodes = json.loads(cluster.ask("/_cluster/state/nodes"))["nodes"]
    return {node["name"]: node["ephemeral_id"] for node in nodes.values()}


def annotate(cluster: Cluster, name: str, **annotations: str) -> None:
    """Annotations by a person, or by a run that was killed."""
    found = {f"{PREFIX}{key.replace('_', '-')}": text for key, text in annotations.items()}
    with cluster.platform.client() as api:
        client.CoreV1Api(api).patch_namespaced_pod(name, cluster.namespace, {"metadata": {"annotations": found}})


def start_of(cluster: Cluster, name: str) -> str:
    """The name of the present start of a pod's container."""
    with cluster.platform.client() as api:
        pod: Any = client.CoreV1Api(api).read_namespaced_pod(name, cluster.namespace)
    return str(pod.status.container_statuses[0].container_id)


def marks(cluster: Cluster) -> dict[str, list[str]]:
    """The annotations of restarts, by pod."""
    with cluster.platform.client() as api:
        found: Any = [client.CoreV1Api(api).read_namespaced_pod(name, cluster.namespace).metadata for name in MEMBERS]
    return {each.name: [key for key in each.annotations or {} if key.startswith(PREFIX)] for each in found}


def of_restart(cluster: Cluster) -> dict[str, Any]:
    """The variables of the playbook, which has no version."""
    return {name: value for name, value in cluster.variables("").items() if name != "target_version"}


def options(cluster: Cluster, *batch: str, **more: Any) -> dict[str, Any]:
    return {"namespace": cluster.namespace, "pool": POOL, "batch": list(batch), "expected": MEMBERS, **more}


def test_one_process_is_restarted_once_and_its_pod_stays(standing: Cluster, tasks: Tasks) -> None:
    before, processes_before = standing.fingerprint(), processes(standing)
    with index(standing, "logs", shards=2, replicas=1):
        marked, again, planned, first, second = tasks.play(
            step("process_restart", **options(standing, LAST, state="scheduled")),
            step("process_restart", **options(standing, LAST, state="scheduled")),
            step("process_restart", check=True, **options(standing, LAST, allocation="restrict")),
            step("process_restart", **options(standing, LAST, allocation="restrict")),
            step("process_restart", **options(standing, LAST)),
        )
        (back,) = tasks.play(step("shard_allocation", state="restored"))
        standing.until_green()
    assert [each["changed"] for each in (marked, again, planned, first, second)] == [True, False, True, True, False]
    assert [member["action"] for member in (*first["members"], *second["members"])] == ["restarted", "untouched"]
    assert first["members"][0]["total_seconds"] > 0
    assert back["changed"]
    assert standing.fingerprint() == before
    after = processes(standing)
    assert {name for name in MEMBERS if after[name] != processes_before[name]} == {LAST}
    assert marks(standing) == {name: [] for name in MEMBERS}


def test_the_playbook_restarts_all_members_one_after_the_other(
    standing: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    standing.platform.apply(bound(RESTART_ROLE, standing.namespace))
    before, first = standing.fingerprint(), processes(standing)
    variables = of_restart(standing)
    planned = play(RESTART, variables, ansible_environment)
    assert planned.code != 0
    assert "was not confirmed" in planned.message
    assert processes(standing) == first
    digest = re.search(r"Plan (p\w{11})", planned.output)
    assert digest, planned.output
    done = play(RESTART, {**variables, "upgrade_confirm": digest[1]}, ansible_environment)
    print(done.output)
    assert done.code == 0, done.message
    assert "3 restarted" in done.output
    standing.until_green()
    assert standing.fingerprint() == before
    after = processes(standing)
    assert {name for name in MEMBERS if after[name] == first[name]} == set()
    assert marks(standing) == {name: [] for name in MEMBERS}
    # A consent covers one request once, whether by a whole run or by the next pass of a timer.
    again = play(RESTART, {**variables, "upgrade_confirm": digest[1], "upgrade_wait": False}, ansible_environment)
    assert again.code == 0, again.message
    assert "Nothing to do" in again.output, again.output
    assert processes(standing) == after
    another = play(RESTART, variables, ansible_environment)
    assert (another.code != 0, f"Plan {digest[1]}" in another.output) == (True, False), another.output
    assert processes(standing) == after


def test_a_restart_by_request_waits_for_its_start_and_is_carried_out_once(
    standing: Cluster, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    standing.platform.apply(bound(RESTART_ROLE, standing.namespace))
    first, request = processes(standing), tmp_path / "restart.yml"
    given = {**of_restart(standing), "upgrade_request": str(request), "upgrade_wait": False}
    request.write_text(f"type: restart\nupgrade_at: {moment(7_260)}\n")
    early = play(RESTART, given, environment)
    print(early.output)
    assert early.code == 0, early.message
    assert "The restart starts at " in early.output
    assert statistics(early)["upgrade_reasons"] == ["starts_later"]
    shown = play(STATUS, {**of_restart(standing), "upgrade_system": RESTART}, environment)
    assert "Pending, restart, starts " in shown.output, shown.output
    over = play(RESTART, {**given, "upgrade_request": "", "upgrade_at": moment(-120), "upgrade_window": 1}, environment)
    assert "The window for the start of the restart ended at" in over.message
    assert (processes(standing), marks(standing)) == (first, {name: [] for name in MEMBERS})
    request.write_text(f"type: restart\nupgrade_at: {moment(-5)}\n")
    digest = re.search(r"Plan (p\w{11})", early.output)
    assert digest, early.output
    done = play(RESTART, {**given, "upgrade_wait": True, "upgrade_confirm": digest[1]}, environment)
    print(done.output)
    assert done.code == 0, done.message
    after = processes(standing)
    assert {name for name in MEMBERS if after[name] == first[name]} == set()
    again = play(RESTART, given, environment)
    assert statistics(again)["upgrade_reasons"] == ["request_carried_out"], again.output
    assert processes(standing) == after


def test_those_that_are_marked_go_and_no_others(standing: Cluster, ansible_environment: Mapping[str, str]) -> None:
    """A run was killed after its mark and before its signal, and a person has asked for one more."""
    standing.platform.apply(bound(RESTART_ROLE, standing.namespace))
    first, other, killed = processes(standing), *(name for name in MEMBERS if name != standing.elected())
    annotate(standing, other, restart_phase="schedule-rolling")
    annotate(
        standing,
        killed,
        restart_phase="stop",
        restart_process=start_of(standing, killed),
        restart_member=first[killed],
        restart_run="of-before",
    )
    variables = of_restart(standing)
    status = play("stateful.upgrade.status", variables, ansible_environment)
    assert f"The restart of {killed} has started and is not complete (phase stop)." in status.output, status.output
    of_upgrades = play("stateful.upgrade.settle", variables, ansible_environment)
    assert of_upgrades.code == 0, of_upgrades.message
    assert f"The restart of {killed} has started and is not complete (phase stop)." in of_upgrades.output
    of_system = {**variables, "upgrade_system": "stateful.upgrade.restart"}
    settled = play("stateful.upgrade.settle", of_system, ansible_environment)
    assert settled.code == 0, settled.message
    assert f"The restart of {killed} was interrupted in phase stop. Its process runs" in settled.output, settled.output
    assert processes(standing) == first
    planned = play("stateful.upgrade.plan", of_system, ansible_environment)
    assert planned.code == 0, planned.message
    rows = re.findall(r"^  (\d)   (\S+)", planned.output, re.M)
    assert rows == [("1", killed), ("2", other)], planned.output
    digest = re.search(r"Plan (p\w{11})", planned.output)
    assert digest, planned.output
    done = play(RESTART, {**variables, "upgrade_confirm": digest[1]}, ansible_environment)
    assert done.code == 0, done.message
    assert "2 restarted" in done.output
    standing.until_green()
    after = processes(standing)
    assert {name for name in MEMBERS if after[name] != first[name]} == {killed, other}
    assert marks(standing) == {name: [] for name in MEMBERS}
