"""A playbook of the collection in a process of its own, with the same Python and the same configuration of Ansible."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common.errors import refusal
from .forked import ForkedProcess, started
from .given_values import given_text

COLLECTION = "stateful.upgrade"
PYTHON = (sys.executable, "-m", "ansible", "playbook")
"""The words that start ansible-playbook with the Python of this process."""
TURN = 1.0
"""Seconds between two calls of the listener while the process writes nothing."""
PARTING = 30.0
"""Seconds that a process has to end cleanly after an interrupt, before it is killed."""


@dataclass(frozen=True)
class PlaybookCommand:
    """A playbook with its variables."""

    playbook: str
    """Its name without the collection."""
    variables: Mapping[str, Any]
    inventory: Sequence[str] = ()
    """Its inventory; empty for a system whose members are pods, which needs none."""
    arguments: Sequence[str] = ()

    def words(self, variables_file: str) -> list[str]:
        """The command line. Variables are in a file, since everyone on a machine can see its command lines."""
        sources = [word for each in self.inventory or ("localhost,",) for word in ("--inventory", each)]
        extra = ["--extra-vars", f"@{variables_file}"]
        return [
            *PYTHON,
            *sources,
            *extra,
            *self.arguments,
            f"{COLLECTION}.{self.playbook}",
        ]


@dataclass
class Played:
    """The end of a playbook."""

    code: int
    """The exit code."""
    statistics: Mapping[str, Any] = field(default_factory=dict)
    """The custom statistics of the run; empty if it ended before its first task."""
    last: str = ""
    """The last line of its output."""
    unlogged: str = ""
    """Why lines of its output are lost, because its log could not be written; empty if it has all."""

    @property
    def changed(self) -> bool:
        """Whether it has changed anything; true if it ended without statistics, because it may have."""
        return bool(self.statistics.get("upgrade_changed", True))


def play(command: PlaybookCommand, log: Path, hear: Callable[[str], None]) -> Played:
    """Run a playbook to its end. Its output goes into the file `log`.

    `hear` gets each line, and an empty one in each second without a line. It may raise, which ends the process.

    Raises:
        Refusal: the process cannot be started, or there can be no log. A log that can no longer be written, as on a
            full disk, ends nothing.
    """
    with tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as folder:
        variables, statistics = Path(folder, "variables.json"), Path(folder, "statistics.json")
        try:
            variables.touch(0o600)
            variables.write_text(given_text(command.variables), encoding="utf-8")
            log.parent.mkdir(0o700, parents=True, exist_ok=True)
            with _Log(log, hear) as kept:
                code, last = _run(command.words(str(variables)), _environment(statistics), kept, hear)
        except OSError as error:
            raise refusal(
                "cluster_process_failed",
                f"The playbook {command.playbook} cannot be run in a process of its own: {error}.",
                "See that ansible-core is installed for the Python that runs this task, and that upgrade_fleet_path may"
                " be written.",
            ) from error
        return Played(code, _statistics(statistics), last, kept.lost)


class _Log:
    """The file with the output of a process. Lines that cannot be written are lost, and the process goes on."""

    def __init__(self, path: Path, hear: Callable[[str], None]) -> None:
        self._path, self._hear = path, hear
        self._file = path.open("w", encoding="utf-8")
        self.lost = ""
        """Why lines are lost; empty if none is."""

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_error: object) -> None:
        # What is still in its buffer is written here, so this fails as a write does.
        try:
            self._file.close()
        except OSError as error:
            self._loses(error)

    def write(self, line: str) -> None:
        """Write a line. The first one that is lost is heard of."""
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            if self._loses(error):
                self._hear(self.lost)

    def _loses(self, error: OSError) -> bool:
        first = not self.lost
        self.lost = (
            self.lost or f"lines of its output are lost, since {self._path} cannot be written: {error.strerror}."
        )
        return first


def _environment(statistics: Path) -> dict[str, str]:
    enabled = os.environ.get("ANSIBLE_CALLBACKS_ENABLED", "")
    return {
        **os.environ,
        "ANSIBLE_STDOUT_CALLBACK": f"{COLLECTION}.concise",
        "ANSIBLE_CALLBACKS_ENABLED": ",".join(each for each in (enabled, f"{COLLECTION}.stats_file") if each),
        "STATEFUL_UPGRADE_STATS_FILE": str(statistics),
        "ANSIBLE_FORCE_COLOR": "false",
        "ANSIBLE_NOCOLOR": "true",
        "TERM": "dumb",
    }


def _run(
    words: Sequence[str], environment: Mapping[str, str], log: _Log, hear: Callable[[str], None]
) -> tuple[int, str]:
    process = started(words[len(PYTHON) :], environment) or subprocess.Popen(  # noqa: S603 - of this collection
        words,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    last = ""
    try:
        for line in _lines(process):
            if line:
                log.write(line)
            if line.strip():
                last = line.strip()
            hear(line.rstrip())
        return process.wait(), last
    finally:
        _end(process)


def _lines(process: subprocess.Popen[str] | ForkedProcess) -> Iterator[str]:
    """Each line as it comes, and an empty text for each second without one."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=TURN)
        except queue.Empty:
            line = ""
        if line is None:
            return
        yield line


def _end(process: subprocess.Popen[str] | ForkedProcess) -> None:
    """End a process whose run is no longer wanted, as Ctrl-C does, so that its upgrade can be continued."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PARTING)
        except subprocess.TimeoutExpired:
            process.kill()


def _statistics(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
