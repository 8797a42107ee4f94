"""Processes of a lab: started in sessions of their own, recorded by id and start time, ended by that record.

A process id alone says nothing once the process is gone, because the kernel reuses numbers. The start time
(field 22 of /proc/<pid>/stat, in clock ticks since boot) makes the pair unique until the next boot.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO

MARK = "STATEFUL_UPGRADE_LAB"
"""Every process of a lab has this environment variable: the lab's directory."""
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class ProcessRecord:
    """One process that a lab started."""

    name: str
    pid: int
    start: int


@dataclass(frozen=True)
class _Stat:
    state: str
    start: int


@dataclass(frozen=True)
class User:
    """The user and group that pods run as."""

    uid: int
    gid: int


def pod_user() -> User | None:
    """Root runs pods as the user nobody, as no database server runs as root; others run them as themselves."""
    return User(65534, 65534) if os.geteuid() == 0 else None


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the command name may hold blanks and parentheses
    return _Stat(state=fields[0], start=int(fields[19]))


def record_of(name: str, pid: int) -> ProcessRecord:
    """The record of a process that runs now, or has ended without being waited for."""
    stat = _stat(pid)
    return ProcessRecord(name, pid, stat.start if stat else -1)


def is_alive(record: ProcessRecord) -> bool:
    """Whether this very process, not a later one of the same number, still runs."""
    stat = _stat(record.pid)
    return stat is not None and stat.start == record.start and stat.state not in "ZX"


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends (prctl PR_SET_PDEATHSIG)."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


Output = IO[bytes] | int | tuple[IO[bytes], IO[bytes]]
"""The file of all that a process says, or one of what it says and one of its errors."""


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    output: Output,
    *,
    user: User | None = None,
    mortal: bool = True,
    group: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, as `user`; a mortal one is killed by the kernel with its parent.

    With a control `group` it is in there from its first instruction on, and so is all that it starts. Raises OSError.
    """
    stdout, stderr = output if isinstance(output, tuple) else (output, subprocess.STDOUT)
    identity: dict[str, object] = {} if user is None else {"user": user.uid, "group": user.gid, "extra_groups": []}
    # The parent opens the group's file: the kernel asks for the rights of whoever opened it, and the process has become
    # `user` by the time it enters.
    entrance = None if group is None else os.open(group / "cgroup.procs", os.O_WRONLY)
    before: Callable[[], None] | None = partial(_begin, entrance, mortal) if mortal or group else None
    try:
        return subprocess.Popen(  # type: ignore[call-overload]
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=before,  # noqa: PLW1509 - two system calls, no Python lock is taken
            **identity,
        )
    except subprocess.SubprocessError as error:
        raise OSError(errno.EPERM, "its processes may not enter it", str(group)) from error
    finally:
        if entrance is not None:
            os.close(entrance)


def _begin(entrance: int | None, mortal: bool) -> None:
    """Prepare a new process before its program starts."""
    if entrance is not None:
        os.write(entrance, b"0")
    if mortal:
        die_with_parent()


class Ledger:
    """The file in a lab's directory that names every process the lab started."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, record: ProcessRecord) -> None:
        with self.path.open("a") as handle:
            handle.write(json.dumps(asdict(record)) + "\n")

    def records(self) -> list[ProcessRecord]:
        if not self.path.exists():
            return []
        return [ProcessRecord(**json.loads(line)) for line in self.path.read_text().splitlines()]


class Process:
    """A running child; its exit is seen through a pidfd, so no thread and no signal handler is involved.

    When the leader ends, the rest of its process group is killed, as the end of a container's first process ends
    the container. That happens before the leader is waited for, so the group's number cannot have been used again.
    """

    def __init__(self, popen: subprocess.Popen[bytes], record: ProcessRecord) -> None:
        self.record = record
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[int] = self._loop.create_future()
        self._descriptor = os.pidfd_open(popen.pid)
        self._loop.add_reader(self._descriptor, self._ended)

    def _ended(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self.signal(signal.SIGKILL)
        code = self._popen.wait()
        if not self._exit.done():
            self._exit.set_result(code)

    @property
    def running(self) -> bool:
        return not self._exit.done()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group, if there still is one."""
        if self.running:
            try:
                os.killpg(self.record.pid, number)
            except ProcessLookupError:
                return

    async def wait(self) -> int:
        """The exit code as subprocess gives it: negative for a signal."""
        return await asyncio.shield(self._exit)


def _marked_with(pid: int, directory: Path) -> bool:
    try:
        return f"{MARK}={directory}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def left_over(directory: Path, records: Sequence[ProcessRecord]) -> list[ProcessRecord]:
    """Recorded processes that still run, and what they started: that carries the lab's mark in its environment.

    The asking process is never among them.
    """
    found = [record for record in records if is_alive(record) and record.pid != os.getpid()]
    known = {os.getpid(), *(record.pid for record in found)}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or (pid := int(entry.name)) in known:
            continue
        stat = _stat(pid)
        if stat and stat.state not in "ZX" and _marked_with(pid, directory):
            found.append(ProcessRecord("unrecorded", pid, stat.start))
    return found


def kill_left_over(directory: Path, records: Sequence[ProcessRecord], timeout: float = 10.0) -> list[ProcessRecord]:
    """Kill what is left of a lab until nothing is; give what had to be killed."""
    killed: dict[int, ProcessRecord] = {}
    deadline = time.monotonic() + timeout
    while (rest := left_over(directory, records)) and time.monotonic() < deadline:
        for record in rest:
            send_signal(record, signal.SIGKILL)
            killed[record.pid] = record
        time.sleep(0.02)
    return list(killed.values())


def send_signal(record: ProcessRecord, number: signal.Signals) -> None:
    """Signal exactly the recorded process; one that is gone, or whose pid is another's by now, is left alone."""
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return
    try:
        # The descriptor pins the process: compared after opening, the start time proves that it is the recorded one.
        if is_alive(record):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)
