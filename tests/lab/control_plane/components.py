"""The four processes of the control plane and their flags."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.lab.control_plane.credentials import Credentials
from tests.lab.processes import MARK, Ledger, Process, record_of, spawn

API_SERVER_PORT = 6443
PORTS = (2379, 2380, API_SERVER_PORT, 10257, 10259)
"""The ports on which the four processes listen; see the flags below."""
SERVICE_NETWORK = "10.0.0.0/24"


@dataclass(frozen=True)
class ControlPlane:
    """The facts about their lab that the components need."""

    binary: Path
    directory: Path
    address: str
    credentials: Credentials
    ledger: Ledger

    def start(self, component: str) -> Process:
        """Start a component; its output goes to logs/<component>.log."""
        flags = {
            "etcd": self._etcd,
            "kube-apiserver": self._api_server,
            "kube-controller-manager": self._controller_manager,
            "kube-scheduler": self._scheduler,
        }[component]()
        argv = [str(self.binary), component, *(f"--{name}={value}" for name, value in flags.items())]
        with (self.directory / "logs" / f"{component}.log").open("ab") as output:
            popen: subprocess.Popen[bytes] = spawn(argv, self._environment(), self.directory, output)
        record = record_of(component, popen.pid)
        self.ledger.add(record)
        return Process(popen, record)

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return {**kept, MARK: str(self.directory)}

    def _etcd(self) -> dict[str, str]:
        client, peer = f"http://{self.address}:2379", f"http://{self.address}:2380"
        return {
            "name": "lab",
            "data-dir": str(self.directory / "etcd"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"lab={peer}",
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }

    def _api_server(self) -> dict[str, str]:
        secrets = self.credentials
        return {
            "etcd-servers": f"http://{self.address}:2379",
            "bind-address": self.address,
            # Only written into Endpoints that the lab does not reconcile; a loopback address is refused here.
            "advertise-address": "192.0.2.1",
            "secure-port": str(API_SERVER_PORT),
            "tls-cert-file": str(secrets.certificate),
            "tls-private-key-file": str(secrets.key),
            "token-auth-file": str(secrets.token_file),
            # For machines that kubeadm has set up; all others have tokens.
            "client-ca-file": str(secrets.authority),
            "authorization-mode": "Node,RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": str(secrets.service_account_public_key),
            "service-account-signing-key-file": str(secrets.service_account_key),
            "service-cluster-ip-range": SERVICE_NETWORK,
            "endpoint-reconciler-type": "none",
            "allow-privileged": "true",
            "kubelet-preferred-address-types": "InternalIP",
            "kubelet-certificate-authority": str(secrets.authority),
            "profiling": "false",
        }

    def _controller_manager(self) -> dict[str, str]:
        secrets = self.credentials
        return {
            **self._delegated(secrets.kubeconfig("system:kube-controller-manager"), "10257"),
            "service-account-private-key-file": str(secrets.service_account_key),
            "root-ca-file": str(secrets.authority),
            "use-service-account-credentials": "true",
            "node-monitor-period": "1s",
            "node-monitor-grace-period": "6s",
            "kube-api-qps": "200",
            "kube-api-burst": "400",
            # Endpoints refuse loopback addresses; the lab's service proxy follows pods itself.
            "controllers": "*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller",
        }

    def _scheduler(self) -> dict[str, str]:
        return self._delegated(self.credentials.kubeconfig("system:kube-scheduler"), "10259")

    def _delegated(self, kubeconfig: Path, port: str) -> dict[str, str]:
        return {
            "kubeconfig": str(kubeconfig),
            "authentication-kubeconfig": str(kubeconfig),
            "authorization-kubeconfig": str(kubeconfig),
            "leader-elect": "false",
            "bind-address": self.address,
            "secure-port": port,
            "tls-cert-file": str(self.credentials.certificate),
            "tls-private-key-file": str(self.credentials.key),
        }
