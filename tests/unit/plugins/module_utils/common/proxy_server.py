"""A small real proxy on this machine: CONNECT and plain forwarding, every request counted.

It resolves names by itself: whatever it is asked for, it leads to one server. So a name that no one else could resolve
is reached through it, and only through it.
"""

from __future__ import annotations

import socket
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
def proxying(server_port: int, refuses: int = 0) -> Iterator[Proxying]:
    """The proxy, which leads to a port of this machine; or `refuses` everyone with this status, such as 407."""
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
        known = Proxying(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield known
        server.shutdown()


def _pump(one: socket.socket, other: socket.socket) -> None:
    try:
        while chunk := one.recv(65536):
            other.sendall(chunk)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        pass
