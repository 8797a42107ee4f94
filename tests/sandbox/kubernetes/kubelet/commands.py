# SPDX-License-Identifier: GPL-3.0-or-later
"""The few commands that containers in memory have: to end their process, and to look at their files."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Sequence

from ansible_collections.stateful.upgrade.plugins.module_utils.restart.by_kubelet import END, STARTED

from tests.lab.kubelet.execution import Ended

ReadFile = Callable[[str], "bytes | None"]
_TERM, _KILL = "TERM", "KILL"
_SIGNALS = {"15": _TERM, "SIGTERM": _TERM, _TERM: _TERM, "9": _KILL, "SIGKILL": _KILL, _KILL: _KILL}


class NoSuchProgram(Exception):
    """The image has no such program."""


def run(words: Sequence[str], read: ReadFile, terminate: Callable[[], None], first: str) -> Ended:
    """The end of a command. `terminate` sends SIGTERM to the first process, and `first` tells its start and its name.

    Of scripts for the shell it knows single commands, and those with which the collection restarts a process.
    Raises NoSuchProgram.
    """
    program, *arguments = words
    if program == "sh" and arguments[:2] == ["-c", STARTED]:
        return Ended(0, f"{first}\n".encode(), b"")
    if program == "sh" and arguments[:2] == ["-c", END]:
        if arguments[3:] != first.split()[:1]:
            return Ended(1, b"", b"")
        return _kill(["-TERM", "1"], terminate)
    if program == "sh" and arguments[:1] == ["-c"] and len(arguments) == 2:
        return _shell(arguments[1], read, terminate, first)
    if program == "true":
        return Ended(0, b"", b"")
    if program == "kill":
        return _kill(arguments, terminate)
    if program in {"cat", "sha256sum"}:
        return _files(program, arguments, read)
    raise NoSuchProgram(program)


def _shell(script: str, read: ReadFile, terminate: Callable[[], None], first: str) -> Ended:
    words = shlex.split(script)
    if words[:1] == ["exit"] and len(words) == 2:
        return Ended(int(words[1]), b"", b"")
    try:
        return run(words[1:] if words[:1] == ["exec"] else words, read, terminate, first)
    except NoSuchProgram as error:
        return Ended(127, b"", f"sh: 1: {error}: not found\n".encode())


def _kill(arguments: Sequence[str], terminate: Callable[[], None]) -> Ended:
    *options, process = arguments
    given = options[-1].lstrip("-") if options else _TERM
    if process != "1" or given not in _SIGNALS:
        return Ended(1, b"", f"kill: {process}: No such process\n".encode())
    # The kernel keeps the first process of a namespace from SIGKILL of its own children.
    if _SIGNALS[given] == _TERM:
        terminate()
    return Ended(0, b"", b"")


def _files(program: str, paths: Sequence[str], read: ReadFile) -> Ended:
    output = errors = b""
    for path in paths:
        content = read(path)
        if content is None:
            errors += f"{program}: {path}: No such file or directory\n".encode()
        else:
            output += content if program == "cat" else f"{hashlib.sha256(content).hexdigest()}  {path}\n".encode()
    return Ended(1 if errors else 0, output, errors)
