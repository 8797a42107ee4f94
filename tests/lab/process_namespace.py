"""Gives a container's processes numbers of their own, so that a signal to 1 reaches the container's first process only.

`run USER GROUP COMMAND…` starts a container in a process namespace and a mount namespace of the kernel: its /proc shows
nothing else, and its /tmp has the folders of the machine's and no file. (A Java process that attaches to itself, as
Elasticsearch 8 does, asks at `/tmp/.java_pid1`, and would be answered by the first process of another container.)
`enter PROCESS USER GROUP COMMAND…` runs a command next to the first process of a container, with its
files. Both wait for the command, and end as it has ended. An empty USER leaves the command to whoever runs this.
Processes of a namespace cannot name any other process, and all of them end with the first one (pid_namespaces(7)).
It is a program of its own: the process that asks for a namespace is not in it, only what it starts afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

_NEW_MOUNTS, _NEW_USERS, _NEW_PROCESSES = 0x00020000, 0x10000000, 0x20000000
_RECURSIVE_PRIVATE = 0x4000 | 0x40000
_BIND = 0x1000 | 0x4000
_TEMPORARY = Path("/tmp")  # noqa: S108 - of this name in every container
_NO_PROGRAMS = 2 | 4 | 8
"""No set-user-ID, no devices, no programs: as every /proc is mounted."""
_PR_SET_PDEATHSIG = 1
NOT_ALLOWED = 78
"""The exit code if the kernel gives no namespaces (EX_CONFIG)."""
NOT_FOUND, NOT_STARTED = 127, 126
_libc = ctypes.CDLL(None, use_errno=True)


def around(command: tuple[str, ...], user: tuple[int, int] | None) -> tuple[str, ...]:
    """The command that runs another one as the first process of a new namespace, as this user and group."""
    return (*_program("run"), *_identity(user), *command)


def beside(first: int, command: tuple[str, ...], user: tuple[int, int] | None) -> tuple[str, ...]:
    """The command that runs another one in the namespace whose first process has this number outside of it."""
    return (*_program("enter"), str(first), *_identity(user), *command)


def _program(mode: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(Path(__file__).resolve()), mode)


def _identity(user: tuple[int, int] | None) -> tuple[str, str]:
    return (str(user[0]), str(user[1])) if user else ("", "")


@lru_cache(maxsize=1)
def obstacle() -> str:
    """The reason why containers have no process namespaces on this machine; empty if they have."""
    if not _children(os.getpid()).exists():
        return f"the kernel does not list the children of a process ({_children(os.getpid())})"
    tried = subprocess.run(around(("true",), None), capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


def _children(pid: int) -> Path:
    return Path(f"/proc/{pid}/task/{pid}/children")


def first_process(outside: int) -> int | None:
    """The process that the program with this number has started; None if it has not yet, or if that is gone."""
    try:
        found = _children(outside).read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(found[0]) if found else None


def is_apart(pid: int) -> bool:
    """Whether a process has a process namespace that is not the one of this process."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")
    except OSError:
        return False


def _call(result: int, about: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about)


def _begin() -> None:
    """Give the next child new namespaces. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    _call(_libc.unshare(_NEW_PROCESSES | _NEW_MOUNTS | (_NEW_USERS if user else 0)), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount("none", "/", "", _RECURSIVE_PRIVATE)
    _own_temporary_folder()


def _own_temporary_folder() -> None:
    """Mount another /tmp, with the folders of the one before: those of the lab are often there."""
    with os.scandir(_TEMPORARY) as entries:
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    opened: dict[str, int] = {}
    for name in folders:
        with contextlib.suppress(FileNotFoundError):  # removed since
            opened[name] = os.open(_TEMPORARY / name, os.O_PATH | os.O_DIRECTORY)
    _mount("tmpfs", str(_TEMPORARY), "tmpfs", 0, "mode=1777")
    for name, descriptor in opened.items():
        (_TEMPORARY / name).mkdir()
        try:
            _mount(f"/proc/self/fd/{descriptor}", str(_TEMPORARY / name), "", _BIND)
        except FileNotFoundError:  # removed since
            (_TEMPORARY / name).rmdir()
        os.close(descriptor)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    given = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None)
    _call(_libc.mount(*given), target)


def _show_processes() -> None:
    """Mount the /proc of this namespace. Some machines hide parts of theirs, and then allow no other one."""
    _libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(_NO_PROGRAMS), None)


def _join(first: int) -> None:
    """Give the next child the namespaces of a process. Raises OSError."""
    if not is_apart(first):
        raise OSError(f"process {first} has no process namespace of its own")
    kinds = [kind for kind in ("user", "pid", "mnt") if _differs(first, kind)]
    opened = [os.open(f"/proc/{first}/ns/{kind}", os.O_RDONLY) for kind in kinds]
    for descriptor, kind in zip(opened, kinds, strict=True):
        _call(_libc.setns(descriptor, 0), kind)
        os.close(descriptor)


def _differs(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")


def _become(user: str, group: str, command: list[str], environment: dict[bytes, bytes]) -> None:
    """Turn this process into the command; the process ends if that cannot be."""
    if user:
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))
    # The kernel forgets this at every change of rights.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execvpe(command[0], command, environment)
    except FileNotFoundError:
        print(f'exec: "{command[0]}": executable file not found in $PATH', file=sys.stderr)
        os._exit(NOT_FOUND)
    except OSError as error:
        print(f'exec: "{command[0]}": {error.strerror}', file=sys.stderr)
        os._exit(NOT_STARTED)


def _environment() -> dict[bytes, bytes]:
    """The environment as it was given. Python may add a locale to its own."""
    entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def main(mode: str, *arguments: str) -> int:
    """Run the command, and give its exit code."""
    environment, here = _environment(), os.getcwd()
    entering = mode == "enter"
    user, group, *command = arguments[1:] if entering else arguments
    try:
        _join(int(arguments[0])) if entering else _begin()
    except OSError as error:
        print(f"The kernel gives this container no processes of its own: {error}.", file=sys.stderr)
        return NOT_ALLOWED
    every = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}
    held_back = signal.pthread_sigmask(signal.SIG_BLOCK, every)
    child = os.fork()
    if not child:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        if not entering:
            _show_processes()
        os.chdir(here)
        signal.pthread_sigmask(signal.SIG_SETMASK, held_back)
        _become(user, group, command, environment)
    return _code_of(child, every)


def _code_of(child: int, every: set[signal.Signals]) -> int:
    """Pass all signals on to the command and what it has started, until it has ended."""
    while True:
        heard = signal.sigwait(every)
        if heard is signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        else:
            # Until the child has its own group, it is not the command yet either.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, heard)


if __name__ == "__main__":
    ended = main(*sys.argv[1:])
    os._exit(ended if ended >= 0 else 128 - ended)
