"""The processes above a task. They show whether its controller is gone, and whether another run is still alive."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from pathlib import Path

_PROC = Path("/proc")
SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "busybox", "sudo", "su", "doas"})
"""Programs that Ansible puts between a worker, or a connection, and a module."""
DEEPEST = 6
"""The most nested shells that are searched."""

_STATE, _PARENT, _STARTED = 0, 1, 19
"""Fields of /proc/<pid>/stat after the command (proc_pid_stat(5)); the start is in ticks since boot."""


def ancestors(depth: int, first: int | None = None) -> tuple[str, ...]:
    """The identities of the processes above this one, nearest first, at most `depth`; `first` is the nearest's number.

    Without /proc only the nearest is known, and only by its number.
    """
    found: list[str] = []
    pid = os.getppid() if first is None else first
    while pid > 0 and len(found) < depth:
        fields = _stat(pid)
        found.append(_identity(pid, fields))
        pid = int(fields[_PARENT]) if fields else 0
    return tuple(found)


def controller() -> tuple[str, ...]:
    """The controller that has started this worker. It is no longer the nearest ancestor once it has ended."""
    parent = parent_process()
    return ancestors(1, parent.pid if parent is not None else None)


def of_module() -> tuple[str, ...]:
    """The processes above a shipped module that end with its controller, or with the connection to it.

    These are the shells that Ansible put around it, and what is above them: on a local connection the worker and the
    controller, through ssh the process of the connection. The process that starts an asynchronous task is meant to end
    before it, so only the nearest one counts there.
    """
    pid, depth = os.getppid(), 1
    while os.path.basename(_command(pid).partition(" ")[0]) in SHELLS and depth < DEEPEST:
        fields = _stat(pid)
        pid, depth = int(fields[_PARENT]) if fields else 0, depth + 1
    command = _command(pid)
    if "async_wrapper" in command:
        return ancestors(1)
    return ancestors(depth + 1 if "ansible" in command else depth)


def _command(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    except OSError:
        return ""


def identity() -> str:
    """The identity of this process."""
    return identity_of(os.getpid())


def identity_of(pid: int) -> str:
    """Number and start time: a number alone can be reused by another process."""
    return _identity(pid, _stat(pid))


def number_of(identity: str) -> int:
    """The process number in an identity, or 0 if it has none."""
    text = identity.partition(".")[0]
    return int(text) if text.isdecimal() and len(text) < 10 else 0  # no system has longer ones


def place() -> str:
    """The place in which identities are valid: this boot of this machine, and this container. Empty if unknown."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def alive(identity: str) -> bool:
    """Whether the process of this identity, from this place, is there. A zombie does not count: it can no longer act.

    If processes of other users are hidden (hidepid), an existing process of that number is taken to be this one.
    """
    pid = number_of(identity)
    fields = _stat(pid)
    if fields is not None:
        # Without a start time, which its writer could not see, the number is all there is.
        return fields[_STATE] != "Z" and identity in {_identity(pid, fields), str(pid)}
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return pid > 0


def certainly_alive(identity: str) -> bool:
    """Whether exactly this process, from this place, is there: its number, and the time at which it has started."""
    pid = number_of(identity)
    fields = _stat(pid)
    return fields is not None and fields[_STATE] != "Z" and identity == _identity(pid, fields)


def _identity(pid: int, fields: list[str] | None) -> str:
    return f"{pid}.{fields[_STARTED]}" if fields else str(pid)


def _stat(pid: int) -> list[str] | None:
    try:
        return (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
