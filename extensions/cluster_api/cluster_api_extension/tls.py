"""Mutual TLS: no request without a certificate of the given authority; renewed certificates are taken at once."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path


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


class ServerTls:
    """The settings of TLS of the service.

    Raises:
        OSError: a file cannot be read, from the constructor and from `renew`.
        TlsProblem: a file holds something else.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._stamp = files.stamp()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.verify_mode = ssl.CERT_REQUIRED
        self._load()

    def _load(self) -> None:
        files = self._files
        try:
            self.context.load_cert_chain(files.certificate, files.key)
        except ssl.SSLError as error:
            raise TlsProblem(f"{files.certificate} and {files.key} are no certificate with its key, in PEM.") from error
        try:
            self.context.load_verify_locations(files.client_ca)
        except ssl.SSLError as error:
            raise TlsProblem(f"{files.client_ca} is no authority of certificates, in PEM.") from error

    def renew(self) -> bool:
        """Takes the files again if they have changed; new connections see them. Says whether they have."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return False
        self._load()
        self._stamp = stamp
        return True
