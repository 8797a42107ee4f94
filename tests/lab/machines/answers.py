"""Answers of the real kubeadm and crictl that a role reads: taken from a cluster, and kept for the machines in memory.

`python -m tests.lab.machines.answers` takes them anew into `tests/sandbox/kubeadm/recorded`. Those of crictl there are
of crictl 1.36.0, and those of etcd of etcdctl and etcdutl 3.6.5, which were asked by hand: on the machines of the lab
crictl is a stand-in, and etcd none of theirs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import exit_code
from tests.lab.fixtures import lab_directory
from tests.lab.machines.build import INSTALLED, NEXT
from tests.lab.machines.cluster import CONFIGURATION, KubeadmCluster, kubeadm_cluster
from tests.lab.machines.machine import Machine
from tests.lab.machines.packages import package_version
from tests.lab.waiting import until

RECORDED = Path(__file__).parents[2] / "sandbox" / "kubeadm" / "recorded"
TOO_NEW, SKIPPING = "1.36.9", "1.38.0"
MISSING = f"registry.test%2Fkube-scheduler:v{NEXT}"
"""The image that cannot be pulled, as the stand-in of the container runtime names its file."""
NOT_READY = 60.0
MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml"
ADMIN, DRY = "/etc/kubernetes/admin.conf", "/var/cache/stateful-upgrade/dry-run"
DRY_RUN = ("env", f"KUBEADM_UPGRADE_DRYRUN_DIR={DRY}", "kubeadm", "upgrade", "apply", "--dry-run", "-y", f"v{NEXT}")
_IMAGE = "get deployment coredns -o jsonpath='{.spec.template.spec.containers[0].image}'"
_LIST = f"sed 's/v{INSTALLED}/v{NEXT}/' {CONFIGURATION} | kubeadm config images list --config /dev/stdin"
ASKED: Mapping[str, tuple[str, ...]] = {
    "certificates.json": ("kubeadm", "certs", "check-expiration", "-o", "json"),
    "images.txt": ("sh", "-c", _LIST),
    "plan.json": ("kubeadm", "upgrade", "plan", f"v{NEXT}", "-o", "json"),
    "diff.txt": ("kubeadm", "upgrade", "diff", f"v{NEXT}"),
}
"""The command by the file of its answer."""


@dataclass(frozen=True)
class Failure:
    """A command that has failed."""

    code: int
    said: str
    """Its standard error."""


@contextmanager
def machine_of_control_plane() -> Iterator[tuple[KubeadmCluster, Machine]]:
    """A cluster of one machine of the control plane and one worker, the next version of kubeadm on the former."""
    directory = lab_directory()
    try:
        with kubeadm_cluster(directory, ("cp-1",), ("w-1",)) as cluster:
            machine = cluster.machines["cp-1"]
            package = f"kubeadm={package_version(NEXT)}"
            machine.run("apt-get", "install", "-y", "--allow-change-held-packages", package)
            yield cluster, machine
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def failures(cluster: KubeadmCluster, machine: Machine) -> Mapping[str, Failure]:
    """The failures of `kubeadm upgrade apply` by their names; the machine is as before afterwards."""
    found = {
        "apply_too_new": failed(machine, "kubeadm", "upgrade", "apply", "-y", f"v{TOO_NEW}"),
        "apply_skipping": failed(machine, "kubeadm", "upgrade", "apply", "-y", f"v{SKIPPING}"),
    }
    wanted = ("kubeadm", "upgrade", "apply", "-y", f"v{NEXT}")
    folder = "/var/lib/container-runtime"
    machine.run("sh", "-c", f"rm -f {folder}/images/{MISSING}; touch {folder}/missing/{MISSING}")
    found["apply_without_image"] = failed(machine, *wanted)
    machine.run("rm", f"{folder}/missing/{MISSING}")
    found |= _of_dry_runs(machine)
    found |= _of_plans(machine)
    machine.run("systemctl", "stop", "kubelet")
    until("The machine to be missed", lambda: machine.name not in cluster.versions(), NOT_READY)
    found["apply_not_ready"] = failed(machine, *wanted)
    found["plan_not_ready"] = failed(machine, *ASKED["plan.json"])
    machine.run("systemctl", "start", "kubelet")
    until("The machine to be Ready", lambda: machine.name in cluster.versions(), NOT_READY)
    return found


def _of_dry_runs(machine: Machine) -> Mapping[str, Failure]:
    """With a plugin that CoreDNS does not know, and without an API server."""
    kubectl = f"kubectl --kubeconfig={ADMIN} --namespace=kube-system"
    machine.run("sh", "-c", f"{kubectl} get configmap coredns -o yaml > /etc/corefile.yaml; cp {ADMIN} /etc/admin.conf")
    image = "set image deployment/coredns coredns="
    old = machine.run("sh", "-c", f"{kubectl} {_IMAGE}")
    machine.run("sh", "-c", f"sed 's/  errors/  mystery/' /etc/corefile.yaml | {kubectl} replace -f -")
    machine.run("sh", "-c", f"{kubectl} {image}registry.test/coredns:v1.13.1")
    found = {"dry_run_plugin": failed(machine, *DRY_RUN)}
    machine.run("sh", "-c", f"{kubectl} replace --force -f /etc/corefile.yaml; {kubectl} {image}{old}")
    machine.run("sed", "-i", "s,server: .*,server: https://127.0.0.1:1,", ADMIN)
    found["dry_run_without_api"] = failed(machine, *DRY_RUN)
    machine.run("cp", "/etc/admin.conf", ADMIN)
    return found


def _of_plans(machine: Machine) -> Mapping[str, Failure]:
    """With a configuration of the kubelet that kubeadm does not read, and without a manifest."""
    kubectl = f"kubectl --kubeconfig={ADMIN} --namespace=kube-system"
    old = f"{kubectl} get configmap kubelet-config -o yaml"
    machine.run("sh", "-c", f"{old} > /etc/kubelet-config.yaml")
    changed = "sed s,kubelet.config.k8s.io/v1beta1,kubelet.config.k8s.io/v1alpha1, /etc/kubelet-config.yaml"
    machine.run("sh", "-c", f"{changed} | {kubectl} replace -f -")
    found = {"plan_old_configuration": failed(machine, *ASKED["plan.json"])}
    found["dry_run_old_configuration"] = failed(machine, *DRY_RUN)
    machine.run("sh", "-c", f"{kubectl} replace --force -f /etc/kubelet-config.yaml")
    diff = " ".join(ASKED["diff.txt"])
    away = f"mv {MANIFEST} /etc/scheduler.yaml; {diff}; ended=$?; mv /etc/scheduler.yaml {MANIFEST}; exit $ended"
    return {**found, "diff_without_manifest": failed(machine, "sh", "-c", away)}


def failed(machine: Machine, *command: str) -> Failure:
    """The end of a command that fails."""
    done = subprocess.run(machine.inside(*command), check=False, capture_output=True, text=True)
    return Failure(done.returncode, done.stderr)


def main() -> int:
    """Takes all of them; gives the exit code."""
    return exit_code(_take)


def _take() -> None:
    with machine_of_control_plane() as (cluster, machine):
        for name, command in ASKED.items():
            (RECORDED / name).write_text(machine.run(*command), encoding="utf-8")
        for name, failure in failures(cluster, machine).items():
            (RECORDED / f"{name}.txt").write_text(failure.said, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
