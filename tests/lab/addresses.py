"""Loopback addresses: each lab has a range 127.N.0.0/16 of its own, each pod and service an address in it.

127.N.0.1 is the control plane, 127.N.0.10 and up the Kubernetes nodes, 127.N.16-239.x the pods and
127.N.240-254.x the services. Ports can therefore be the standard ones everywhere.
"""

from __future__ import annotations

import itertools
import os
import socket
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tests.lab.errors import LabError

FIRST_RANGE, LAST_RANGE = 10, 250
POD_THIRDS = range(16, 240)
SERVICE_THIRDS = range(240, 255)
HOST = "127.0.0.1"
PORTS = range(25_000, 32_000)
"""Below those that the kernel gives to connections, and to servers that ask for any port (`ip_local_port_range` in
ip(7): from 32768), and above those of the machines of Cluster API in memory."""
_TURNS = itertools.count(os.getpid() * 101)


@dataclass(frozen=True)
class Range:
    """A claimed range; the claim ends with `release`, or with the process.

    The claim is an abstract Unix socket. Like the loopback network it belongs to the network namespace and not to a
    user or a file system, and the kernel removes it with its process, so nothing of it can be left behind.
    """

    number: int
    claimed: socket.socket

    @classmethod
    def claim(cls, ports: Sequence[int]) -> Range:
        """Claim the first free range on whose first address these ports are free too. Raises LabError."""
        for number in range(FIRST_RANGE, LAST_RANGE + 1):
            claimed = _claim(f"lab-127.{number}")
            if claimed is None:
                continue
            found = cls(number, claimed)
            if all(_is_free(found.control_plane, port) for port in ports):
                return found
            found.release()
        raise LabError(
            f"None of the loopback ranges 127.{FIRST_RANGE} to 127.{LAST_RANGE} is free, with the ports "
            f"{', '.join(map(str, ports))}; end labs with `python -m tests.lab down`, or what listens there."
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
        self.claimed.close()


@dataclass(frozen=True)
class ClaimedPort:
    """A port of 127.0.0.1 for a server that is started later, or once more; the claim is as that of a range.

    Nothing else gets it in between: neither another process of the tests nor, by the kernel, a connection.
    """

    number: int
    claimed: socket.socket

    @classmethod
    def claim(cls) -> ClaimedPort:
        """Claim one at which nothing listens, another one each time. Raises LabError."""
        for _port in PORTS:
            number = PORTS[next(_TURNS) % len(PORTS)]
            claimed = _claim(f"port-{number}")
            if claimed is None:
                continue
            if _is_free(HOST, number):
                return cls(number, claimed)
            claimed.close()
        raise LabError(f"No port from {PORTS[0]} to {PORTS[-1]} is free; end what listens there.")

    def release(self) -> None:
        self.claimed.close()


def _claim(name: str) -> socket.socket | None:
    """An abstract Unix socket of this name; None if another process has it."""
    claimed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claimed.bind(f"\0stateful-upgrade-{name}")
    except OSError:
        claimed.close()
        return None
    return claimed


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError:
            return False
    return True


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
