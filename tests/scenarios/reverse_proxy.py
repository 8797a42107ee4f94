"""A reverse proxy in a thread of the tests: what is behind it is real, what passes it can be seen and held up."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiohttp import ClientError, ClientSession, TCPConnector, web

HOST = "127.0.0.1"
READING = frozenset({"GET", "HEAD"})
START = 30.0
"""Seconds the thread may take to listen."""
PASSED = ("Content-Type", "Content-Encoding")
"""Headers of an answer that are handed on."""


@dataclass(frozen=True)
class Passing:
    """One request on its way."""

    method: str
    path: str
    authorization: str
    body: bytes


Forward = Callable[[], Awaitable[web.Response]]
Handle = Callable[[Passing, Forward], Awaitable[web.StreamResponse]]


class AnswerLost(Exception):
    """Raised by a handler: the connection to the client ends without an answer."""


async def hand_on(_passing: Passing, forward: Forward) -> web.StreamResponse:
    """Let everything pass."""
    return await forward()


class ReverseProxy:
    """A proxy before the server at `backend`, in an event loop of its own; use it in a `with` statement.

    `behind` is for TLS to the server and `authorization` for its door; `door` is for TLS to the clients.
    """

    def __init__(
        self,
        backend: str,
        handle: Handle = hand_on,
        *,
        behind: ssl.SSLContext | None = None,
        door: ssl.SSLContext | None = None,
        authorization: str = "",
    ) -> None:
        self.port = 0
        self._thread = threading.Thread(target=self._run, name="reverse-proxy", daemon=True)
        self._backend = backend
        self._handle = handle
        self._behind = behind
        self._door = door
        self._authorization = {"Authorization": authorization} if authorization else {}
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._listening = threading.Event()

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"{'https' if self._door else 'http'}://{HOST}:{self.port}"

    def __enter__(self) -> ReverseProxy:
        self._thread.start()
        if not self._listening.wait(START):
            raise RuntimeError(f"The proxy did not listen within {START:.0f} s.")
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        connector = TCPConnector(ssl=self._behind) if self._behind else None
        async with ClientSession(self._backend, auto_decompress=False, connector=connector) as session:
            acting: set[asyncio.Task[Any]] = set()

            async def proxy(request: web.Request) -> web.StreamResponse:
                task = asyncio.current_task()
                if task and request.method not in READING:
                    acting.add(task)
                    task.add_done_callback(acting.discard)
                try:
                    return await self._forward(session, request)
                except AnswerLost:
                    if request.transport:
                        request.transport.abort()
                    return web.Response()

            application = web.Application(client_max_size=64 * 1024 * 1024)
            application.router.add_route("*", "/{path:.*}", proxy)
            runner = web.AppRunner(application, access_log=None, auto_decompress=False)
            await runner.setup()
            try:
                await web.TCPSite(runner, HOST, 0, ssl_context=self._door).start()
                self.port = runner.addresses[0][1]
                self._listening.set()
                await self._ended.wait()
                if acting:  # whoever sent them may be gone; what becomes of them is seen all the same
                    await asyncio.wait(acting, timeout=START)
            finally:
                await runner.cleanup()

    async def _forward(self, session: ClientSession, request: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name not in {"Authorization", "Host"}}
        headers.update(self._authorization)
        body = await request.read()
        passing = Passing(request.method, request.raw_path, request.headers.get("Authorization", ""), body)

        async def forward() -> web.Response:
            try:
                async with session.request(passing.method, passing.path, headers=headers, data=body or None) as answer:
                    kept = {name: answer.headers[name] for name in PASSED if name in answer.headers}
                    return web.Response(status=answer.status, body=await answer.read(), headers=kept)
            except ClientError as error:
                return web.Response(status=502, text=str(error))

        return await self._handle(passing, forward)
