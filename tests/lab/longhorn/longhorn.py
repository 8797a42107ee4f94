"""A Longhorn on the lab: the real definitions on its API server, and the stand-in controllers as a process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from kubernetes import client

from tests.lab.api import MERGE
from tests.lab.errors import LabError
from tests.lab.lab import ROOT
from tests.lab.longhorn.admission import CONFIGURATIONS, NAME
from tests.lab.longhorn.description import written
from tests.lab.longhorn.requests import JSON, ask
from tests.lab.processes import spawn
from tests.lab.waiting import until
from tests.sandbox.kubernetes.kinds import BUDGETS, CONFIG_MAPS, LEASES, PODS
from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.longhorn.bringing_up import offered
from tests.sandbox.longhorn.description import Described
from tests.sandbox.longhorn.kinds import CRON_JOBS, GROUP, JOBS, NAMESPACE, OWN, SNAPSHOTS, UNVERIFIED, VERSION

READY_TIMEOUT, END_TIMEOUT = 180.0, 10.0
_EVERYTHING = (*OWN, CRON_JOBS, JOBS, BUDGETS, PODS, LEASES, CONFIG_MAPS)
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Platform(Protocol):
    """A lab, or servers in memory behind real sockets."""

    @property
    def real(self) -> bool:
        """Whether its API server asks webhooks."""

    def apply(self, objects: Sequence[dict[str, Any]]) -> None:
        """Create or change objects as admin."""

    def client(self, user: str = "admin") -> client.ApiClient:
        """A new API client."""

    def kubeconfig(self, user: str = "admin") -> Path:
        """The kubeconfig of a user."""


class LonghornOnLab:
    """Use it in a `with` statement: it is as described when the block begins, and gone when it has ended.

    The definitions of v1.12.0 stay, and the unverified ones go. Its log and its description are in `directory`.
    """

    def __init__(self, platform: Platform, directory: Path, described: Described) -> None:
        self._platform, self._directory, self._described = platform, directory, described
        self._log = directory / "longhorn.log"

    def __enter__(self) -> LonghornOnLab:
        self._platform.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        self._platform.apply(offered(self._described))
        until("The kinds of Longhorn", self._served, READY_TIMEOUT)
        description = self._directory / "longhorn.json"
        description.write_text(json.dumps(written(self._described)))
        self._process = self._start(description)
        try:
            until("Longhorn on the lab", self._ready, READY_TIMEOUT)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _kinds(self) -> set[str]:
        """The kinds of Longhorn that the API server offers, as paths name them."""
        with self._platform.client() as api:
            found = ask(api, "GET", f"/apis/{GROUP}/{VERSION}")["resources"]
        return {each["name"] for each in found}

    def _served(self) -> bool:
        with self._platform.client() as api:
            known = ask(api, "GET", _DEFINITIONS)["items"]
        if not all(_established(each) for each in known if each["spec"]["group"] == GROUP):
            return False
        return {each["spec"]["names"]["plural"] for each in offered(self._described)} <= self._kinds()

    def _start(self, description: Path) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "tests.lab.longhorn", str(self._platform.kubeconfig()), str(description)]
        argv += ["webhook"] if self._platform.real else []
        with self._log.open("wb") as output:
            return spawn(argv, {**os.environ, "PYTHONPATH": str(ROOT)}, ROOT, output)

    def _ready(self) -> bool:
        if self._process.poll() is not None:
            last = (self.said() or ["it said nothing"])[-1]
            raise LabError(f"Longhorn's process ended: {last}; all that it said is in {self._log}.")
        return "ready" in self.said()

    def said(self, begin: str = "") -> list[str]:
        """The lines that the process has said, or those that begin with a word: `lost` and `moved`."""
        return [each for each in self._log.read_text(errors="replace").splitlines() if each.startswith(begin)]

    def ask(self, method: str, kind: Kind, name: str = "", body: Any = None) -> Json:
        """The answer to a request of an administrator; a patch is merged. Raises Refused."""
        with self._platform.client() as api:
            return ask(api, method, kind.path(NAMESPACE, name), body, MERGE if method == "PATCH" else JSON)

    def all(self, kind: Kind) -> list[Json]:
        """All objects of a kind."""
        return list(self.ask("GET", kind)["items"])

    def make(self, fault: str, *values: str | int) -> None:
        """Make a fault of Longhorn's own (`tests.sandbox.longhorn.faults`) by its name; kinds are given as in paths."""
        made = len(self.said("made"))
        with (self._directory / "longhorn.faults").open("a") as orders:
            orders.write(json.dumps([fault, *values]) + "\n")
        until(f"The fault {fault}", lambda: len(self.said("made")) > made, END_TIMEOUT)

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(END_TIMEOUT)
        (self._directory / "longhorn.faults").unlink(missing_ok=True)
        until("The end of Longhorn", self._cleared, READY_TIMEOUT)

    def _cleared(self) -> bool:
        """Whether nothing of it is there any more. The API server still asks the webhook for a short time."""
        unverified = {each.plural: each.resource for each in UNVERIFIED}
        with self._platform.client() as api:
            paths = [f"{CONFIGURATIONS}/{NAME}"] if self._platform.real else []
            paths += [f"{_DEFINITIONS}/{unverified[each]}" for each in self._kinds() & unverified.keys()]
            for path in paths:
                with contextlib.suppress(Refused):
                    ask(api, "DELETE", path)
        try:
            for each in self.all(SNAPSHOTS):
                self.ask("PATCH", SNAPSHOTS, each["metadata"]["name"], {"metadata": {"finalizers": None}})
            for kind in _EVERYTHING:
                self.ask("DELETE", kind, body={"gracePeriodSeconds": 0})
            return not self._kinds() & unverified.keys() and not any(self.all(each) for each in (*OWN, PODS))
        except Refused:
            return False


def _established(definition: Json) -> bool:
    # A definition that was just made has no conditions yet.
    found = definition.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in found)
