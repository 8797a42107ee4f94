"""A small real server in the place of a member, with or without TLS, its certificate for one name and localhost."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

LOCAL = "/_nodes/_local/"
NAME = "search.example.com"
"""A name that leads nowhere: RFC 2606."""


@dataclass(frozen=True)
class Member:
    """The port on which it listens, and its certificate, which signs itself."""

    port: int
    authority: str


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        port = self.connection.getsockname()[1]
        found = {"nodes": {"id": {"name": f"member-{port}"}}} if self.path.startswith(LOCAL) else {}
        content = json.dumps({"path": self.path, "port": port, **found}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def member(folder: Path, tls: bool, *, expired: bool = False, asks: bool = False) -> Iterator[Member]:
    """A server on this machine, whose certificate may have ended, and which may ask for one of the caller."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_args: None  # type: ignore[method-assign]
    file = folder / "member.pem"
    if tls:
        file.write_bytes(_certificate(timedelta(days=-0.5 if expired else 1)))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        context.verify_mode = ssl.CERT_REQUIRED if asks else ssl.CERT_NONE
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield Member(server.server_port, str(file))
    finally:
        server.shutdown()
        server.server_close()


def _certificate(left: timedelta) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(timezone.utc)
    begin = now - timedelta(days=1)
    builder = x509.CertificateBuilder(
        subject, subject, key.public_key(), x509.random_serial_number(), begin, now + left
    )
    names = [x509.DNSName(each) for each in (NAME, "localhost")]
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    return certificate + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
