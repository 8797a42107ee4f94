"""The servers of the scenarios: `python -m tests.molecule.servers up|down DIRECTORY INVENTORY`.

`up` returns when all of them serve and the inventory has how to reach them. One process keeps them until `down`, or
until the process that the environment names as their owner is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.checks.tree import ROOT, linked_project
from tests.lab.errors import LabError, exit_code
from tests.lab.opensearch.hosts import Host
from tests.lab.processes import ProcessRecord, is_alive, record_of
from tests.lab.waiting import until

OWNER = "STATEFUL_UPGRADE_OWNER"
"""The variable of the environment with the id of the process that the servers must not outlive."""
START, END = 300.0, 120.0
"""Seconds that it may take on a busy machine."""
DAEMON, HOSTS = "daemon.json", "hosts"


def up(directory: Path, inventory: Path) -> None:
    """Start all servers, and wait until they serve.

    Raises:
        LabError: they do not; the log of their daemon says why.
    """
    directory.mkdir(parents=True, exist_ok=True)
    down(directory, inventory)
    command = [sys.executable, "-m", "tests.molecule.clusters", str(directory), str(inventory)]
    # The servers in memory use parts of the collection.
    surroundings = {**os.environ, "PYTHONPATH": str(linked_project())}
    log = directory / "daemon.log"
    with log.open("w", encoding="utf-8") as output:
        kept = subprocess.Popen(
            command,
            cwd=ROOT,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    (directory / DAEMON).write_text(json.dumps(asdict(record_of("daemon", kept.pid))), encoding="utf-8")
    until("The start of the servers", lambda: inventory.exists() or kept.poll() is not None, START)
    if kept.poll() is not None:
        raise LabError(f"The servers could not be started: {log.read_text(encoding='utf-8')}")


def down(directory: Path, inventory: Path) -> None:
    """End all servers, also those of a daemon that was killed."""
    record = _recorded(directory / DAEMON)
    if record is not None and is_alive(record):
        os.kill(record.pid, signal.SIGTERM)
        until("The end of the servers", lambda: not is_alive(record), END)
    hosts = directory / HOSTS
    for member in Path(hosts.read_text(encoding="utf-8")).glob("*/process.json") if hosts.exists() else ():
        Host(member.parent).stop(signal.SIGKILL)
    for left in (directory / DAEMON, hosts, inventory):
        left.unlink(missing_ok=True)


def _recorded(path: Path) -> ProcessRecord | None:
    return ProcessRecord(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def main() -> int:
    """Runs the command line and gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.molecule.servers", description=__doc__)
    parser.add_argument("step", choices=["up", "down"])
    parser.add_argument("directory", type=Path, help="the folder of the servers")
    parser.add_argument("inventory", type=Path, help="the file of the inventory that is written")
    options = parser.parse_args()
    work = {"up": up, "down": down}[options.step]
    return exit_code(lambda: work(options.directory.absolute(), options.inventory.absolute()))


if __name__ == "__main__":
    sys.exit(main())
