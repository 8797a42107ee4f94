"""A cluster of kubeadm on machines: the lab's real API server, and machines with real SSH servers.

kubeadm itself makes the certificates, the kubeconfig files and the manifests of the static pods. The API server and
etcd are those of the lab: etcd is an external one, and the static pods are only mirrored (see kubelet.py).
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client

from tests.lab.control_plane.components import API_SERVER_PORT, SERVICE_NETWORK
from tests.lab.lab import Lab
from tests.lab.machines import operating_system, rpms
from tests.lab.machines.build import INSTALLED, NEXT
from tests.lab.machines.machine import Machine
from tests.lab.machines.objects import SOCKET, cluster_configuration, node_object, objects_of_kubeadm
from tests.lab.machines.packages import NAMES, SOURCE, make_repository, package_version, program
from tests.lab.waiting import until

READY = 120.0
CONTROL_PLANE, WORKERS = "control_plane", "workers"
"""The groups of the inventory."""
CONFIGURATION = "/etc/kubeadm.json"
"""The file from which kubeadm has set a machine up."""
_SSHD = """\
ListenAddress {address}
AuthorizedKeysFile /etc/ssh/lab_keys
PasswordAuthentication no
UseDNS no
"""
_RUNTIME = f"""\
[Unit]
Description=The stand-in of a container runtime
[Service]
ExecStart=/srv/container-runtime {SOCKET.removeprefix("unix://")} /var/lib/container-runtime
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class KubeadmCluster:
    """One cluster; the name of a machine is that of its Kubernetes node."""

    directory: Path
    lab: Lab
    groups: dict[str, list[Machine]]
    of_hosts: dict[str, dict[str, str]] = field(default_factory=dict)
    """Variables of single machines in the inventory."""

    @property
    def machines(self) -> dict[str, Machine]:
        """Every machine by its name."""
        return {machine.name: machine for group in self.groups.values() for machine in group}

    def inventory(self) -> Path:
        """The inventory as its users write it."""
        options = f"-o UserKnownHostsFile={self.directory / 'known_hosts'}"
        of_all = {
            "ansible_user": operating_system.USER,
            "ansible_ssh_private_key_file": str(self.directory / "key"),
            "ansible_ssh_common_args": options,
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        groups = {
            group: {
                "hosts": {
                    each.name: {"ansible_host": each.address, **self.of_hosts.get(each.name, {})} for each in machines
                }
            }
            for group, machines in self.groups.items()
        }
        path = self.directory / "inventory.json"
        path.write_text(json.dumps({"all": {"children": groups, "vars": of_all}}))
        return path

    def nodes(self) -> dict[str, Any]:
        """Every Kubernetes node by its name."""
        with self.lab.client() as api:
            core: Any = client.CoreV1Api(api)
            return {item.metadata.name: item for item in core.list_node().items}

    def versions(self) -> dict[str, str]:
        """The version of the kubelet of each Kubernetes node that is Ready."""
        return {
            name: node.status.node_info.kubelet_version.removeprefix("v")
            for name, node in self.nodes().items()
            if any((each.type, each.status) == ("Ready", "True") for each in node.status.conditions or [])
        }

    def images_of_control_plane(self) -> dict[str, str]:
        """The image of each mirror pod of the control plane."""
        with self.lab.client() as api:
            core: Any = client.CoreV1Api(api)
            found = core.list_namespaced_pod("kube-system", label_selector="tier=control-plane").items
        return {pod.metadata.name: str(pod.spec.containers[0].image) for pod in found}


@contextlib.contextmanager
def kubeadm_cluster(
    directory: Path,
    control_plane: Sequence[str],
    workers: Sequence[str],
    version: str = INSTALLED,
    target: str = NEXT,
    with_dnf: str = "",
) -> Iterator[KubeadmCluster]:
    """A cluster of these machines on that version for the length of the block, with packages of both versions; one
    machine may have dnf in place of apt.

    Raises:
        LabError: it does not come up.
    """
    for more in [(), rpms.PACKAGES] if with_dnf else [()]:
        operating_system.ensure_made(more=more)
    shared = directory / "shared"
    make_repository(shared / "repository", shared / "programs", {INSTALLED, version, target})
    (shared / "crictl").write_text(program("crictl.py"), encoding="utf-8")
    (shared / "crictl").chmod(0o755)
    (shared / "container-runtime").symlink_to(f"/srv/programs/{INSTALLED}")
    with Lab.up("machines", directory / "lab", nodes_per_zone=0) as lab:
        packages = {name: rpms.PACKAGES if name == with_dnf else () for name in (*control_plane, *workers)}
        machines = _machines(directory, lab, packages)
        groups = {
            CONTROL_PLANE: [machines[name] for name in control_plane],
            WORKERS: [machines[name] for name in workers],
        }
        cluster = KubeadmCluster(directory, lab, groups)
        try:
            _rise(cluster, version, target)
            yield cluster
        finally:
            for machine in machines.values():
                machine.stop()


def _machines(directory: Path, lab: Lab, packages: Mapping[str, Sequence[str]]) -> dict[str, Machine]:
    """The machines, each with an address in the lab's range, more packages, and all files but those of kubeadm."""
    key = directory / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = Path(f"{key}.pub").read_text()
    network = lab.address_range.removesuffix(".0/16")
    machines = {}
    for number, (name, more) in enumerate(packages.items()):
        machine = Machine(name, directory / "machines" / name, f"{network}.{10 + number}", directory / "shared", more)
        machine.write("/etc/ssh/sshd_config.d/lab.conf", _SSHD.format(address=machine.address))
        machine.write("/etc/ssh/lab_keys", public)
        machine.write("/etc/hostname", f"{name}\n")
        machine.write("/etc/hosts", f"127.0.0.1 localhost\n{machine.address} {name}\n")
        machine.write("/etc/apt/sources.list", SOURCE)
        machine.write("/etc/systemd/system/containerd.service", _RUNTIME)
        machine.link("/usr/local/bin/crictl", "/srv/crictl")
        machine.write("/etc/resolv.conf", "# No machine of the lab asks anyone outside.\n")
        machines[name] = machine
    lines = [f"{each.address} {_host_key(each)}" for each in machines.values()]
    (directory / "known_hosts").write_text("".join(lines))
    return machines


def _host_key(machine: Machine) -> str:
    return (operating_system.path(*machine.packages) / "etc/ssh/ssh_host_ed25519_key.pub").read_text()


def _rise(cluster: KubeadmCluster, version: str, target: str) -> None:
    """All machines as kubeadm sets them up, until their Kubernetes nodes are Ready."""
    endpoint = f"{_address(cluster)}:{API_SERVER_PORT}"
    etcd = f"http://{_address(cluster)}:2379"
    described = cluster_configuration(version, etcd, SERVICE_NETWORK)
    cluster.lab.apply(objects_of_kubeadm(described))
    first = cluster.groups[CONTROL_PLANE][0]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: _install(cluster, each, described, (version, target)), cluster.machines.values()))
        for group, machines in cluster.groups.items():
            cluster.lab.apply([node_object(each.name, group == CONTROL_PLANE) for each in machines])
        list(pool.map(lambda each: _set_up_control_plane(cluster, each, endpoint), cluster.groups[CONTROL_PLANE]))
        list(pool.map(lambda each: _set_up_worker(first, each, endpoint), cluster.groups[WORKERS]))
    for addon in ("coredns", "kube-proxy"):
        command = ("kubeadm", "init", "phase", "addon", addon, "--print-manifest", "--config", CONFIGURATION)
        cluster.lab.apply([each for each in yaml.safe_load_all(first.run(*command)) if each])
    until("The machines to be Ready", lambda: set(cluster.versions()) == set(cluster.machines), READY)
    mirrored = 3 * len(cluster.groups[CONTROL_PLANE])
    until("The static pods", lambda: len(cluster.images_of_control_plane()) == mirrored, READY)


