"""The Kubernetes of kubeadm in memory: what its commands change, and what is away meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.sandbox.clock import Clock
from tests.sandbox.kubeadm.cluster import KubeadmCluster
from tests.sandbox.kubeadm.description import Described
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.objects import condition_of
from tests.sandbox.plain_hosts.jobs import JOBS, PATH, UNDER_WAY
from tests.sandbox.web import Request

FROM, TO = "1.35.4", "1.36.1"


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
    # Only the API server of the first machine stands behind the address, and no member of etcd was away with another.
    assert (cluster.control_plane.outages, cluster.control_plane.least_voters) == (1, 2)
