"""A small HTTP server on this machine that gives the answers that a test has set."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any, dict[str, str]]


class Api:
    """Gives the answers that a test has set, the last one for ever, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args: object) -> None:
                pass

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = self.rfile.read(length)
                packed = self.headers.get("Content-Encoding") == "gzip"
                body = json.loads(gzip.decompress(sent) if packed else sent) if length else None
                api.asked.append((self.command, self.path, dict(self.headers), body))
                status, content, headers = api.answers.pop(0) if len(api.answers) > 1 else api.answers[0]
                data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
                self.send_response(status)
                for key, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(data)),
                    **headers,
                }.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 (names that http.server asks for)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def say(self, status: int, content: Any, **headers: str) -> None:
        """Add an answer; a string for a failure is its message."""
        if status >= 400 and isinstance(content, str) and not content.startswith("<"):
            content = {"kind": "Status", "status": "Failure", "message": content, "code": status}
        self.answers.append((status, content, headers))


@contextmanager
def answering() -> Iterator[Api]:
    """A server."""
    api = Api()
    try:
        yield api
    finally:
        api.server.shutdown()
        api.server.server_close()
