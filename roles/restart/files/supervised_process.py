# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that the agent stops and starts, with all that it starts itself, its log, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
WATCHED = ENDING | {signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD}
LINES, LONGEST = 20, 1_000
"""The most lines of the log that are kept, and the most bytes of each."""
REMEMBERED = 64
"""The most requests that are remembered as carried out."""
CHUNK = 65_536
AGAIN = 1.0
"""Seconds until a process that its parent has left behind gets SIGTERM again."""


class Refused(Exception):
    """A request is not carried out: a status of HTTP, and one sentence for the caller."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers


def log(text: str) -> None:
    """One line of the agent in the log of the container."""
    pass_on(2, f"process-agent: {text}\n".encode(errors="replace"))


def pass_on(target: int, data: bytes) -> None:
    """Write everything. If no one reads it any more, it is lost, and the process continues."""
    try:
        while data:
            data = data[os.write(target, data) :]
    except OSError:
        return


def content(path: str) -> bytes:
    """The bytes of a regular file."""
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    with open(path, "rb") as file:
        return file.read()


def checksum(files: Sequence[str]) -> str | None:
    """The SHA-256 of one file, or of the lines with those of several; None if one of them cannot be read."""
    try:
        sums = [hashlib.sha256(content(file)).hexdigest() for file in files]
    except OSError:
        return None
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(f"{each}\n" for each in sums).encode()).hexdigest()


def descendants() -> set[int]:
    """The living processes below this one; the kernel gives it those whose parents have died (PID 1, or subreaper).

    There are none if /proc shows another PID namespace, because its numbers would be those of foreign processes.
    """
    below: dict[int, list[int]] = {}
    try:
        numbers = os.listdir("/proc") if os.readlink("/proc/self") == str(os.getpid()) else []
    except OSError:
        numbers = []
    for number in filter(str.isdigit, numbers):
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                state, parent = file.read().rpartition(b") ")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in (b"Z", b"X"):
            below.setdefault(int(parent), []).append(int(number))
    found, left = set[int](), [os.getpid()]
    while left:
        children = below.pop(left.pop(), [])
        found.update(children)
        left += children
    return found


def send(number: int, pids: Iterable[int]) -> None:
    """Send a signal to processes. One that is already gone is left out."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


class Output:
    """Passes the output of the process on to that of the container, and remembers its last lines."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=LINES)
        self.ends: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()
        for target in (1, 2):
            reading, self.ends[target] = os.pipe()
            self._selector.register(reading, selectors.EVENT_READ, target)
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait for the last words. Another process may keep the pipes open, so not for long."""
        for end in self.ends.values():
            os.close(end)
        self._thread.join(2)

    def _copy(self) -> None:
        begun = dict.fromkeys(self.ends, b"")
        while self._selector.get_map():
            for key, _events in self._selector.select():
                data = os.read(key.fd, CHUNK)
                if not data:
                    self._selector.unregister(key.fd)
                pass_on(key.data, data)
                *lines, rest = (begun[key.data] + data).split(b"\n")
                begun[key.data] = rest[:LONGEST]
                self.lines.extend(line[:LONGEST].decode(errors="replace") for line in lines)


