"""Gives a container's process the root file system of its image, and a user without rights: `DESCRIPTION COMMAND…`.

The kernel gives it a user namespace, in which it has the image's user id and no rights over anything but its own, and a
mount namespace, in which its service account's folder is at the path where every client of Kubernetes looks for it.
It is a program of its own, run before the container's: a namespace is entered once.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""The folder of a service account's token, its authority and its namespace, in every pod of every cluster."""
NOT_ALLOWED = 78
"""The exit code if the kernel gives no namespaces (EX_CONFIG)."""

_NEW_NAMESPACES = 0x10000000 | 0x00020000
_BIND, _RECURSIVE_PRIVATE = 0x1000, 0x4000 | 0x40000
_MOUNT_SETATTR, _HERE, _RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class RootFileSystem:
    """The root file system of one container."""

    user: int
    read_only: bool
    writable: tuple[str, ...]
    """The folders of this machine that the process may write although its root is read-only."""
    account: str = ""
    """The folder of this machine with the service account's files; empty if the pod has none."""
    owner: tuple[int, int] = field(default_factory=lambda: (os.geteuid(), os.getegid()))
    """The user and group of the lab, which the process is to the rest of the machine."""

    def around(self, command: Iterable[str]) -> tuple[str, ...]:
        """The command that runs another one in this file system."""
        return (sys.executable, "-I", str(Path(__file__).resolve()), json.dumps(asdict(self)), *command)

    def enter(self) -> None:
        """Make it the root file system of this process. Raises OSError."""
        _call(_libc.unshare(_NEW_NAMESPACES))
        # The kernel forgets this at every change of rights.
        _call(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{self.user} {self.owner[0]} 1")
        Path("/proc/self/gid_map").write_text(f"0 {self.owner[1]} 1")
        _mount("none", "/", "", _RECURSIVE_PRIVATE)
        for folder in self.writable:
            _mount(folder, folder, "", _BIND)
        if self.account:
            _mount("tmpfs", str(Path("/var/run").resolve()), "tmpfs", 0)
            Path(ACCOUNT).mkdir(parents=True)
            _mount(self.account, ACCOUNT, "", _BIND)
        _mount("tmpfs", "/dev/shm", "tmpfs", 0)  # noqa: S108 - a mount of this process alone
        if self.read_only:
            _set_read_only("/", True)
            for folder in (*self.writable, "/dev/shm"):  # noqa: S108
                _set_read_only(folder, False)


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    _call(_libc.mount(source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), None), target)


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user")]


def _set_read_only(target: str, wanted: bool) -> None:
    change = _Attributes(set=_READ_ONLY) if wanted else _Attributes(clear=_READ_ONLY)
    size = ctypes.c_size_t(ctypes.sizeof(change))
    recursive = _RECURSIVE if wanted else 0
    _call(_libc.syscall(_MOUNT_SETATTR, _HERE, target.encode(), recursive, ctypes.byref(change), size), target)


def _call(result: int, about: str = "") -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number) if number in errno.errorcode else "failed", about)


def main(description: str, *command: str) -> None:
    """Become the command in its root file system; the process ends if that cannot be."""
    given = json.loads(description)
    wanted = RootFileSystem(**{**given, "writable": tuple(given["writable"]), "owner": tuple(given["owner"])})
    here = os.getcwd()
    try:
        wanted.enter()
    except OSError as error:
        print(f"The kernel gives this container no file system of its own: {error}.", file=sys.stderr)
        sys.exit(NOT_ALLOWED)
    os.chdir(here)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
