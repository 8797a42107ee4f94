"""The process of the image `probe`: an HTTP server on port 8080 that needs nothing but Python.

GET /ready: 200, or 503 after PUT /unready until PUT /ready. GET /version, /environment, /pid.
GET and PUT /files<path>: reads and writes a file under a mount path. PUT /exit?code=N ends the process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PORT = 8080


class ProbeServer(ThreadingHTTPServer):
    """The server and its one piece of state."""

    daemon_threads = True
    ready = True


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ProbeServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        plain = {
            "/version": os.environ["PROBE_VERSION"],
            "/pid": str(os.getpid()),
            "/environment": json.dumps(dict(os.environ)),
        }
        if path == "/ready":
            self._answer(200 if self.server.ready else 503, "ready" if self.server.ready else "not ready")
        elif path in plain:
            self._answer(200, plain[path])
        elif (file := self._file(path)) and file.exists():
            self._answer(200, file.read_text())
        else:
            self._answer(404, "no such thing")

    def do_PUT(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path in ("/ready", "/unready"):
            self.server.ready = url.path == "/ready"
            self._answer(200, "set")
        elif url.path == "/exit":
            os._exit(int(parse_qs(url.query)["code"][0]))
        elif file := self._file(url.path):
            file.write_bytes(body)
            self._answer(200, "written")
        else:
            self._answer(404, "no such thing")

    def _file(self, path: str) -> Path | None:
        """The host's file for /files<mount path>/<name>."""
        mounts: dict[str, str] = json.loads(os.environ["PROBE_MOUNTS"])
        wanted = path.removeprefix("/files")
        for mount, host in mounts.items():
            if path.startswith("/files") and wanted.startswith(f"{mount}/"):
                return Path(host) / wanted.removeprefix(f"{mount}/")
        return None

    def _answer(self, status: int, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Stay silent: the log is for what tests look for."""


def main() -> None:
    server = ProbeServer((sys.argv[1], PORT), Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"probe {os.environ['PROBE_VERSION']} of {os.environ['HOSTNAME']} listens on {sys.argv[1]}:{PORT}")
    server.serve_forever()


if __name__ == "__main__":
    main()
