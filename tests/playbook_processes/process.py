"""Starts runs of ansible-playbook, and waits for them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MOST_PREPARED = 3
"""Each of them has some hundred megabytes. Tests with settings of their own come one after the other."""

FILES = 3
"""The open files that come with each message: the request, the output, and the socket that waits for the ends."""

LOOK = 0.05
"""The most seconds until a thread that waits for an end looks whether another one has read it."""

READ_EARLY = ("ANSIBLE_", "PYTHON")
"""The variables that Ansible and Python read when they start."""

Settings = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Request:
    """A run that is asked for."""

    argv: list[str]
    environment: dict[str, str]
    folder: str
    own_session: bool
    """Whether it leads a session and a process group of its own, as on a terminal."""


_PREPARED: dict[Settings, socket.socket] = {}
"""The socket over which runs with these settings are asked for."""
_STARTED: list[subprocess.Popen[bytes]] = []
"""All of them, kept until this process ends: each ends after its last run, once no one can ask it for more."""
_ONE_AT_A_TIME = threading.Lock()


def _prepared(environment: Mapping[str, str]) -> socket.socket:
    """Start a process that prepares runs with the settings of this environment; gives the socket to it."""
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.playbook_processes.prepared", str(theirs.fileno())],
            cwd=ROOT,
            env=dict(environment),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    _STARTED.append(process)
    return channel


def _channel_for(environment: Mapping[str, str]) -> socket.socket:
    settings = frozenset((name, value) for name, value in environment.items() if name.startswith(READ_EARLY))
    with _ONE_AT_A_TIME:
        channel = _PREPARED.pop(settings, None) or _prepared(environment)
        _PREPARED[settings] = channel
        while len(_PREPARED) > MOST_PREPARED:
            del _PREPARED[next(iter(_PREPARED))]
        return channel


class PlaybookProcess:
    """A run of ansible-playbook that goes on by itself."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: Path | None = None,
        own_session: bool = False,
    ) -> None:
        """Start the program `argv[0]`, a script of Python, in this folder.

        Raises:
            RuntimeError: Ansible could not be imported; the reason was printed.
        """
        self._code: int | None = None
        self._reading = threading.Lock()
        self._said = b""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is read after the end of the run
        self._status, theirs = socket.socketpair()
        for each in (self._output, self._status):
            weakref.finalize(self, each.close)
        request = Request(list(argv), dict(environment), str(folder or Path.cwd()), own_session)
        with theirs, tempfile.TemporaryFile("w+") as asked:
            json.dump(asdict(request), asked)
            asked.seek(0)
            files = [asked.fileno(), self._output.fileno(), theirs.fileno()]
            socket.send_fds(_channel_for(environment), [b"r"], files)
        self.pid = self._next_number()

    def _next_number(self) -> int:
        while b"\n" not in self._said:
            more = self._status.recv(64)
            if not more:
                raise RuntimeError("The process that starts ansible-playbook for the tests has ended.")
            self._said += more
        number, _end, self._said = self._said.partition(b"\n")
        return int(number)

    @property
    def output(self) -> str:
        """All that it has written so far."""
        number = self._output.fileno()
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")

    def poll(self) -> int | None:
        """The exit code, or minus the signal that has ended it; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(timeout=0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, or minus the signal that has ended it.

        Raises:
            subprocess.TimeoutExpired: it still runs after this many seconds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self._ended()) is None:
            left = LOOK if until is None else until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired("ansible-playbook", timeout or 0)
            # Another thread may read the code, and close the socket.
            with contextlib.suppress(OSError, ValueError):
                select.select([self._status], [], [], min(left, LOOK))
        return code

    def _ended(self) -> int | None:
        """The exit code if it is there. The test and the servers that it plays ask in threads of their own."""
        with self._reading:
            if self._code is None and (self._said or select.select([self._status], [], [], 0)[0]):
                self._code = self._next_number()
                self._status.close()
            return self._code

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """Send it a signal, or its whole group, unless it has ended."""
        if self.poll() is None:
            (os.killpg if group else os.kill)(self.pid, number)

    def kill(self) -> None:
        """End it at once, unless it has ended."""
        self.signal(signal.SIGKILL)


def run(
    argv: Sequence[str], environment: Mapping[str, str], *, timeout: float | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end; nothing of it is left if it takes longer than `timeout` seconds.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    controller = PlaybookProcess(argv, environment, folder=folder)
    try:
        code = controller.wait(timeout)
    except BaseException:
        controller.kill()
        raise
    return subprocess.CompletedProcess(list(argv), code, controller.output)


def program() -> str:
    """The script ansible-playbook next to the Python that runs the tests."""
    return str(Path(sys.executable).with_name("ansible-playbook"))
