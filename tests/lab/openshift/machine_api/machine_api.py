"""The controllers of machine sets and machines as a process, and the machines of their cloud as Kubernetes nodes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab.go_program import GoProgram
from tests.lab.openshift.machines import Joining, Machines
from tests.lab.openshift.server import Server
from tests.lab.openshift.stand_ins import RealPace
from tests.lab.processes import spawn
from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.openshift.building import machine_set_object
from tests.sandbox.openshift.description import MachineSet
from tests.sandbox.openshift.kinds import MACHINE_API, MACHINE_SETS, MACHINES, POOLS, WORKER

MACHINE_API_OPERATOR = GoProgram("machine-api", Path(__file__).parent, "2 minutes")
END = 10.0


class MachineApi:
    """A machine of the cloud is a file, and becomes a worker in the configuration that its pool has come to."""

    def __init__(self, server: Server, directory: Path, machines: Machines, pace: RealPace) -> None:
        self._server, self._machines, self._pace = server, machines, pace
        self._cloud, self._log = directory / "cloud", directory / "machine-api.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._since: dict[str, float] = {}
        """By machine: the time at which it was seen first."""
        self._joined: set[str] = set()

    def start(self, kubeconfig: Path, sets: Sequence[MachineSet]) -> None:
        """Make the machine sets, and have the controllers make their machines. Raises LabError, Refused."""
        self._cloud.mkdir()
        for each in sets:
            self._server.create(MACHINE_SETS, machine_set_object(each), MACHINE_API)
        argv = [str(MACHINE_API_OPERATOR.ensure_built()), f"--kubeconfig={kubeconfig}", f"--cloud={self._cloud}"]
        with self._log.open("ab") as output:
            self._process = spawn(argv, dict(os.environ), self._cloud, output)

    def step(self) -> None:
        """See which machines have come and gone."""
        there = {each.name: each for each in self._cloud.glob("[!.]*")} if self._process is not None else {}
        for name, file in there.items():
            since = self._since.setdefault(name, time.monotonic())
            if name not in self._joined and time.monotonic() - since >= self._pace.boot:
                self._join(name, file)
        for name in self._joined - there.keys():
            self._machines.leave(name)
            self._joined.discard(name)

    def _join(self, name: str, file: Path) -> None:
        """As `pkg/server/cluster_server.go` of machine-config-operator: in an upgrade, in the old configuration."""
        pool = self._server.get(POOLS, WORKER) or {"spec": {}}
        told = pool.get("status", {}).get("configuration") or pool["spec"].get("configuration") or {}
        try:
            zone = json.loads(file.read_text(encoding="utf-8"))["placement"]["availabilityZone"]
        except FileNotFoundError:
            return
        self._machines.join(Joining(name, zone, WORKER, told.get("name", ""), f"lab:///{name}"))
        self._joined.add(name)

    def are_ready(self, sets: Sequence[MachineSet]) -> bool:
        """Whether all machines of these sets are Ready Kubernetes nodes. Raises Refused."""
        found = {each["metadata"]["name"]: each.get("status", {}) for each in self._server.all(MACHINE_SETS)}
        return all(found.get(each.name, {}).get("readyReplicas", 0) == each.replicas for each in sets)

    def are_gone(self) -> bool:
        """Remove all machine sets; whether the controllers have removed all machines."""
        with contextlib.suppress(Refused):
            self._server.ask("DELETE", MACHINE_SETS.path(MACHINE_API))
        return not self._server.all(MACHINES) and not self._server.all(MACHINE_SETS)

    def end(self) -> None:
        """End the controllers."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(END)
