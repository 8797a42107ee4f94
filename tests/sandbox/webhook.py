"""A small real server in the place of a webhook, which keeps what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass
class Webhook:
    """Its address, and what it has got. The first part of a path is the status that it answers."""

    url: str
    keys: list[str] = field(default_factory=list)
    got: list[Json] = field(default_factory=list)

    @property
    def states(self) -> list[str]:
        """The states that it was told."""
        return [each["state"] for each in self.got]


@contextmanager
def webhook() -> Iterator[Webhook]:
    """A webhook on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.keys.append(self.headers["Idempotency-Key"])
            hook.got.append(json.loads(body))
            self.send_response(int(self.path.split("/")[1]))
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook = Webhook(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
