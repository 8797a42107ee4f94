"""The real version operator as a process, which is replaced by the one of another release as a kubelet would do it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.lab.openshift.build import UPDATES, VERSION_OPERATOR
from tests.lab.openshift.payloads import DEPLOYED, NAMESPACE, Payloads
from tests.lab.openshift.server import Server
from tests.lab.processes import spawn
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS

RESYNC = "1s"
"""The operator looks again after this, and up to twice as late; it is two minutes by default."""
END = 10.0


class VersionOperator:
    """It runs in one release after the other: its own manifest says in which."""

    def __init__(self, kubeconfig: Path, payloads: Payloads, log: Path) -> None:
        self._kubeconfig, self._payloads, self._log = kubeconfig, payloads, log
        self._process: subprocess.Popen[bytes] | None = None
        self.image = ""
        """The image of the release that it runs in."""
        self.started: list[str] = []
        """The images of all processes that were started."""

    def start(self, image: str) -> None:
        """Start it in a release."""
        environment = {"NODE_NAME": "master-0", "PAYLOAD_OVERRIDE": str(self._payloads.place(image))}
        environment[UPDATES] = str(self._payloads.folder)
        argv = [str(VERSION_OPERATOR.ensure_built()), "start", f"--kubeconfig={self._kubeconfig}"]
        argv += [f"--release-image={image}", f"--resync={RESYNC}", "-v=2"]
        with self._log.open("ab") as output:
            self._process = spawn(argv, {**os.environ, **environment}, self._payloads.folder, output)
        self.image = image
        self.started.append(image)

    def step(self, server: Server) -> None:
        """Have it run in the release of its manifest, and again if it has ended."""
        found = server.get(CONFIG_MAPS, DEPLOYED, NAMESPACE)
        wanted = found["data"]["image"] if found is not None else self.image
        if self._process is None or self._process.poll() is not None:
            self.start(wanted)
        elif wanted != self.image:
            self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(END)
