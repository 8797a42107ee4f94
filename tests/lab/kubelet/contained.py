"""Processes of containers, each with a process namespace of its own if the kernel gives one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.lab import process_namespace
from tests.lab.images import Launch
from tests.lab.processes import Ledger, Output, Process, User, record_of, spawn


class Contained(Process):
    """A command behind the program that has given it its namespace, and that passes on all signals but one."""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command and its group. No process can pass on SIGKILL."""
        first = process_namespace.first_process(self.record.pid) if number is signal.SIGKILL and self.running else None
        if first is None:
            super().signal(number)
            return
        try:
            os.killpg(first, number)
        except ProcessLookupError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, number)


def start(name: str, launch: Launch, output: Output, user: User | None, group: Path | None, ledger: Ledger) -> Process:
    """Start the first process of a container. Raises OSError."""
    _demand(launch.argv[0], launch.env)
    if process_namespace.obstacle():
        popen = spawn(launch.argv, launch.env, launch.cwd, output, user=user, group=group)
        return _recorded(Process, name, popen, ledger)
    argv = process_namespace.around(launch.argv, _identity(user))
    popen = spawn(argv, launch.env, launch.cwd, output, group=group)
    return _recorded(Contained, name, popen, ledger)


def start_beside(
    process: Process,
    name: str,
    launch: Launch,
    output: Output,
    user: User | None,
    group: Path | None,
    ledger: Ledger,
) -> Process:
    """Start another command in the container of a process. Raises OSError."""
    _demand(launch.argv[0], launch.env)
    if not isinstance(process, Contained):
        popen = spawn(launch.argv, launch.env, launch.cwd, output, user=user, group=group)
        return _recorded(Process, name, popen, ledger)
    first = process_namespace.first_process(process.record.pid)
    if first is None:
        raise ProcessLookupError(3, "the container has no process")
    argv = process_namespace.beside(first, launch.argv, _identity(user))
    popen = spawn(argv, launch.env, launch.cwd, output, group=group)
    return _recorded(Contained, name, popen, ledger)


def _demand(program: str, env: Mapping[str, str]) -> None:
    """Raises FileNotFoundError if there is no such program; the one that starts it could not say so."""
    if shutil.which(program, path=env.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(2, "No such file or directory", program)


def _identity(user: User | None) -> tuple[int, int] | None:
    return (user.uid, user.gid) if user else None


def _recorded(kind: type[Process], name: str, popen: subprocess.Popen[bytes], ledger: Ledger) -> Process:
    record = record_of(name, popen.pid)
    ledger.add(record)
    return kind(popen, record)