def _install(cluster: KubeadmCluster, machine: Machine, described: dict[str, Any], versions: tuple[str, str]) -> None:
    machine.start()
    number = int(machine.address.rpartition(".")[2])
    init = {
        "apiVersion": described["apiVersion"],
        "kind": "InitConfiguration",
        "nodeRegistration": {"name": machine.name, "criSocket": SOCKET},
        # kubeadm takes no loopback address; none of these is asked for anything (RFC 5737).
        "localAPIEndpoint": {"advertiseAddress": f"192.0.2.{number}", "bindPort": API_SERVER_PORT},
    }
    documents = f"{json.dumps(init)}\n---\n{json.dumps(described)}\n"
    machine.run("sh", "-c", f"umask 077; cat > {CONFIGURATION}", given=documents)
    machine.run("systemctl", "enable", "--now", "containerd")
    if machine.packages:
        rpms.make_rpms(machine, versions)
        rpms.install_by_dnf(machine, versions[0])
        return
    machine.run("apt-get", "update")
    machine.run("apt-get", "install", "-y", *(f"{name}={package_version(versions[0])}" for name in NAMES))
    machine.run("apt-mark", "hold", *NAMES)


def _set_up_control_plane(cluster: KubeadmCluster, machine: Machine, endpoint: str) -> None:
    secrets = cluster.lab.directory / "secrets"
    machine.run("mkdir", "-p", "/etc/kubernetes/pki")
    shared = {"ca.crt": "ca.crt", "ca.key": "ca.key", "sa.key": "service-account.key", "sa.pub": "service-account.pub"}
    for name, of_lab in shared.items():
        content = (secrets / of_lab).read_text()
        machine.run("sh", "-c", f"umask 077; cat > /etc/kubernetes/pki/{name}", given=content)
    for phase in ("certs", "kubeconfig", "control-plane"):
        machine.run("kubeadm", "init", "phase", phase, "all", "--config", CONFIGURATION)
    _start_kubelet(machine, endpoint)


def _set_up_worker(first: Machine, machine: Machine, endpoint: str) -> None:
    command = ["kubeadm", "kubeconfig", "user", "--config", CONFIGURATION, "--org", "system:nodes"]
    made = first.run(*command, "--client-name", f"system:node:{machine.name}")
    machine.run("mkdir", "-p", "/etc/kubernetes/manifests")
    machine.run("sh", "-c", "umask 077; cat > /etc/kubernetes/kubelet.conf", given=made)
    _start_kubelet(machine, endpoint)


def _start_kubelet(machine: Machine, endpoint: str) -> None:
    """Point all kubeconfig files to the lab's API server, at another name than ENDPOINT, which upgrades replace."""
    machine.run("sh", "-c", f"sed -i 's,server: .*,server: https://{endpoint},' /etc/kubernetes/*.conf")
    machine.run("kubeadm", "init", "phase", "kubelet-start", "--config", CONFIGURATION)
    machine.run("systemctl", "enable", "kubelet")


def _address(cluster: KubeadmCluster) -> str:
    """The address of the lab's API server."""
    return f"{cluster.lab.address_range.removesuffix('.0.0/16')}.0.1"
