"""Ends a lab from its directory alone, whatever state it was left in."""

from __future__ import annotations

import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.kubelet.limits import remove_groups
from tests.lab.plan import FILE
from tests.lab.processes import Ledger, ProcessRecord, is_alive, kill_left_over, left_over, send_signal

ORDERLY_END = 30.0


@dataclass(frozen=True)
class Teardown:
    """The work that was necessary: `killed` are processes that the daemon's own end had left."""

    killed: list[ProcessRecord]
    recorded: list[ProcessRecord]


def tear_down(directory: Path, *, keep: bool = False) -> Teardown:
    """End a lab's processes and remove its directory, or with `keep` only its processes. Raises LabError."""
    if not (directory / FILE).exists():
        raise LabError(f"{directory} is not the directory of a lab (it has no {FILE}); name one with --directory.")
    records = Ledger(directory / "processes.jsonl").records()
    daemons = [record for record in records if record.name == "daemon" and is_alive(record)]
    for daemon in daemons:
        _end_orderly(daemon)
    killed = kill_left_over(directory, records)
    rest = left_over(directory, records)
    if rest:
        numbers = ", ".join(f"{record.name} ({record.pid})" for record in rest)
        raise LabError(f"These processes of the lab in {directory} could not be killed: {numbers}; run as their owner.")
    if groups := ", ".join(map(str, remove_groups(directory))):
        raise LabError(f"These control groups of the lab in {directory} could not be removed: {groups}; run as root.")
    if not keep:
        shutil.rmtree(directory)
    return Teardown(killed, records)


def _end_orderly(daemon: ProcessRecord) -> None:
    """Ask the daemon to end, and wait until it has."""
    send_signal(daemon, signal.SIGTERM)
    deadline = time.monotonic() + ORDERLY_END
    while is_alive(daemon) and time.monotonic() < deadline:
        time.sleep(0.02)
