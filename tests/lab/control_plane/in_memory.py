"""A control plane without a build: `python -m tests.lab.control_plane.in_memory DIRECTORY ADDRESS`.

The API server, the scheduler and the controllers of `tests.sandbox` serve the lab's secrets at its address, at the pace
of the real time. The Kubernetes nodes and the processes of pods are the lab's own, as with the real control plane.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from tests.lab.certificates import Identity
from tests.lab.control_plane.components import API_SERVER_PORT
from tests.lab.control_plane.credentials import Credentials
from tests.lab.kubelet.node import KUBELET_PORT
from tests.lab.kubelet.place import log_directory
from tests.lab.processes import MARK, Ledger, Process, pod_user, record_of, spawn
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.controllers.budgets import Budgets
from tests.sandbox.kubernetes.controllers.garbage import Garbage
from tests.sandbox.kubernetes.controllers.namespaces import Namespaces
from tests.sandbox.kubernetes.controllers.scheduler import Scheduler
from tests.sandbox.kubernetes.controllers.stateful_sets import StatefulSets
from tests.sandbox.kubernetes.controllers.work import Durations
from tests.sandbox.kubernetes.kinds import NAMESPACES, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.rights import User
from tests.sandbox.kubernetes.store import Change, Store
from tests.sandbox.kubernetes.subresources import not_running
from tests.sandbox.listening import Listening
from tests.sandbox.web import Answer, Passed, Request

NAME = "control-plane-in-memory"
ROOT = Path(__file__).parents[3]
SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")
KEPT = 2_000
"""Changes that a watch may still ask for; each renewal of a lease is one."""


@dataclass(frozen=True)
class InMemory:
    """The facts about their lab that the process needs."""

    directory: Path
    address: str
    ledger: Ledger

    def start(self) -> Process:
        """Start the process; its output goes to logs/control-plane-in-memory.log."""
        argv = [sys.executable, "-m", "tests.lab.control_plane.in_memory", str(self.directory), self.address]
        with (self.directory / "logs" / f"{NAME}.log").open("ab") as output:
            popen: subprocess.Popen[bytes] = spawn(argv, {**os.environ, MARK: str(self.directory)}, ROOT, output)
        record = record_of(NAME, popen.pid)
        self.ledger.add(record)
        return Process(popen, record)


def assembled(directory: Path, clock: Clock, users: Mapping[str, User]) -> ApiServer:
    """The API server with its controllers and the system's namespaces; what it does happens as the clock goes on."""
    server = ApiServer(clock, users)
    server.stream = lambda pod, container, request: _to_kubelet(server, pod, container, request)
    server.logs = lambda pod, container, previous: _log(directory, pod, container, previous)
    resources, durations = server.resources, Durations()
    server.store.listeners.append(lambda _change: forget(server.store))
    Namespaces(resources, durations)
    Garbage(resources, durations)
    StatefulSets(resources, durations)
    Scheduler(resources, durations, lambda volume: {"local": {"path": str(_made(directory / "volumes" / volume))}})
    Budgets(resources, durations)
    for name in SYSTEM:
        resources.create(NAMESPACES, "", {"metadata": {"name": name}})
    return server


def forget(store: Store, kept: int = KEPT) -> None:
    """Drop the oldest changes once there are twice as many as are kept."""
    if len(store.history) >= 2 * kept:
        dropped: list[Change] = store.history[:-kept]
        store.compacted = dropped[-1].version
        del store.history[: len(dropped)]


def users_of(token_file: Path) -> dict[str, User]:
    """The users of a lab by their bearer tokens."""
    with token_file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    return {
        token: User(name, tuple(filter(None, (*groups.split(","), "system:authenticated"))))
        for token, name, _uid, groups in rows
    }


def _made(path: Path) -> Path:
    """A directory of a volume, which the pods' user may write."""
    path.mkdir(parents=True, exist_ok=True)
    if (user := pod_user()) is not None:
        os.chown(path, user.uid, user.gid)
    return path


def _log(directory: Path, pod: Json, container: str, previous: bool) -> list[str]:
    """The lines of a container's log, as the kubelet keeps it; each start has a file of its own."""
    about = pod["metadata"]
    folder = log_directory(directory, about["namespace"], about["name"], about["uid"]) / container
    starts = sorted(folder.glob("*.log"), key=lambda path: int(path.stem))
    chosen = starts[:-1] if previous else starts
    return chosen[-1].read_text(encoding="utf-8", errors="replace").splitlines() if chosen else []


def _to_kubelet(server: ApiServer, pod: Json, container: str, request: Request) -> Answer:
    """The websocket that the kubelet of a pod's Kubernetes node answers."""
    node = server.store.get(NODES, "", pod["spec"]["nodeName"])
    addresses = {each["type"]: each["address"] for each in (node or {}).get("status", {}).get("addresses", [])}
    if "InternalIP" not in addresses:
        return not_running(container)
    names = {"stdout": "output", "stderr": "error", "stdin": "input", "tty": "tty", "command": "command"}
    query = [(names[name], "1" if value == "true" else value) for name, value in request.repeated if name in names]
    place = "/".join((pod["metadata"]["namespace"], pod["metadata"]["name"], container))
    return Passed(101, url=f"https://{addresses['InternalIP']}:{KUBELET_PORT}/exec/{place}?{urlencode(query)}")


def main(argv: list[str]) -> None:
    """Serve until the end of the process."""
    directory, address = Path(argv[0]), argv[1]
    secrets = Credentials(directory / "secrets", f"https://{address}:{API_SERVER_PORT}", {})
    clock = Clock(time.time())
    server = assembled(directory, clock, users_of(secrets.token_file))
    with Listening(clock) as listening:
        identity = Identity(secrets.certificate.read_bytes(), secrets.key.read_bytes())
        listening.serve(server, address, API_SERVER_PORT, identity)
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
