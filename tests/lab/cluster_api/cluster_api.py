"""The four managers of Cluster API as processes next to a lab, and the clusters that they make in memory."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import socket
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import requests

from tests.lab.addresses import HOST, ClaimedPort
from tests.lab.api import MERGE
from tests.lab.certificates import Authority
from tests.lab.cluster_api.definitions import PROVIDERS, Provider, Wanted, cluster, cluster_class
from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.openshift.server import Server
from tests.lab.processes import spawn
from tests.lab.waiting import until
from tests.sandbox.kubernetes.objects import Json, Refused

SERVED, READY, AVAILABLE, END = 60.0, 60.0, 360.0, 10.0
DEBUG_PORT = 19000
"""The program of the machines in memory listens there, at every address: there is one on a machine."""
_GATES = "ClusterTopology=true"
_EXTENSIONS = "RuntimeSDK=true,InPlaceUpdates=true"
_CALLS = re.compile(r'^capi_runtime_sdk_requests_total\{.*hook="(\w+)",host=.*status="(\w+)".*\} (\d+)$', re.MULTILINE)
CORE_GROUP = "/apis/cluster.x-k8s.io/v1beta2"


class ClusterApiOnLab:
    """Use it in a `with` statement, next to a lab of its own: the definitions and objects end with the lab.

    `client` is the certificate and the key with which the managers call runtime extensions.
    """

    def __init__(self, lab: Lab, directory: Path, client: tuple[Path, Path]) -> None:
        self._lab, self._directory, self._client = lab, directory, client
        self._authority = Authority("webhooks of Cluster API")
        self._api = lab.client()
        self.server = Server(self._api, "cluster-api-installer")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._metrics: list[str] = []
        self._ports: list[ClaimedPort] = []

    def __enter__(self) -> ClusterApiOnLab:
        try:
            self._install()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.wait(END)
        for port in self._ports:
            port.release()
        self._api.close()

    def _port(self) -> int:
        """Another port, until the block ends."""
        self._ports.append(ClaimedPort.claim())
        return self._ports[-1].number

    def _install(self) -> None:
        for each in PROVIDERS:
            each.program.ensure_built()
        with contextlib.closing(socket.socket()) as probe:
            if probe.connect_ex((HOST, DEBUG_PORT)) == 0:
                raise LabError(f"Port {DEBUG_PORT} is taken: another Cluster API in memory runs; wait until it ends.")
        identity = self._authority.issue("webhooks", [HOST])
        folder = self._directory / "webhooks"
        folder.mkdir()
        (folder / "tls.crt").write_bytes(identity.certificate)
        (folder / "tls.key").write_bytes(identity.key)
        bundle = base64.b64encode(self._authority.certificate).decode()
        ports = {each.name: self._port() for each in PROVIDERS}
        urls = {name: f"https://{HOST}:{port}" for name, port in ports.items()}
        for each in PROVIDERS:
            self._lab.apply(each.definitions(urls[each.name], bundle))
        until("The kinds of Cluster API", self._are_served, SERVED)
        for each in PROVIDERS:
            self._start(each, ports[each.name], folder)
        until("The webhooks of Cluster API", lambda: self._listen(list(ports.values())), READY)
        for each in PROVIDERS:
            self._lab.apply(each.webhooks(urls[each.name], bundle))

    def _are_served(self) -> bool:
        try:
            return all(
                self.server.ask("GET", f"/apis/{each['spec']['group']}/v1beta2/{each['spec']['names']['plural']}")
                for provider in PROVIDERS
                for each in provider.kinds.definitions()
            )
        except Refused:
            return False

    def _start(self, provider: Provider, port: int, certificates: Path) -> None:
        gates = f"{_GATES},{_EXTENSIONS}" if provider.extensions else _GATES
        argv = [str(provider.program.ensure_built()), f"--kubeconfig={self._lab.kubeconfig()}"]
        argv += [f"--webhook-port={port}", f"--webhook-cert-dir={certificates}", f"--feature-gates={gates}"]
        metrics = f"{HOST}:{self._port()}"
        argv += [f"--health-addr={HOST}:{self._port()}", f"--diagnostics-address={metrics}"]
        argv += ["--insecure-diagnostics", "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"]
        if provider.extensions:
            certificate, key = self._client
            argv += [f"--runtime-extension-client-cert-file={certificate}"]
            argv += [f"--runtime-extension-client-key-file={key}"]
            self._metrics.append(f"http://{metrics}/metrics")
        pod = {"POD_NAMESPACE": "kube-system", "POD_NAME": provider.name, "POD_UID": provider.name, "POD_IP": HOST}
        with (self._directory / f"{provider.name}.log").open("ab") as output:
            self._processes[provider.name] = spawn(argv, {**os.environ, **pod}, self._directory, output)

    def _listen(self, ports: Sequence[int]) -> bool:
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise LabError(f"The manager {name} has ended; its log is {self._directory / name}.log.")
        for port in ports:
            with contextlib.closing(socket.socket()) as probe:
                if probe.connect_ex((HOST, port)) != 0:
                    return False
        return True

    def make(self, wanted: Wanted) -> None:
        """Start to make a cluster. Raises LabError."""
        # A webhook listens some time before it answers.
        until("The class of clusters", lambda: self._is_applied(cluster_class(wanted)), READY)
        self._lab.apply([cluster(wanted)])

    def whole(self, wanted: Wanted) -> None:
        """Wait until all machines of a new cluster are available. Raises LabError."""
        machines = wanted.control_plane + wanted.workers
        until("Available machines", lambda: len(self.available(wanted.namespace)) == machines, AVAILABLE)

    def _is_applied(self, objects: Sequence[Json]) -> bool:
        try:
            self._lab.apply(objects)
        except Exception:  # noqa: BLE001 - the dynamic client has a class of errors for each answer
            return False
        return True

    def ready(self) -> None:
        """End with LabError if a manager has ended."""
        self._listen([])

    def machines(self, namespace: str) -> list[Json]:
        """The Machines of a namespace."""
        return list(self.server.ask("GET", f"{CORE_GROUP}/namespaces/{namespace}/machines")["items"])

    def available(self, namespace: str) -> list[Json]:
        """The Machines of a namespace that are available."""
        return [each for each in self.machines(namespace) if condition(each, "Available") == "True"]

    def change(self, namespace: str, plural: str, name: str, change: Json) -> None:
        """Change an object of the core group, as an administrator does."""
        self.server.ask("PATCH", f"{CORE_GROUP}/namespaces/{namespace}/{plural}/{name}", change, MERGE)

    def cluster(self, namespace: str, name: str) -> Json:
        """A Cluster."""
        return self.server.ask("GET", f"{CORE_GROUP}/namespaces/{namespace}/clusters/{name}")

    def said(self, manager: str = "cluster-api") -> str:
        """The log of a manager."""
        return (self._directory / f"{manager}.log").read_text(encoding="utf-8")

    def calls(self) -> Counter[tuple[str, str]]:
        """The calls of runtime extensions that the managers have counted themselves, by hook and status."""
        found: Counter[tuple[str, str]] = Counter()
        for url in self._metrics:
            for hook, status, number in _CALLS.findall(requests.get(url, timeout=5).text):
                found[hook, status] += int(number)
        return found

    def workload_kubeconfig(self, namespace: str, name: str) -> bytes:
        """The kubeconfig of a cluster, as its control plane has written it."""
        secret = self.server.ask("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}-kubeconfig")
        return base64.b64decode(secret["data"]["value"])


def condition(item: Json, name: str) -> str:
    """The status of a condition of an object; empty if it has none."""
    found = item.get("status", {}).get("conditions") or []
    return next((str(each["status"]) for each in found if each["type"] == name), "")
