"""The few commands that containers in memory have: to end their process, and to look at their files."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ansible_collections.stateful.upgrade.plugins.module_utils.restart.by_kubelet import CHECKSUM, END, STARTED

from tests.lab.kubelet.execution import Ended


@dataclass(frozen=True)
class Inside:
    """The things that a command finds in its container."""

    read: Callable[[str], bytes | None]
    """The content of a mounted file at a path; None if there is none."""
    terminate: Callable[[], None]
    """Sends SIGTERM to the first process."""
    first: str
    """The start of the first process, and its name."""


_TERM, _KILL = "TERM", "KILL"
_SIGNALS = {"15": _TERM, "SIGTERM": _TERM, _TERM: _TERM, "9": _KILL, "SIGKILL": _KILL, _KILL: _KILL}


class NoSuchProgram(Exception):
    """The image has no such program."""


def run(words: Sequence[str], inside: Inside) -> Ended:
    """The end of a command.

    Of scripts for the shell it knows single commands, and those with which the collection restarts a process.
    Raises NoSuchProgram.
    """
    program, *arguments = words
    if program == "sh" and arguments[:2] == ["-c", STARTED]:
        return Ended(0, f"{inside.first}\n".encode(), b"")
    if program == "sh" and arguments[:2] == ["-c", END]:
        if arguments[3:] != inside.first.split()[:1]:
            return Ended(1, b"", b"")
        return _kill(["-TERM", "1"], inside)
    if program == "sh" and arguments[:2] == ["-c", CHECKSUM]:
        return _files("sha256sum", arguments[3:], inside)
    if program == "sh" and arguments[:1] == ["-c"] and len(arguments) == 2:
        return _shell(arguments[1], inside)
    if program == "true":
        return Ended(0, b"", b"")
    if program == "kill":
        return _kill(arguments, inside)
    if program in {"cat", "sha256sum"}:
        return _files(program, arguments, inside)
    raise NoSuchProgram(program)


def _shell(script: str, inside: Inside) -> Ended:
    words = shlex.split(script)
    if words[:1] == ["exit"] and len(words) == 2:
        return Ended(int(words[1]), b"", b"")
    try:
        return run(words[1:] if words[:1] == ["exec"] else words, inside)
    except NoSuchProgram as error:
        return Ended(127, b"", f"sh: 1: {error}: not found\n".encode())


def _kill(arguments: Sequence[str], inside: Inside) -> Ended:
    *options, process = arguments
    given = options[-1].lstrip("-") if options else _TERM
    if process != "1" or given not in _SIGNALS:
        return Ended(1, b"", f"kill: {process}: No such process\n".encode())
    # The kernel keeps the first process of a namespace from SIGKILL of its own children.
    if _SIGNALS[given] == _TERM:
        inside.terminate()
    return Ended(0, b"", b"")


def _files(program: str, paths: Sequence[str], inside: Inside) -> Ended:
    output = errors = b""
    for path in paths:
        content = inside.read(path)
        if content is None:
            errors += f"{program}: {path}: No such file or directory\n".encode()
        else:
            output += content if program == "cat" else f"{hashlib.sha256(content).hexdigest()}  {path}\n".encode()
    return Ended(1 if errors else 0, output, errors)
