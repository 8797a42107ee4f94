"""A lab as tests see it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client, config

from tests.lab import control, manifests
from tests.lab.control_plane.build import ensure_built
from tests.lab.control_plane.credentials import kubeconfig_path
from tests.lab.errors import LabError
from tests.lab.eventlog import read_events
from tests.lab.plan import FILE, LabPlan
from tests.lab.processes import MARK, Ledger, is_alive, pod_user, record_of
from tests.lab.teardown import Teardown, tear_down
from tests.lab.waiting import RealClock, until

ROOT = Path(__file__).parents[2]
START_TIMEOUT = 120.0


def default_directory(name: str) -> Path:
    """The default folder of a lab of this name."""
    return Path(tempfile.gettempdir()) / f"stateful-upgrade-lab-{os.geteuid()}" / name


@dataclass(frozen=True)
class FaultSwitches:
    """The faults that can be switched on. Each call returns when the switch is on; the pods show the effect."""

    directory: Path

    def never_ready(self, namespace: str, pod: str) -> None:
        """The pod's containers are not Ready, whatever their probes say."""
        self._break("never-ready", namespace=namespace, pod=pod)

    def crash_loop(self, namespace: str, pod: str) -> None:
        """The pod's processes are killed as soon as they start."""
        self._break("crash-loop", namespace=namespace, pod=pod)

    def slow_stop(self, namespace: str, pod: str, seconds: float) -> None:
        """The pod takes this long to stop, as with a preStop hook; its grace period still ends it."""
        self._break("slow-stop", namespace=namespace, pod=pod, seconds=seconds)

    def slow_mounts(self, namespace: str, pod: str, seconds: float) -> None:
        """Changes of Secrets and ConfigMaps take this long to arrive in the pod's files."""
        self._break("slow-mounts", namespace=namespace, pod=pod, seconds=seconds)

    def back_off(self, namespace: str, pod: str, seconds: float) -> None:
        """The pod's containers wait for at most so long before they are started again."""
        self._break("back-off", namespace=namespace, pod=pod, seconds=seconds)

    def kill(self, namespace: str, pod: str) -> None:
        """SIGKILL the pod's processes now."""
        self._break("kill", namespace=namespace, pod=pod)

    def node_dead(self, node: str) -> None:
        """A Kubernetes node loses its power."""
        self._break("node-dead", node=node)

    def api_server_away(self, seconds: float) -> None:
        """The API server is killed, and started again after some seconds; all else runs on."""
        self._break("api-server-away", seconds=seconds)

    def _break(self, fault: str, **about: object) -> None:
        control.ask(self.directory, "break", fault=fault, **about)

    def mend(self, namespace: str, pod: str) -> None:
        """Switch everything off for a pod."""
        control.ask(self.directory, "mend", namespace=namespace, pod=pod)

    def mend_node(self, node: str) -> None:
        """The Kubernetes node has power again."""
        control.ask(self.directory, "mend", node=node)

    def mend_all(self) -> None:
        """Switch everything off."""
        control.ask(self.directory, "mend")


class Lab:
    """A running lab. As a context manager it is torn down at the end."""

    real = True
    """Its servers are real, and hold documents."""
    clock = RealClock()

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.faults = FaultSwitches(directory)

    @classmethod
    def up(
        cls,
        name: str = "lab",
        directory: Path | None = None,
        *,
        nodes_per_zone: int = 1,
        zones: Sequence[str] = ("a", "b", "c"),
        owner: int | None = 0,
        in_memory: bool = False,
        tell: Callable[[str], None] = print,
    ) -> Lab:
        """Start a lab and wait until it works. Raises LabError, leaving nothing behind.

        The lab ends with the process `owner`: by default (0) the caller's own, None for none. With `in_memory` the API
        server and the controllers are those of `tests.sandbox`, which need no build; the members are as real.
        """
        path = (directory or default_directory(name)).absolute()
        binary = "" if in_memory else str(ensure_built(tell))
        _make_directory(path)
        owning = None if owner is None else record_of("owner", owner or os.getpid())
        LabPlan(name, binary, tuple(zones), nodes_per_zone, owning).write(path)
        try:
            _start_daemon(path)
        except BaseException:
            tear_down(path)
            raise
        return cls(path)

    @classmethod
    def attach(cls, directory: Path) -> Lab:
        """A lab that runs already. Raises LabError where none does."""
        lab = cls(directory.absolute())
        lab.status()
        return lab

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def down(self, *, keep: bool = False) -> Teardown:
        """End the lab; `keep` leaves its directory with all logs."""
        return tear_down(self.directory, keep=keep)

    def kubeconfig(self, user: str = "admin") -> Path:
        """The kubeconfig of `admin`, or of one of the upgraders, who may do only what roles bound to them allow."""
        path = kubeconfig_path(self.directory / "secrets", user)
        if not path.exists():
            raise LabError(f"The lab has no user {user!r}; take admin, upgrader or cluster-upgrader.")
        return path

    def client(self, user: str = "admin") -> client.ApiClient:
        """A new API client; close it, or use it in a `with` statement."""
        return config.new_client_from_config(config_file=str(self.kubeconfig(user)))

    def apply(self, objects: Sequence[dict[str, Any]]) -> None:
        """Create or change objects as admin, in the order given."""
        with self.client() as api:
            manifests.apply(api, objects, self.directory / "discovery.json")

    def status(self) -> dict[str, Any]:
        """Kubernetes nodes, pods and faults now."""
        return control.ask(self.directory, "status")

    def pod_address(self, namespace: str, pod: str) -> str:
        """The loopback address of the pod of this name, whether it exists already or not."""
        return str(control.ask(self.directory, "address", namespace=namespace, pod=pod)["address"])

    @property
    def address_range(self) -> str:
        """The lab's own part of the loopback network."""
        return str(self.status()["network"])

    def events(self) -> list[dict[str, Any]]:
        """The kubelet's own log: what happened when, in seconds of the monotonic clock."""
        return read_events(self.directory / "events.jsonl")


def _make_directory(path: Path) -> None:
    if (path / FILE).exists():
        records = Ledger(path / "processes.jsonl").records()
        alive = any(record.name == "daemon" and is_alive(record) for record in records)
        state = "runs" if alive else "was not taken down"
        raise LabError(f"A lab {state} in {path}; end it with `python -m tests.lab down`, or choose another name.")
    if path.exists() and any(path.iterdir()):
        raise LabError(f"{path} is not empty; choose an empty or a new directory for the lab.")
    control.socket_path(path)
    user = pod_user()
    for parent in path.parents if user else ():
        if parent.exists() and not parent.stat().st_mode & 0o001:
            raise LabError(
                f"The pods' user (uid {user.uid if user else ''}) may not enter {parent}, which holds the lab's "
                f"directory; choose another one with --directory."
            )
    for part in ("logs", "nodes", "volumes"):
        (path / part).mkdir(parents=True, exist_ok=True)
    path.chmod(0o755)


def _start_daemon(path: Path) -> None:
    """Start the daemon and wait until it answers."""
    argv = [sys.executable, "-m", "tests.lab.daemon", str(path)]
    log = path / "logs" / "daemon.log"
    with log.open("ab") as output:
        daemon = subprocess.Popen(
            argv,
            cwd=ROOT,
            env={**os.environ, MARK: str(path)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def answers() -> bool:
        if daemon.poll() is not None:
            last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise LabError(f"The lab's daemon ended while starting: {last}; logs are in {log.parent}.")
        return control.answers(path)

    try:
        until("The lab's start", answers, START_TIMEOUT)
    except BaseException:
        daemon.kill()
        daemon.wait()
        raise
