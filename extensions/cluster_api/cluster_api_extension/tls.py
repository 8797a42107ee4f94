"""Mutual TLS: no request without a certificate of the given authority; renewed certificates are taken at once."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TlsFiles:
    """The certificate of the service with its key, and the authority of the callers' certificates."""

    certificate: Path
    key: Path
    client_ca: Path

    def stamp(self) -> tuple[int, ...]:
        """A value that changes with the files."""
        return tuple(path.stat().st_mtime_ns for path in (self.certificate, self.key, self.client_ca))


class TlsProblem(Exception):
    """Certificates that cannot be used: one sentence that names the file."""


class _Listening(ssl.SSLContext):
    """The context of a listener (asyncio), each connection of which is made with the current one."""

    current: ssl.SSLContext

    def wrap_bio(self, *given: Any, **named: Any) -> ssl.SSLObject:
        """One connection."""
        return self.current.wrap_bio(*given, **named)


class ServerTls:
    """The settings of TLS of the service.

    A context only ever gains authorities (`SSL_CTX_load_verify_locations`), so each renewal makes a new one: an
    authority that was replaced is no longer trusted. A session is resumed without a look at the caller's certificate.
    There are no tickets, and the sessions that TLS 1.2 keeps on the server are those of one context, so end with it.

    Raises:
        OSError: a file cannot be read, from the constructor and from `renew`.
        TlsProblem: a file holds something else.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._stamp = files.stamp()
        self.context = _Listening(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = _context_of(files)

    def renew(self) -> bool:
        """Takes the files again if they have changed; new connections see them. Says whether they have."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return False
        self.context.current = _context_of(self._files)
        self._stamp = stamp
        return True

    def is_former(self, connection: ssl.SSLObject) -> bool:
        """Whether a connection was made with files that were replaced since: its authority may not be trusted now."""
        return connection.context is not self.context.current


def _context_of(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        context.load_cert_chain(files.certificate, files.key)
    except ssl.SSLError as error:
        raise TlsProblem(f"{files.certificate} and {files.key} are no certificate with its key, in PEM.") from error
    try:
        context.load_verify_locations(files.client_ca)
    except ssl.SSLError as error:
        raise TlsProblem(f"{files.client_ca} is no authority of certificates, in PEM.") from error
    return context
