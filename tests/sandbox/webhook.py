"""A small server in the place of a webhook, which keeps what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.sandbox.web import Answer, Request

Json = dict[str, Any]
Answering = Callable[[Request], Answer]


@dataclass
class Webhook:
    """Its address, and what it has got. The first part of a path is the status that it answers."""

    url: str = ""
    keys: list[str] = field(default_factory=list)
    got: list[Json] = field(default_factory=list)

    @property
    def states(self) -> list[str]:
        """The states that it was sent."""
        return [each["state"] for each in self.got]

    def answer(self, request: Request) -> Answer:
        """Keep what was sent."""
        self.keys.append(request.headers["Idempotency-Key"])
        self.got.append(request.body)
        return Answer(int(request.path.split("/")[1]))


@contextmanager
def on_a_socket(answering: Answering) -> Iterator[str]:
    """A real server on this machine; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = answering(Request("POST", self.path, {}, body, {**self.headers}))
            self.send_response(answer.status)
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Served:
    """How a webhook is reached in this process."""

    by: Callable[[Answering], AbstractContextManager[str]] = staticmethod(on_a_socket)


@contextmanager
def webhook() -> Iterator[Webhook]:
    """A webhook on this machine."""
    hook = Webhook()
    with Served.by(hook.answer) as url:
        hook.url = url
        yield hook
