"""The extension of Cluster API as its two processes, with the accounts and the certificates of its manifests."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client

from tests.lab.addresses import HOST, ClaimedPort
from tests.lab.certificates import Authority
from tests.lab.lab import Lab
from tests.lab.processes import spawn
from tests.unit.cluster_api.management import RUNS, SERVICE
from tests.unit.cluster_api.manifests import EXTENSION, NAMESPACE, documents

CLAIM = 6
"""Seconds for which a claim holds without a sign of life of its worker."""
REPOSITORY = EXTENSION.parents[1]
_RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_ANSWERED = re.compile(r"^\S+ \S+ (?:INFO|WARNING) (\w+): (\w+): ", re.MULTILINE)

Json = dict[str, Any]


class Extension:
    """Use it in a `with` statement: its objects are made at once, and its processes end with the block."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        self.lab, self.directory = lab, directory
        self._authority = Authority("cluster-api-extension-authority")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._port, self._health = ClaimedPort.claim(), ClaimedPort.claim()
        for name in ("server", "client"):
            identity = self._authority.issue(name, [HOST])
            (directory / f"{name}.crt").write_bytes(identity.certificate)
            (directory / f"{name}.key").write_bytes(identity.key)
        (directory / "ca.crt").write_bytes(self._authority.certificate)

    @property
    def client(self) -> tuple[Path, Path]:
        """The certificate and the key of the managers."""
        return self.directory / "client.crt", self.directory / "client.key"

    def __enter__(self) -> Extension:
        self.lab.apply([each for each in documents() if each["kind"] in _RIGHTS])
        ca = {"ca.crt": base64.b64encode(self._authority.certificate).decode()}
        about = {"name": "cluster-api-extension-tls", "namespace": NAMESPACE}
        self.lab.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": about, "data": ca}])
        with self.lab.client() as api:
            (self.directory / "api.crt").write_bytes(Path(str(api.configuration.ssl_ca_cert)).read_bytes())
            self._server = str(api.configuration.host)
            for account in (SERVICE, RUNS):
                (self.directory / account).write_text(_token(api, account), encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._processes):
            self.end(name)
        for port in (self._port, self._health):
            port.release()

    def serve(self, policy: Json) -> None:
        """Have the service run with this policy, instead of the one that it had."""
        self.end("service")
        (self.directory / "policy.yaml").write_text(yaml.safe_dump(policy), encoding="utf-8")
        folder = self.directory
        files = ["--policy", f"{folder}/policy.yaml", "--certificate", f"{folder}/server.crt"]
        files += ["--key", f"{folder}/server.key", "--client-ca", f"{folder}/ca.crt"]
        ports = ["--host", HOST, "--port", str(self._port.number), "--health-port", str(self._health.number)]
        self._start("service", ["serve", *files, *ports, *self._access(SERVICE)])

    def work(self, command: Sequence[str]) -> None:
        """Have a worker run this command for each task, instead of the one that it had."""
        self.end("worker")
        often = ["--claim-seconds", str(CLAIM), "--look-seconds", "1"]
        self._start("worker", ["work", *often, *self._access(RUNS), "--", *command])

    def _access(self, account: str) -> list[str]:
        folder = self.directory
        access = ["--api-server", self._server, "--token-file", f"{folder}/{account}", "--ca-file", f"{folder}/api.crt"]
        return ["--namespace", NAMESPACE, *access]

    def _start(self, name: str, arguments: Sequence[str]) -> None:
        path = os.pathsep.join((str(EXTENSION), str(REPOSITORY)))
        argv = [sys.executable, "-m", "cluster_api_extension", *arguments]
        with (self.directory / f"{name}.log").open("ab") as output:
            environment = {**os.environ, "PYTHONPATH": path}
            self._processes[name] = spawn(argv, environment, REPOSITORY, output)

    def end(self, name: str) -> None:
        """Kill one of its processes, if it runs."""
        process = self._processes.pop(name, None)
        if process is not None:
            process.kill()
            process.wait(10)

    def register(self) -> None:
        """Register the service at Cluster API as shipped, but by its address: the lab has no network of Services."""
        file = EXTENSION / "registration" / "extension-config.yaml"
        shipped = yaml.safe_load(file.read_text(encoding="utf-8"))
        shipped["spec"]["clientConfig"] = {"url": f"https://{HOST}:{self._port.number}"}
        self.lab.apply([shipped])

    def said(self, name: str = "service") -> str:
        """The log of one of its processes."""
        return (self.directory / f"{name}.log").read_text(encoding="utf-8")

    def answers(self) -> Counter[tuple[str, str]]:
        """The number of its answers with a message, by hook and status."""
        return Counter(_ANSWERED.findall(self.said()))


def _token(api: client.ApiClient, account: str) -> str:
    asked = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=7200))
    answer: Any = client.CoreV1Api(api).create_namespaced_service_account_token(account, NAMESPACE, asked)
    return str(answer.status.token)