class Memory:
    """The facts that outlive the container if there is a folder for them, as an emptyDir is; else they end with it."""

    def __init__(self, folder: str | None) -> None:
        self._path = os.path.join(folder, "state.json") if folder else None
        self.stopped = False
        """Whether the process is to stay stopped."""
        self.begun = False
        """Whether the process of this pod was started once."""
        self.requests: list[str] = []
        self.exit_code: int | None = None
        self.ended_at: str | None = None
        try:
            self._take(json.loads(content(self._path)) if self._path else {})
        except FileNotFoundError:
            pass
        except (AttributeError, OSError, TypeError, ValueError):
            log("The kept state cannot be read, so the process is not started before that is requested.")
            self.stopped = True

    def carried_out(self, kind: str, request: str | None) -> bool:
        """Whether a request with this identity was carried out before."""
        return request is not None and f"{kind} {request}" in self.requests

    def last(self, kind: str) -> str | None:
        """The identity of the last request of a kind."""
        found = [each.partition(" ")[2] for each in self.requests if each.startswith(f"{kind} ")]
        return found[-1] if found else None

    def having(self, request: str | None, *kinds: str) -> list[str]:
        """The requests that will have been carried out."""
        added = [f"{kind} {request}" for kind in kinds] if request else []
        return [*(each for each in self.requests if each not in added), *added][-REMEMBERED:]

    def keep(self, **changes: Any) -> None:
        """Note changes. They count once they are on the disk, so that a restarted container follows them."""
        facts = {**self.facts(), **changes}
        if self._path:
            try:
                with open(f"{self._path}.new", "w", encoding="ascii") as file:
                    json.dump(facts, file)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(f"{self._path}.new", self._path)
            except OSError as error:
                raise Refused(503, f"The state of the process cannot be kept: {error.strerror}.") from error
        self._take(facts)

    def facts(self) -> dict[str, Any]:
        """All facts, as they were before a change."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _take(self, facts: dict[str, Any]) -> None:
        stopped, requests = facts.get("stopped", False), facts.get("requests", [])
        if not isinstance(stopped, bool) or not all(isinstance(each, str) for each in requests):
            raise TypeError
        self.stopped, self.requests = stopped, list(requests)
        self.begun = bool(facts.get("begun")) or self.last("start") is not None
        self.exit_code, self.ended_at = facts.get("exit_code"), facts.get("ended_at")


class Process:
    """The process. Requests, signals and looks come to it one at a time."""

    def __init__(self, command: list[str], files: Sequence[str], memory: Memory, patience: float) -> None:
        self._command, self._files, self._memory, self._patience = command, files, memory, patience
        self._lock = threading.RLock()
        self._output = Output()
        self._pid: int | None = None
        self._code: int | None = None
        """The exit code, from the end of the process until all that it has started has ended too."""
        self._started_at: str | None = None
        self._running: str | None = None
        """The checksum of the configuration at the start."""
        self._awaited: str | None = None
        """The checksum that the first start waits for."""
        self._stopping = self._leaving = False
        self._kill_at = float("inf")
        self._signalled = set[int]()
        self._signal_again = 0.0

    def status(self) -> dict[str, object]:
        """The whole state, for an answer."""
        mounted = checksum(self._files)
        with self._lock:
            runs = self._pid is not None
            return {
                "running": runs,
                "stopping": self._stopping or (self._leaving and runs),
                "stopped_by_request": self._memory.stopped,
                "pid": self._pid,
                "started_at": self._started_at,
                "checksum": mounted,
                "running_checksum": self._running if runs else None,
                "awaited_checksum": self._awaited,
                "exit_code": self._memory.exit_code,
                "ended_at": self._memory.ended_at,
                "last_stop": self._memory.last("stop"),
                "last_start": self._memory.last("start"),
                "log": list(self._output.lines),
            }

    def begin(self, awaited: str | None) -> None:
        """The start of the container. An OSError means that the command cannot be run."""
        with self._lock:
            if self._memory.stopped:
                log("The process stays stopped, as it was when this container began.")
            elif awaited and not self._memory.begun:
                log("The process starts as soon as the mounted configuration has the awaited checksum.")
                self._awaited = awaited
            else:
                self._spawn(checksum(self._files))

    def stop(self, request: str | None, patience: float | None) -> bool:
        """Have the process end and stay stopped; the result says whether it was to run before."""
        with self._lock:
            if self._memory.carried_out("stop", request):
                return False
            changed = not self._memory.stopped
            self._memory.keep(stopped=True, requests=self._memory.having(request, "stop"))
            self._awaited = None
            if self._pid is not None:
                end = time.monotonic() + (self._patience if patience is None else patience)
                self._kill_at = min(end, self._kill_at)
                if not self._stopping and self._code is None:
                    send(signal.SIGTERM, [self._pid])
                self._stopping = True
            return changed

    def start(self, request: str | None, wanted: str) -> bool:
        """Start the process on the mounted content of this checksum; the result says whether it did not run before."""
        with self._lock:
            if self._memory.carried_out("start", request):
                return False
            if self._leaving or self._stopping or self._code is not None:
                raise Refused(409, "The process is about to end; ask again when it has ended.")
            before, mounted = self._memory.facts(), checksum(self._files)
            if self._pid is not None and self._running != wanted:
                raise Refused(409, "The process runs with another configuration than the expected one.")
            if self._pid is None and mounted != wanted:
                raise Refused(409, "The mounted configuration is not the expected one.")
            # The stop of the same request may come late. It must not end what is started after it.
            self._memory.keep(stopped=False, begun=True, requests=self._memory.having(request, "stop", "start"))
            if self._pid is not None:
                return False
            try:
                self._spawn(mounted)
            except OSError as error:
                self._memory.keep(**before)
                raise Refused(409, f"The command of the process cannot be run: {error.strerror}.") from error
            return True

    def forward(self, number: int) -> None:
        """Pass a signal on. SIGTERM ends the agent after the process; if none runs, SIGINT and SIGQUIT do so too."""
        with self._lock:
            if self._pid is not None and self._code is None:
                send(number, [self._pid])
            if number == signal.SIGTERM or (number in ENDING and self._pid is None):
                self._leaving, self._awaited = True, None

    def tend(self) -> int | None:
        """Do what is due; the result is the exit code once the agent has to end."""
        with self._lock:
            self._reap()
            if self._awaited and checksum(self._files) == self._awaited:
                self._spawn(self._awaited)
                self._note(begun=True)
            if self._code is not None:
                # A shell that SIGTERM has ended may leave its server behind, which has to end in good order too.
                left = descendants()
                if not left:
                    return self._ended(self._code)
                if time.monotonic() >= self._signal_again:
                    # A signal between fork and exec may be lost with the trap of a shell.
                    self._signalled, self._signal_again = set(), time.monotonic() + AGAIN
                send(signal.SIGTERM, left - self._signalled)
                self._signalled |= left
                self._kill_at = min(self._kill_at, time.monotonic() + self._patience)
            if time.monotonic() >= self._kill_at:
                send(signal.SIGKILL, descendants() | ({self._pid} if self._pid and self._code is None else set()))
            return 0 if self._leaving and self._pid is None else None

    def pause(self) -> float:
        """The seconds until something may be due without a signal."""
        with self._lock:
            return 0.05 if self._code is not None else max(0.05, min(0.5, self._kill_at - time.monotonic()))

    def end(self) -> None:
        """Wait for the last words of the process."""
        self._output.end()

    def _spawn(self, mounted: str | None) -> None:
        self._output.lines.clear()
        # Not by subprocess: that runs Python between fork and exec to set the mask of signals, with other threads.
        self._pid = os.posix_spawnp(
            self._command[0],
            self._command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, end, target) for target, end in self._output.ends.items()],
            setsigmask=[],
            setsigdef=[*WATCHED, signal.SIGPIPE, signal.SIGXFSZ],
        )
        self._started_at, self._running, self._awaited = _now(), mounted, None

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                code = os.waitstatus_to_exitcode(status)
                # Shells and Kubernetes count an end by a signal like this.
                self._code = code if code >= 0 else 128 - code

    def _ended(self, code: int) -> int | None:
        self._pid = self._code = None
        self._stopping, self._kill_at, self._signalled = False, float("inf"), set()
        log(f"The process has ended with {code}.")
        self._note(exit_code=code, ended_at=_now())
        return code if self._leaving or not self._memory.stopped else None

    def _note(self, **changes: Any) -> None:
        try:
            self._memory.keep(**changes)
        except Refused as refused:
            log(str(refused))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
