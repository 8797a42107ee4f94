# SPDX-License-Identifier: GPL-3.0-or-later
"""A Longhorn on the lab: the real definitions on its API server, and the stand-in controllers as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from kubernetes import client

from tests.lab.errors import LabError
from tests.lab.lab import ROOT
from tests.lab.longhorn.description import written
from tests.lab.longhorn.requests import ask
from tests.lab.processes import spawn
from tests.lab.waiting import until
from tests.sandbox.longhorn.bringing_up import offered
from tests.sandbox.longhorn.description import Described
from tests.sandbox.longhorn.kinds import NAMESPACE

READY_TIMEOUT, END_TIMEOUT = 180.0, 10.0


class Ground(Protocol):
    """A lab, or servers in memory behind real sockets."""

    def apply(self, objects: Sequence[dict[str, Any]]) -> None:
        """Create or change objects as admin."""

    def client(self, user: str = "admin") -> client.ApiClient:
        """A new API client."""

    def kubeconfig(self, user: str = "admin") -> Path:
        """The kubeconfig of a user."""


class LonghornOnLab:
    """Use it in a `with` statement: it is as described when the block begins. The process ends with the block.

    Its log and its description are in `directory`.
    """

    def __init__(self, ground: Ground, directory: Path, described: Described) -> None:
        self._ground, self._directory, self._described = ground, directory, described
        self._log = directory / "longhorn.log"

    def __enter__(self) -> LonghornOnLab:
        self._ground.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        self._ground.apply(offered(self._described))
        until("The definitions of Longhorn", self._served, READY_TIMEOUT)
        description = self._directory / "longhorn.json"
        description.write_text(json.dumps(written(self._described)))
        self._process = self._start(description)
        try:
            until("Longhorn on the lab", self._ready, READY_TIMEOUT)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _served(self) -> bool:
        with self._ground.client() as api:
            answer = ask(api, "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        wanted = {each["metadata"]["name"] for each in offered(self._described)}
        served = {
            each["metadata"]["name"]
            for each in answer["items"]
            if any(
                known["type"] == "Established" and known["status"] == "True"
                for known in each.get("status", {}).get("conditions") or []
            )
        }
        return wanted <= served

    def _start(self, description: Path) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "tests.lab.longhorn", str(self._ground.kubeconfig()), str(description)]
        with self._log.open("wb") as output:
            return spawn(argv, {**os.environ, "PYTHONPATH": str(ROOT)}, ROOT, output)

    def _ready(self) -> bool:
        said = self._log.read_text(errors="replace")
        if self._process.poll() is not None:
            last = (said.strip().splitlines() or ["it said nothing"])[-1]
            raise LabError(f"Longhorn's process ended: {last}; all that it said is in {self._log}.")
        return "ready" in said.splitlines()

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(END_TIMEOUT)
