# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS and basic authentication in front of a cluster, as the security plugin gives them; the lab's servers have none.

A reverse proxy in a thread of the tests: everything but the door is the real cluster.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientSession, web

from tests.lab.control_plane.credentials import certificates, write_private

HOST = "127.0.0.1"
USERNAME = "upgrade"
START = 30.0
"""Seconds the thread may take to listen."""


@dataclass(frozen=True)
class Front:
    """Where the door is, and what opens it."""

    url: str
    ca_cert: Path
    username: str
    password: str

    def environment(self) -> dict[str, str]:
        """The door and its key as users hand them over without writing them down."""
        return {
            "OPENSEARCH_HOSTS": self.url,
            "OPENSEARCH_CA_CERT": str(self.ca_cert),
            "OPENSEARCH_USERNAME": self.username,
            "OPENSEARCH_PASSWORD": self.password,
        }


@contextlib.contextmanager
def in_front_of(backend: str, directory: Path) -> Iterator[Front]:
    """A door in front of the cluster at the URL `backend`; certificates, made for it alone, lie in `directory`."""
    paths = [directory / name for name in ("ca.crt", "server.crt", "server.key")]
    for path, content in zip(paths, certificates([HOST]), strict=True):
        write_private(path, content)
    authority, certificate, key = paths
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    password = secrets.token_urlsafe(24)
    credentials = base64.b64encode(f"{USERNAME}:{password}".encode()).decode()
    door = _Door(backend, f"Basic {credentials}", context)
    door.start()
    try:
        yield Front(f"https://{HOST}:{door.port}", authority, USERNAME, password)
    finally:
        door.stop()


class _Door(threading.Thread):
    """The proxy in an event loop of its own."""

    def __init__(self, backend: str, authorization: str, context: ssl.SSLContext) -> None:
        super().__init__(name="front", daemon=True)
        self.port = 0
        self._backend = backend
        self._authorization = authorization
        self._context = context
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._listening = threading.Event()

    def start(self) -> None:
        """Start, and wait until it listens."""
        super().start()
        if not self._listening.wait(START):
            raise RuntimeError(f"The front did not listen within {START:.0f} s.")

    def stop(self) -> None:
        """End it and wait until it has."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self.join()

    def run(self) -> None:
        """The thread."""
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with ClientSession(self._backend, auto_decompress=False) as session:

            async def relay(request: web.Request) -> web.Response:
                return await self._relay(session, request)

            application = web.Application()
            application.router.add_route("*", "/{path:.*}", relay)
            runner = web.AppRunner(application, access_log=None, auto_decompress=False)
            await runner.setup()
            try:
                await web.TCPSite(runner, HOST, 0, ssl_context=self._context).start()
                self.port = runner.addresses[0][1]
                self._listening.set()
                await self._ended.wait()
            finally:
                await runner.cleanup()

    async def _relay(self, session: ClientSession, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != self._authorization:
            challenge = {"WWW-Authenticate": 'Basic realm="OpenSearch Security"'}
            return web.Response(status=401, text="Unauthorized", headers=challenge)
        kept = {name: value for name, value in request.headers.items() if name not in {"Authorization", "Host"}}
        body = await request.read()
        async with session.request(request.method, request.raw_path, headers=kept, data=body or None) as answer:
            passed = ("Content-Type", "Content-Encoding")
            headers = {name: answer.headers[name] for name in passed if name in answer.headers}
            return web.Response(status=answer.status, body=await answer.read(), headers=headers)
