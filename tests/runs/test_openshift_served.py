"""The playbooks that serve upgrades of OpenShift: pause, resume, points of approval, status, report, and its fleet."""

from __future__ import annotations

import contextvars
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.process import PlaybookCommand
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.process import Played as FleetPlayed

from tests.runs import direct, executor
from tests.runs.driver import BegunHere
from tests.runs.openshift import PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.openshift.asking import SMALL, history, pool
from tests.sandbox.openshift.habits import KIND
from tests.sandbox.openshift.kinds import VERSION, VERSIONS
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.web import Request
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import STATUS, Played

PAUSE, RESUME, APPROVE = "stateful.upgrade.pause", "stateful.upgrade.resume", "stateful.upgrade.approve"
ABORT, REPORT, FLEET = "stateful.upgrade.abort", "stateful.upgrade.report", "stateful.upgrade.fleet"
MASTERS = {"master-0", "master-1", "master-2"}
BETWEEN = 300
"""Seconds between two passes."""


class ServedOpenShift(CalledOpenShift):
    """An OpenShift with the playbooks that serve every upgrade."""

    def serve(self, playbook: str, **more: Any) -> Played:
        """The end of one of them, which succeeds."""
        given = self.variables()
        kept = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
        ended = self.here.play(playbook, {**kept, **SYSTEM, **more})
        assert ended.code == 0, ended.output
        return ended

    def passed(self, given: dict[str, Any]) -> Played:
        """A single pass, which succeeds, and the time until the next one."""
        ended = self.here.play(PLAYBOOK, {**given, **SYSTEM, "upgrade_wait": False})
        assert ended.code == 0, ended.output
        self.openshift.clock.advance(BETWEEN)
        return ended


def test_a_paused_upgrade_takes_no_worker_before_it_is_resumed(here: World) -> None:
    cluster = ServedOpenShift(here)
    given = cluster.agreed()
    while cluster.on_target() < MASTERS:
        cluster.passed(given)
    cluster.serve(PAUSE, upgrade_pause_reason="a disk is replaced")
    before = cluster.on_target()
    held = [cluster.passed(given) for _pass in range(2)]
    assert [codes(each) for each in held] == [["paused_on_request"]] * 2
    assert "a disk is replaced" in held[0].output
    assert cluster.on_target() == before
    assert cluster.paused() == ["worker"]
    assert "a disk is replaced" in cluster.serve(STATUS).output
    cluster.serve(RESUME)
    while '"upgrade_state": "done"' not in cluster.passed(given).output:
        assert cluster.paused() == ["worker"] or len(cluster.on_target()) > 4
    cluster.is_upgraded()


@pytest.mark.parametrize(("playbook", "code"), [(PAUSE, "paused_on_request"), (ABORT, "stopped_by_request")])
def test_a_run_at_work_ends_behind_the_control_plane_when_it_is_asked_to(here: World, playbook: str, code: str) -> None:
    cluster, asked = ServedOpenShift(here), list[BegunHere]()
    given = cluster.agreed()
    kept = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")} | SYSTEM

    def ask(request: Request) -> None:
        if not asked and request.method == "PATCH" and request.path == VERSIONS.path("", VERSION):
            asked.append(BegunHere(executor.a_run(), lambda shown: executor.play(playbook, kept, output=shown)))

    here.calling.after = ask
    stopped = here.play(PLAYBOOK, given)
    assert codes(stopped) == [code], stopped.output
    assert asked[0].wait() == 0, asked[0].output
    assert (cluster.on_target(), cluster.paused()) == (MASTERS, ["worker"])
    cluster.openshift.clock.advance(3600)
    assert cluster.on_target() == MASTERS
    cluster.serve(RESUME)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_the_workers_wait_for_an_approval_behind_the_control_plane(here: World) -> None:
    cluster = ServedOpenShift(here)
    given = cluster.agreed(upgrade_approvals=[{"name": "workers", "after": 1}])
    stopped = here.play(PLAYBOOK, given)
    assert stopped.code == 0, stopped.output
    assert codes(stopped) == ["approval_missing"]
    assert (cluster.on_target(), cluster.paused()) == (MASTERS, ["worker"])
    assert "workers" in cluster.serve(STATUS).output
    cluster.openshift.clock.advance(BETWEEN)
    assert codes(here.play(PLAYBOOK, given)) == ["approval_missing"]
    cluster.serve(APPROVE, upgrade_approval="workers")
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert "workers approved by " in cluster.serve(STATUS).output


