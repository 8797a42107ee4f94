"""Servers in memory behind real sockets: HTTP or HTTPS, all in one thread, under one lock, on one clock."""

from __future__ import annotations

import asyncio
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import yaml
from aiohttp import web

from tests.lab.certificates import Identity
from tests.sandbox.clock import Clock
from tests.sandbox.passing import passed_on
from tests.sandbox.web import Answer, CutOff, Handler, Messages, OtherScheme, Passed, Pending, Request

TICK = 0.01
"""Seconds of real time between two looks at the clock, and at what an answer waits for."""
LARGEST = 256 * 1024 * 1024

Result = TypeVar("Result")


class Pace:
    """Lets a clock follow the real time, `factor` times as fast."""

    def __init__(self, clock: Clock, factor: float = 1.0) -> None:
        self.clock, self.factor = clock, factor
        self._seen = time.monotonic()

    def catch_up(self) -> None:
        """Let as much time pass on the clock as has passed since the last call."""
        before, self._seen = self._seen, time.monotonic()
        self.clock.advance((self._seen - before) * self.factor)


class Port:
    """One handler at one address. `close` and `open` let it be out of reach for a while; its port stays the same."""

    def __init__(
        self, listening: Listening, handler: Handler, host: str, port: int, tls: ssl.SSLContext | None
    ) -> None:
        self._listening, self._handler, self._tls = listening, handler, tls
        self._runner: web.ServerRunner | None = None
        self.host, self.number = host, port

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"{'https' if self._tls else 'http'}://{self.host}:{self.number}"

    def open(self) -> None:
        """Take connections."""
        self._listening.do(self._open())

    def close(self) -> None:
        """Take no connections any more, and end those that are there."""
        self._listening.do(self._close())

    def close_for(self, seconds: float) -> None:
        """The same, for some seconds of the clock."""
        self.close()
        with self._listening.lock:
            self._listening.pace.clock.later(seconds, self._open_soon)

    def _open_soon(self) -> None:
        # The clock is moved in the thread of the servers or in another one; neither may wait for the other.
        asyncio.run_coroutine_threadsafe(self._open(), self._listening.loop)

    async def _open(self) -> None:
        if self._runner is not None:
            return
        server = web.Server(self._answer, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.number, ssl_context=self._tls, reuse_address=True)
        await site.start()
        self.number = self._runner.addresses[0][1]

    async def _close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            server = runner.server
            for connection in server.connections if server else ():
                if connection.transport is not None:
                    connection.transport.abort()
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read(LARGEST) if request.can_read_body else b""
        if request.can_read_body and not request.content.at_eof():
            body += await request.content.read()
        query = request.query
        headers, secure = dict(request.headers), self._tls is not None
        asked = Request(request.method, request.path, dict(query), read(body), headers, (*query.items(),), secure)
        try:
            answer = await self._listening.answer(self._handler, asked)
        except (CutOff, OtherScheme):
            if request.transport is not None:
                request.transport.abort()
            raise asyncio.CancelledError from None
        if isinstance(answer, Messages):
            return await _told(request, answer)
        if isinstance(answer, Passed):
            return await passed_on(request, answer.url)
        said = {"Content-Type": "application/json", **answer.headers}
        return web.Response(status=answer.status, text=None, body=answer.text.encode(), headers=said)


class Listening:
    """A thread that serves handlers. As a context manager it ends with the block, and raises what failed in it on time.

    Code that touches the servers or the clock from another thread holds `lock` for that. A thread that holds it never
    calls `serve`, or the functions of a port.
    """

    def __init__(self, clock: Clock, factor: float = 1.0) -> None:
        self.lock = threading.RLock()
        self.pace = Pace(clock, factor)
        self.loop = asyncio.new_event_loop()
        self._ports: list[Port] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="sandbox", daemon=True)

    def __enter__(self) -> Listening:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for port in self._ports:
            port.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
        if self._failure is not None:
            raise self._failure

    def serve(self, handler: Handler, host: str = "127.0.0.1", port: int = 0, identity: Identity | None = None) -> Port:
        """Serve a handler at an address, over HTTPS where it has an identity; port 0 is one that is free."""
        served = Port(self, handler, host, port, _context(identity) if identity else None)
        self._ports.append(served)
        served.open()
        return served

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something in the thread of the servers, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def answer(self, handler: Handler, request: Request) -> Answer:
        """The answer of a handler, as soon as it is ready. Raises CutOff."""
        with self.lock:
            self.pace.catch_up()
            answer = handler(request)
            end = self.pace.clock.now() + (answer.seconds if isinstance(answer, Pending) else 0)
        while isinstance(answer, Pending):
            with self.lock:
                self.pace.catch_up()
                if answer.ready() or self.pace.clock.now() >= end:
                    return answer.answer()
            await asyncio.sleep(TICK)
        return answer

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        ticking = self.loop.create_task(self._tick())
        self.loop.run_forever()
        if ticking.done():
            self._failure = ticking.exception()
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    async def _tick(self) -> None:
        while True:
            with self.lock:
                self.pace.catch_up()
            await asyncio.sleep(TICK)


async def _told(request: web.BaseRequest, answer: Messages) -> web.StreamResponse:
    channels = web.WebSocketResponse(protocols=answer.protocols)
    await channels.prepare(request)
    for message in answer.messages:
        await channels.send_bytes(message)
    await channels.close()
    return channels


def read(body: bytes) -> Any:
    """A body as JSON or YAML; a text that is neither, such as lines of JSON, stays one."""
    if not body:
        return None
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text.lstrip().startswith("{"):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _context(identity: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = Path(directory) / "certificate", Path(directory) / "key"
        certificate.write_bytes(identity.certificate)
        key.touch(mode=0o600)
        key.write_bytes(identity.key)
        context.load_cert_chain(certificate, key)
    return context
