# SPDX-License-Identifier: GPL-3.0-or-later
"""Loopback addresses: each lab has a range 127.N.0.0/16 of its own, each pod and service an address in it.

127.N.0.1 is the control plane, 127.N.0.10 and up the Kubernetes nodes, 127.N.16-239.x the pods and
127.N.240-254.x the services. Ports can therefore be the standard ones everywhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError

FIRST_RANGE, LAST_RANGE = 10, 250
POD_THIRDS = range(16, 240)
SERVICE_THIRDS = range(240, 255)


def _lock_directory() -> Path:
    """One directory for all users of the machine, for they share the loopback network."""
    directory = Path(tempfile.gettempdir()) / "stateful-upgrade-ranges"
    try:
        directory.mkdir(mode=0o1777)
        directory.chmod(0o1777)
    except FileExistsError:
        pass
    return directory


@dataclass
class Range:
    """A claimed range; the claim ends with `release`, or with the process."""

    number: int
    lock: Path
    descriptor: int

    @classmethod
    def claim(cls) -> Range:
        """Claim the first free range. Raises LabError when all are taken."""
        for number in range(FIRST_RANGE, LAST_RANGE + 1):
            lock = _lock_directory() / f"127.{number}.lock"
            descriptor = _lock(lock)
            if descriptor is not None:
                return cls(number, lock, descriptor)
        raise LabError(
            f"No loopback range from 127.{FIRST_RANGE} to 127.{LAST_RANGE} is free; "
            f"end labs with `python -m tests.lab down`."
        )

    @property
    def network(self) -> str:
        return f"127.{self.number}.0.0/16"

    @property
    def control_plane(self) -> str:
        return f"127.{self.number}.0.1"

    def kubernetes_node(self, index: int) -> str:
        return f"127.{self.number}.0.{10 + index}"

    def release(self) -> None:
        """Remove the lock file while still holding it, so that nobody can be holding a removed file."""
        with contextlib.suppress(PermissionError):
            # It may have been made by another user, whose lab died: a free lock file does no harm.
            self.lock.unlink(missing_ok=True)
        os.close(self.descriptor)


def release_abandoned(network: str) -> None:
    """Remove the lock file of a range whose lab was killed; a range that is in use stays as it is."""
    number = int(network.split(".")[1])
    lock = _lock_directory() / f"127.{number}.lock"
    if not lock.exists():
        return
    descriptor = _lock(lock)
    if descriptor is not None:
        Range(number, lock, descriptor).release()


def _lock(lock: Path) -> int | None:
    """The descriptor of the locked file, or None when somebody else has it."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            descriptor = os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if lock.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass  # held by another, or removed by its last holder between open and lock
    os.close(descriptor)
    return None


class AddressBook:
    """Addresses by name: the same name always has the same address, two names never share one."""

    def __init__(self, number: int, thirds: range) -> None:
        self._number = number
        self._thirds = thirds
        self._by_name: dict[str, str] = {}
        self._taken: set[str] = set()

    def address(self, name: str) -> str:
        """Start at the name's checksum and take the first free address from there."""
        if name in self._by_name:
            return self._by_name[name]
        size = len(self._thirds) * 254
        start = zlib.crc32(name.encode())
        for step in range(size):
            third, last = divmod((start + step) % size, 254)
            candidate = f"127.{self._number}.{self._thirds[third]}.{last + 1}"
            if candidate not in self._taken:
                self.reserve(name, candidate)
                return candidate
        raise LabError(f"The lab has no loopback address left for {name}; delete namespaces that are not needed.")

    def reserve(self, name: str, address: str) -> None:
        """Give a name an address chosen by the user."""
        self._by_name[name] = address
        self._taken.add(address)
