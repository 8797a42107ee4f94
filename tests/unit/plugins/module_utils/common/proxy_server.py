"""A small real proxy on this machine: CONNECT and plain forwarding, every request counted.

It resolves names by itself: whatever it is asked for, it leads to one server. So a name that no one else could resolve
is reached through it, and only through it.
"""

from __future__ import annotations

import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Proxying:
    """The URL of the proxy, and the requests that it got."""

    url: str
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and target of each request that it passed on."""
    credentials: list[str] = field(default_factory=list)
    """The credentials of each request."""


@contextmanager
def proxying(server_port: int, refuses: int = 0, certificate: str = "") -> Iterator[Proxying]:
    """The proxy to a port of this machine, with TLS by a `certificate`; or it `refuses` all with a status like 407."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: object) -> None:
            pass

        def _noted(self) -> bool:
            known.credentials.append(self.headers.get("Proxy-Authorization", ""))
            if refuses:
                self.send_response(refuses)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return False
            known.asked.append((self.command, self.path))
            return True

        def do_CONNECT(self) -> None:
            if not self._noted():
                return
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            with socket.create_connection(("127.0.0.1", server_port)) as far:
                threading.Thread(target=_pump, args=(far, self.connection), daemon=True).start()
                _pump(self.connection, far)

        def do_GET(self) -> None:
            if not self._noted():
                return
            path = "/" + self.path.split("://", 1)[1].split("/", 1)[1]
            with opener.open(f"http://127.0.0.1:{server_port}{path}", timeout=10) as answer:
                content = answer.read()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        known = Proxying(_with_tls(server, certificate) if certificate else f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield known
        server.shutdown()


def _with_tls(server: ThreadingHTTPServer, certificate: str) -> str:
    """The URL of the server, which has TLS from now on by the file of a certificate for localhost and its key."""
    server.handle_error = lambda *_args: None  # type: ignore[method-assign]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return f"https://localhost:{server.server_port}"


def _pump(one: socket.socket, other: socket.socket) -> None:
    try:
        while chunk := one.recv(65536):
            other.sendall(chunk)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        pass
