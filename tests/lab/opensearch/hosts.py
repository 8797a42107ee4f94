"""A plain host with one member on it, without Kubernetes: a directory, an address, and one Java process.

``python -m tests.lab.opensearch.hosts stop|install|start <directory> [version]`` is what a test's tasks do on it; each
of them is done already where it has nothing to do. ``run`` becomes the member, for something else that starts and ends
processes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import exit_code
from tests.lab.images import ContainerContext, Launch
from tests.lab.opensearch.image import image
from tests.lab.processes import ProcessRecord, is_alive, pod_user, record_of, send_signal, spawn
from tests.lab.waiting import until

STOP_TIMEOUT = 60.0


@dataclass(frozen=True)
class Host:
    """One host; all that is known of it is in its directory."""

    directory: Path

    @classmethod
    def make(cls, directory: Path, name: str, address: str, settings: Mapping[str, str]) -> Host:
        """Makes a host for the member of that name; nothing is installed on it yet."""
        for place in (directory, directory / "scratch", directory / "data"):
            place.mkdir(parents=True)
            if (user := pod_user()) is not None:
                os.chown(place, user.uid, user.gid)
        made = {"name": name, "address": address, "settings": dict(settings)}
        (directory / "host.json").write_text(json.dumps(made), encoding="utf-8")
        return cls(directory)

    @property
    def process(self) -> ProcessRecord | None:
        """The member's process, if it runs."""
        place = self.directory / "process.json"
        record = ProcessRecord(**json.loads(place.read_text(encoding="utf-8"))) if place.exists() else None
        return record if record is not None and is_alive(record) else None

    def install(self, version: str) -> None:
        """Makes this the version that is started next."""
        (self.directory / "version").write_text(version, encoding="utf-8")

    def start(self) -> None:
        """Starts the installed version on the data that is there."""
        if self.process is not None:
            return
        launch = self._launch()
        with (self.directory / "member.log").open("ab") as output:
            process = spawn(launch.argv, launch.env, launch.cwd, output, user=pod_user(), mortal=False)
        record = record_of(self._name, process.pid)
        (self.directory / "process.json").write_text(json.dumps(record.__dict__), encoding="utf-8")

    def run(self) -> None:
        """Becomes the process of the installed version, on the data that is there."""
        launch = self._launch()
        if (user := pod_user()) is not None:
            os.setgroups([])
            os.setgid(user.gid)
            os.setuid(user.uid)
        os.chdir(launch.cwd)
        os.execve(launch.argv[0], launch.argv, dict(launch.env))

    @property
    def _name(self) -> str:
        return str(json.loads((self.directory / "host.json").read_text(encoding="utf-8"))["name"])

    def _launch(self) -> Launch:
        made = json.loads((self.directory / "host.json").read_text(encoding="utf-8"))
        mounts = {"/usr/share/opensearch/data": self.directory / "data"}
        name, scratch = made["name"], self.directory / "scratch"
        context = ContainerContext(
            "hosts", name, "opensearch", made["address"], scratch, mounts, made["settings"], (), ()
        )
        return image((self.directory / "version").read_text(encoding="utf-8")).launch(context)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Asks the process to end, and waits until it has.

        Raises:
            LabError: it does not end within a minute.
        """
        if (process := self.process) is not None:
            send_signal(process, number)
            until(f"The end of {process.name}", lambda: not is_alive(process), STOP_TIMEOUT)


def main() -> int:
    """Runs the command line and gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.opensearch.hosts", description=__doc__)
    parser.add_argument("step", choices=["stop", "install", "start", "run"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("version", nargs="?", default="")
    arguments = parser.parse_args()
    host = Host(arguments.directory)
    if arguments.step == "install":
        return exit_code(lambda: host.install(arguments.version))
    return exit_code({"stop": host.stop, "start": host.start, "run": host.run}[arguments.step])


if __name__ == "__main__":
    sys.exit(main())
