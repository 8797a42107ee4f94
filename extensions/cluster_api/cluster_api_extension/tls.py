"""Mutual TLS: no request without a certificate of the given authority; renewed certificates are taken at once."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TlsFiles:
    """The certificate of the service with its key, and the authority that callers' certificates are of."""

    certificate: Path
    key: Path
    client_ca: Path

    def stamp(self) -> tuple[int, ...]:
        """A value that changes with the files."""
        return tuple(path.stat().st_mtime_ns for path in (self.certificate, self.key, self.client_ca))


class ServerTls:
    """The settings of TLS of the service."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._stamp = files.stamp()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.verify_mode = ssl.CERT_REQUIRED
        self._load()

    def _load(self) -> None:
        self.context.load_cert_chain(self._files.certificate, self._files.key)
        self.context.load_verify_locations(self._files.client_ca)

    def renew(self) -> bool:
        """Takes the files again if they have changed; new connections see them. Gives whether they had."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return False
        self._load()
        self._stamp = stamp
        return True
