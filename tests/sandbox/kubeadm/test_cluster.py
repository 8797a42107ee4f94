"""The Kubernetes of kubeadm in memory: what its commands change, and what is not available during them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.clock import Clock
from tests.sandbox.kubeadm.cluster import KubeadmCluster
from tests.sandbox.kubeadm.commands import CONTAINER
from tests.sandbox.kubeadm.description import COMPONENTS, Described
from tests.sandbox.kubeadm.process import Process
from tests.sandbox.kubeadm.upgrading import OnMachine, upgrade
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.objects import condition_of
from tests.sandbox.plain_hosts.jobs import JOBS, PATH, UNDER_WAY
from tests.sandbox.web import CutOff, Request

FROM, TO = "1.35.4", "1.36.1"
RECORDED = Path(__file__).with_name("recorded")
"""The answers of the real kubeadm, which `tests/lab/machines/answers.py` takes."""


class Room:
    """A cluster, and ways to ask its machines."""

    def __init__(self, **described: Any) -> None:
        self.cluster = KubeadmCluster(Kubernetes(Clock()), Described(FROM, **described), (TO,))
        assert self.cluster.is_whole()

    def begin(self, machine: str, module: str, **options: Any) -> str:
        """The job of a module that was started."""
        request = Request("POST", f"{PATH}{machine}/modules/{module}", body=options)
        return str(self.cluster.machines[machine](request).body["job"])

    def ended(self, machine: str, job: str) -> Any:
        """The result of a job; None while it goes on."""
        answer = self.cluster.machines[machine](Request("GET", f"{PATH}{machine}/{JOBS}/{job}"))
        return None if answer.status == UNDER_WAY else answer.body

    def do(self, machine: str, module: str, **options: Any) -> Any:
        """The result of a module, once it has ended."""
        job = self.begin(machine, module, **options)
        assert self.cluster.until(lambda: self.ended(machine, job) is not None)
        return self.ended(machine, job)

    def run(self, machine: str, line: str) -> Any:
        """The result of a command."""
        return self.do(machine, "command", argv=line.split())

    def install(self, machine: str, *names: str) -> Any:
        """The result of an installation."""
        return self.do(machine, "apt", name=[f"{each}={TO}-*" for each in names], allow_change_held_packages=True)

    def kubeadm(self, machine: str) -> Any:
        """The step of kubeadm on a machine, with its package."""
        self.install(machine, "kubeadm")
        first = machine == self.cluster.described.control_plane[0]
        return self.run(machine, f"kubeadm upgrade apply -y v{TO}" if first else "kubeadm upgrade node")

    def kubelet(self, machine: str) -> None:
        """The step of the kubelet."""
        self.install(machine, "kubelet", "kubectl")
        self.do(machine, "systemd", name="kubelet", state="restarted", daemon_reload=True)

    def ready(self, machine: str) -> bool:
        """Whether its Kubernetes node is Ready."""
        return bool(condition_of(self.cluster.node(machine), "Ready")["status"] == "True")


def test_all_machines_one_after_the_other() -> None:
    room = Room()
    cluster = room.cluster
    for name in cluster.described.machines:
        done = room.kubeadm(name)
        assert done["rc"] == 0, done
        room.kubelet(name)
        assert not room.ready(name)
        assert cluster.until(partial(room.ready, name))
    assert cluster.until(lambda: cluster.is_upgraded(TO))
    # Only the API server of the first machine is behind the address, and no member of etcd was away with another.
    assert (cluster.control_plane.outages, cluster.control_plane.least_voters) == (1, 2)


def test_the_api_is_away_while_that_of_the_first_machine_restarts_and_behind_a_balancer_never() -> None:
    for balanced, outages in ((False, 1), (True, 0)):
        room = Room(balanced=balanced)
        room.kubeadm("cp-1")
        assert room.cluster.control_plane.outages == outages


def test_the_api_is_away_without_a_quorum_of_etcd() -> None:
    room = Room(balanced=True)
    plane = room.cluster.control_plane
    room.cluster.machines["cp-2"].power_off()
    assert (plane.answers, plane.leader) == (True, "cp-1")
    door = plane.door(room.cluster.kubernetes.server)
    room.install("cp-1", "kubeadm")
    job = room.begin("cp-1", "command", argv=["kubeadm", "upgrade", "apply", "-y", f"v{TO}"])
    assert room.cluster.until(lambda: not plane.has_quorum, 60.0)
    assert (plane.answers, plane.least_voters) == (False, 1)
    with pytest.raises(ConnectionRefusedError):
        door(Request("GET", "/api/v1/nodes"))
    assert room.cluster.until(lambda: plane.has_quorum and room.ended("cp-1", job) is not None)
    assert room.ended("cp-1", job)["rc"] == 0


def test_kubeadm_cut_off_in_the_middle_goes_on_when_it_is_run_again() -> None:
    room = Room()
    machine = room.cluster.machines["cp-1"]
    room.install("cp-1", "kubeadm")
    machine.commands.cut_off_after = 2
    job = room.begin("cp-1", "command", argv=["kubeadm", "upgrade", "apply", "-y", f"v{TO}"])
    assert room.cluster.until(lambda: machine.commands.cut_off_after is None)
    room.cluster.kubernetes.clock.advance(60.0)
    with pytest.raises(CutOff):
        room.ended("cp-1", job)
    # The kubelet has brought up the static pod by itself, and nothing else has gone on.
    assert (machine.written.upgraded, room.cluster.is_whole()) == (["etcd", "kube-apiserver"], True)
    assert room.cluster.version() == FROM
    assert room.kubeadm("cp-1")["rc"] == 0
    assert machine.written.upgraded == [*COMPONENTS]
    assert room.cluster.version() == TO


def test_a_component_that_does_not_come_up_is_put_back() -> None:
    room = Room()
    machine = room.cluster.machines["cp-1"]
    machine.written.broken["kube-scheduler"] = "timed out waiting for the condition"
    done = room.kubeadm("cp-1")
    assert done["rc"] == 1
    assert "kube-scheduler: timed out waiting for the condition" in done["stderr"]
    assert room.cluster.until(room.cluster.is_whole)
    assert room.cluster.control_plane.version_of("cp-1") == f"v{FROM}"
    machine.written.broken.clear()
    assert room.kubeadm("cp-1")["rc"] == 0


@pytest.mark.parametrize(
    ("version", "said"),
    [("1.36.1", "is higher than the kubeadm version"), ("1.35.4", ""), ("1.37.0", "is too high")],
)
def test_kubeadm_refuses_a_version_above_its_own(version: str, said: str) -> None:
    done = Room().run("cp-1", f"kubeadm upgrade apply -y v{version}")
    assert (done["rc"], said in done["stderr"]) == (int(bool(said)), True)


def test_kubeadm_refuses_while_a_machine_of_the_control_plane_is_not_ready() -> None:
    room = Room()
    room.cluster.machines["cp-3"].kubelet.never_ready = True
    room.do("cp-3", "systemd", name="kubelet", state="restarted")
    assert "NotReady control-planes in the cluster: [cp-3]" in room.kubeadm("cp-1")["stderr"]


def test_commands_fail_and_hang_on_demand() -> None:
    room = Room()
    commands = room.cluster.machines["worker-1"].commands
    commands.fails["kubeadm upgrade"] = "no space left on device"
    assert room.kubeadm("worker-1")["stderr"] == "no space left on device"
    commands.fails.clear()
    commands.hangs.add("kubeadm upgrade")
    job = room.begin("worker-1", "command", argv=["kubeadm", "upgrade", "node"])
    room.cluster.kubernetes.clock.advance(7200.0)
    assert room.ended("worker-1", job) is None


def test_a_held_package_is_changed_only_on_demand_and_what_cannot_be_fetched_not_at_all() -> None:
    room = Room()
    packages = room.cluster.machines["worker-1"].packages
    assert "Held packages were changed" in room.do("worker-1", "apt", name=f"kubelet={TO}-*")["msg"]
    packages.repository_away = True
    assert "Could not connect" in room.install("worker-1", "kubelet")["msg"]
    packages.repository_away = False
    assert [room.install("worker-1", "kubelet")["changed"] for _time in range(2)] == [True, False]
    # Only a restart runs the new program.
    assert room.cluster.machines["worker-1"].kubelet.is_old


def test_a_snapshot_of_etcd_is_of_its_revision() -> None:
    room = Room()
    assert room.run("cp-1", f"crictl exec {CONTAINER} etcdctl snapshot save /var/lib/etcd/a.db")["rc"] == 0
    said = json.loads(room.run("cp-1", f"crictl exec {CONTAINER} etcdutl snapshot status /var/lib/etcd/a.db")["stdout"])
    assert 0 < said["revision"] <= room.cluster.kubernetes.server.store.version


def test_with_the_power_the_static_pods_and_the_modules_go_and_come_back() -> None:
    room = Room()
    machine = room.cluster.machines["cp-2"]
    machine.power_off()
    with pytest.raises(ConnectionRefusedError):
        room.begin("cp-2", "ping")
    assert not room.cluster.is_whole()
    room.cluster.kubernetes.clock.advance(60.0)
    assert not room.ready("cp-2")
    machine.power_on()
    assert room.cluster.until(lambda: room.ready("cp-2") and room.cluster.is_whole())


@pytest.mark.parametrize(
    ("name", "target", "own"),
    [("apply_too_new", "1.36.9", "1.36.4"), ("apply_not_ready", "1.36.1", TO)],
)
def test_kubeadm_refuses_as_the_real_one(name: str, target: str, own: str) -> None:
    room = Room()
    shared = room.cluster.shared
    if name == "apply_not_ready":
        room.cluster.machines["cp-1"].kubelet.tell(ready=False)
    process = Process(shared.clock, upgrade(shared, OnMachine("cp-1", FROM), own, target))
    shared.clock.advance(shared.pace.preflight)
    assert process.ended is not None
    assert process.ended.stderr == (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