def test_status_and_report_say_what_was_done_and_where_it_stopped(here: World, tmp_path: Path) -> None:
    cluster = ServedOpenShift(here)
    gate = tmp_path / "gate.yml"
    gate.write_text("- ansible.builtin.fail: {msg: not now}\n  when: \"'worker-1' in upgrade_batch.members\"\n")
    assert cluster.upgrade(upgrade_workload_gate=str(gate)).code != 0
    data, page = tmp_path / "report.json", tmp_path / "report.md"
    for path in (data, page):
        cluster.serve(REPORT, upgrade_report_path=str(path))
    report = json.loads(data.read_text())
    for said in ("not now", "master-0", "worker-0"):
        assert said in json.dumps(report)
        assert said in page.read_text()
    assert "schedule" not in page.read_text(), "no pod of a member was scheduled"
    status = cluster.serve(STATUS).output
    assert re.search(r"BatchesDone: in progress[^\n]* 2 of 4 done$", status, re.MULTILINE), status
    assert "Upgrading: Stopped at nodes-03 (ansible.builtin.fail)" in status
    assert "step ControlPlaneUpgraded: completed" in status
    assert "step AllWorkersUpgraded: in progress" in status
    assert "step SendStartedNotification: completed" in status
    assert "request" not in status, "there was none"
    assert cluster.upgrade().code == 0
    cluster.serve(REPORT, upgrade_report_path=str(page))
    assert f"to {TARGET}: Completed" in page.read_text().splitlines()[0]
    cluster.is_upgraded()


class OtherOpenShift:
    """A second OpenShift in the same world, with a kubeconfig for its user."""

    def __init__(self, here: World, folder: Path) -> None:
        kubernetes = Kubernetes(here.sandbox.kubernetes.clock)
        self.openshift = OpenShift(replace(SMALL, pools=(pool("master"), pool("worker", 2))), KIND, None, kubernetes)
        kubernetes.apply(shipped_rights())
        cluster = {"server": here.calling.serve(kubernetes.server).url}
        about = {"cluster": "other", "user": USER}
        self.kubeconfig = folder / "other.kubeconfig"
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "other", "cluster": cluster}],
                    "users": [{"name": USER, "user": {"token": TOKENS[USER]}}],
                    "contexts": [{"name": "other", "context": about}],
                    "current-context": "other",
                }
            ),
            encoding="utf-8",
        )


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The playbook of each cluster of a fleet is played in this process, in place of one of its own."""

    def play(command: PlaybookCommand, log: Path, _hear: Any) -> FleetPlayed:
        check = {"ansible_check_mode": True} if "--check" in command.arguments else {}
        name = "stateful.upgrade.plan" if check else f"stateful.upgrade.{command.playbook}"
        given = {**command.variables, **(SYSTEM if check else {})}
        # A run of its own, and no part of the one that has started it.
        ended = contextvars.Context().run(direct.play, name, given)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(ended.output, encoding="utf-8")
        return FleetPlayed(ended.code, statistics(ended), ended.message)

    monkeypatch.setattr(cluster_upgrade, "play", play)


@pytest.mark.usefixtures("in_this_process")
def test_a_fleet_upgrades_openshifts_wave_by_wave_and_stops_behind_one_that_fails(here: World, tmp_path: Path) -> None:
    first, second = ServedOpenShift(here), OtherOpenShift(here, tmp_path)
    own = {"upgrade_kubernetes": {"kubeconfig": str(second.kubeconfig)}}
    hosts = {"east": first.variables(), "west": {**first.variables(), **own}}
    inventory, folder = tmp_path / "clusters.yml", tmp_path / "fleet"
    inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts}}), encoding="utf-8")
    waves = {"upgrade_fleet_playbook": "openshift", "upgrade_fleet_canary": "east", "upgrade_fleet_soak_time": 1}
    given = {**waves, "upgrade_fleet_path": str(folder)}
    planned = here.play(FLEET, given, "-i", str(inventory), "--check")
    assert planned.code == 0, planned.output
    assert "openshift on 2 clusters in 2 waves" in planned.output
    assert "5 Kubernetes nodes" in planned.output
    given["upgrade_fleet_confirm"] = statistics(planned)["upgrade_fleet_confirm"]
    name = first.openshift.faults.drain_blocked("worker-1")
    stopped = here.play(FLEET, given, "-i", str(inventory))
    assert stopped.code != 0
    assert name in stopped.output
    assert history(second.openshift)[0][0] == SMALL.version, "the wave behind the canary has not begun"
    first.openshift.faults.drain_unblocked("worker-1")
    ended = here.play(FLEET, given, "-i", str(inventory))
    assert ended.code == 0, ended.output
    first.is_upgraded()
    assert history(second.openshift)[0] == (TARGET, "Completed")
    assert second.openshift.observer.breaches == []
