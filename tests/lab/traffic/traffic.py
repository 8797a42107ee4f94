"""Traffic for tests: a generator in a process of its own, started, stopped and checked from Python."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from tests.lab.errors import LabError
from tests.lab.processes import spawn
from tests.lab.traffic.checker import check_documents, seed_documents
from tests.lab.traffic.members import Members, Target
from tests.lab.traffic.records import FILES, Operation
from tests.lab.traffic.report import Loss, Report
from tests.lab.waiting import until

ROOT = Path(__file__).parents[3]
DOCUMENTS = 30_000
RATE = 6.0
"""Operations a second: enough to see a gap, and little enough to leave the cores to the upgrade."""
TIMEOUT = 10.0
LONGEST = 2000
"""The characters of a failed generator's output that are shown."""


def seed(target: Target, directory: Path, documents: int = DOCUMENTS) -> None:
    """Makes the indices and fills them; the directory receives the acknowledgements.

    Raises:
        LabError: the cluster is not ready within a minute, or refuses.
    """
    directory.mkdir(parents=True, exist_ok=True)

    async def work() -> None:
        async with Members(target) as members:
            await seed_documents(members, directory, documents)

    asyncio.run(work())


def check(target: Target, directory: Path) -> Report:
    """Reads every acknowledged document back, completes the directory's report with what is missing, and gives it.

    Raises:
        LabError: no member answers within a minute, or the directory has no report.
    """

    async def work() -> Loss:
        async with Members(target) as members:
            return await check_documents(members, directory)

    try:
        report = Report.read(directory)
    except FileNotFoundError as error:
        raise LabError(f"There is no report in {directory}; stop the traffic with SIGTERM before the check.") from error
    report = dataclasses.replace(report, loss=asyncio.run(work()))
    report.write(directory)
    return report


class Traffic:
    """A running generator. As a context manager it leaves no process behind."""

    def __init__(self, target: Target, directory: Path, process: subprocess.Popen[bytes]) -> None:
        self.target = target
        self.directory = directory
        self._process = process

    @classmethod
    def start(cls, target: Target, directory: Path, *, rate: float = RATE, timeout: float = TIMEOUT) -> Traffic:
        """Starts ``rate`` operations a second, each waiting ``timeout`` seconds at most; returns after the first.

        Raises:
            LabError: the generator ends before it has done anything.
        """
        directory.mkdir(parents=True, exist_ok=True)
        options = {
            "--kubeconfig": target.kubeconfig,
            "--namespace": target.namespace,
            "--selector": target.selector,
            "--port": target.port,
            "--hosts": ",".join(target.hosts),
            "--directory": directory,
            "--rate": rate,
            "--timeout": timeout,
        }
        argv = [
            sys.executable,
            "-m",
            "tests.lab.traffic",
            "run",
            *(f"{name}={value}" for name, value in options.items()),
        ]
        with (directory / "traffic.log").open("ab") as output:
            traffic = cls(target, directory, spawn(argv, os.environ, ROOT, output))
        until("the first operation of the traffic", traffic._working, 120)
        return traffic

    def stop(self) -> Report:
        """Stops the generator, reads every acknowledged document back, and gives the report.

        Raises:
            LabError: the generator had failed, or no member answers within a minute.
        """
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait() != 0:
            said = (self.directory / "traffic.log").read_text(encoding="utf-8", errors="replace").strip()
            raise LabError(f"The traffic generator failed: {said[-LONGEST:] or 'it said nothing'}")
        return check(self.target, self.directory)

    def _working(self) -> bool:
        if self._process.poll() is not None:
            raise LabError(f"The traffic generator ended at once; read {self.directory / 'traffic.log'}.")
        operations = self.directory / FILES[Operation]
        return operations.exists() and operations.stat().st_size > 0

    def __enter__(self) -> Traffic:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
