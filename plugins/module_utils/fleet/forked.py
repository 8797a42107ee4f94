"""Playbooks as forks of a prepared process, which the workers of one run of a fleet share."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..common.ancestry import alive, identity_of
from ..common.waiting import pause
from .prepared import NO_FORK, POLL

PROGRAM = Path(__file__).with_name("prepared.py")
STARTING = 120
"""Seconds that the process which is forked has for its imports."""


class NoForkNow(OSError):
    """Memory or processes were too short for this fork, and the process that forks is still there."""


class Forks:
    """The socket over which playbooks are asked for. It is made before the workers are, and shared by them."""

    def __init__(self) -> None:
        """The first worker that needs the process starts it: the one that reads the only byte."""
        self._channel, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._first, token = os.pipe()
        os.set_blocking(self._first, False)
        os.write(token, b"1")
        os.close(token)
        self._surroundings = dict(os.environ)
        self._broken = mmap.mmap(-1, 1)  # one byte that all workers share
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def serve(self) -> bool:
        """Whether a playbook of this worker can be forked. Not if its task has an environment of its own."""
        return dict(os.environ) == self._surroundings and not self._is_broken()

    def start(self, arguments: Sequence[str], environment: Mapping[str, str]) -> ForkedProcess:
        """Start a playbook.

        Raises:
            OSError: no process can be forked; nothing was started.
        """
        with contextlib.suppress(BlockingIOError):
            if os.read(self._first, 1):
                self._prepare(environment)
        status, theirs = socket.socketpair()
        reads, writes = os.pipe()
        request = {"arguments": [*arguments], "environment": dict(environment), "folder": os.getcwd()}
        with theirs, tempfile.TemporaryFile("w+", encoding="utf-8") as asked:
            json.dump(request, asked)
            asked.flush()
            asked.seek(0)
            try:
                socket.send_fds(self._channel, [b"r"], [asked.fileno(), writes, theirs.fileno()])
            finally:
                os.close(writes)
        try:
            return ForkedProcess(status, os.fdopen(reads, encoding="utf-8", errors="replace"), self._is_broken)
        except NoForkNow:
            raise
        except OSError:
            self._broken[0] = 1
            raise

    def _is_broken(self) -> bool:
        """Whether the process that forks has failed. Then each playbook is a process with its own imports."""
        if self._process is not None and self._process.poll():
            self._broken[0] = 1
        return bool(self._broken[0])

    def _prepare(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this Python, and a program of this collection
            [sys.executable, str(PROGRAM), str(self._theirs.fileno())],
            env=dict(environment),
            pass_fds=[self._theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class ForkedProcess:
    """A playbook that runs, with as much of `subprocess.Popen` as its listener needs."""

    def __init__(self, status: socket.socket, output: IO[str], is_broken: Callable[[], bool]) -> None:
        self.stdout = output
        self._status, self._said = status, b""
        self._code: int | None = None
        try:
            self._pid = self._first_number(is_broken)
            if self._pid == NO_FORK:
                raise NoForkNow("the process that forks playbooks could not fork")
            self._identity = identity_of(self._pid)
        except OSError:
            status.close()  # so that a fork that starts too late ends at once
            output.close()
            raise

    def poll(self) -> int | None:
        """The exit code, or minus the signal that has ended it; None while it runs."""
        if self._code is None and (self._said or select.select([self._status], [], [], 0)[0]):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._code = self._end(0.0)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """The exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs after so many seconds.
        """
        if self._code is None:
            self._code = self._end(timeout)
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _end(self, timeout: float | None) -> int:
        try:
            return self._number(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired("ansible-playbook", timeout or 0) from None
        except OSError:
            pass  # the process that forks is gone, and the playbook goes on without it
        over = None if timeout is None else time.monotonic() + timeout
        while alive(self._identity):
            if over is not None and time.monotonic() >= over:
                raise subprocess.TimeoutExpired("ansible-playbook", timeout or 0)
            pause(POLL)
        return -int(signal.SIGKILL)  # its code is not known

    def _first_number(self, is_broken: Callable[[], bool]) -> int:
        for _second in range(STARTING):
            with contextlib.suppress(TimeoutError):
                return self._number(1.0)
            if is_broken():
                break
        raise TimeoutError("the process that forks playbooks is not there")

    def _number(self, timeout: float | None) -> int:
        while b"\n" not in self._said:
            if not select.select([self._status], [], [], timeout)[0]:
                raise TimeoutError("no answer of the process that forks playbooks")
            more = self._status.recv(64)
            if not more:
                raise ConnectionError("the process that forks playbooks has ended")
            self._said += more
        number, _end, self._said = self._said.partition(b"\n")
        return int(number)


_FORKS: list[Forks] = []
"""The forks of this run of a fleet, made in its controller."""


def prepare(settings: Any) -> None:
    """Have the playbooks of this run forked, where that is possible. The workers of later tasks share it.

    `settings` are those of Ansible. Its controller waits for hours, so it checks less often whether a task has ended.
    """
    settings.DEFAULT_INTERNAL_POLL_INTERVAL = max(settings.DEFAULT_INTERNAL_POLL_INTERVAL, POLL)
    if sys.platform == "linux" and PROGRAM.is_file() and not _FORKS:
        with contextlib.suppress(OSError):
            _FORKS.append(Forks())


def started(arguments: Sequence[str], environment: Mapping[str, str]) -> ForkedProcess | None:
    """A playbook that was forked; None where none can be."""
    for forks in _FORKS:
        if forks.serve:
            with contextlib.suppress(OSError):
                return forks.start(arguments, environment)
    return None
