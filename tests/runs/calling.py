"""Servers in memory that are called without a socket, by everything that sends its requests with urllib3.

A request over HTTPS counts as verified: no certificate is shown, and none is asked for.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import io
import ssl
import threading
import urllib.error
import urllib.request
import urllib.response
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol
from unittest.mock import patch
from urllib.parse import parse_qsl, urlsplit

import urllib3
import websocket
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError
from websocket import WebSocketBadStatusException

from tests.lab.certificates import Identity
from tests.runs.turns import Killed, kill, lives
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.in_process import Channels
from tests.sandbox.listening import read
from tests.sandbox.web import Answer, CutOff, Handler, Messages, OtherScheme, Request, answered

FIRST_PORT = 20_000
PATIENCE = 30.0
"""Seconds for an answer to the test itself. No answer is late here."""


_parse_url = lru_cache(4096)(urllib3.util.url.parse_url)
_encode_target = lru_cache(4096)(urllib3.util.url._encode_target)


class Watcher(Protocol):
    """It sees each request, whatever becomes of it."""

    def asked(self, request: Request) -> None:
        """Called before a server does what is asked."""

    def answered(self, request: Request, status: int) -> None:
        """Called when the server has done it, or has failed to. The status is 0 if no answer comes."""


class CalledPort:
    """One handler at one address, as `tests.sandbox.listening.Port`."""

    def __init__(self, clock: Clock, handler: Handler, host: str, number: int, *, tls: bool) -> None:
        self._clock, self.handler, self._tls = clock, handler, tls
        self.host, self.number = host, number
        self.is_open = True
        self.is_proxy = False
        """Whether it asks other servers here, and whatever else its test does at a request."""

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"{'https' if self._tls else 'http'}://{self.host}:{self.number}"

    def open(self) -> None:
        """Take connections."""
        self.is_open = True

    def close(self) -> None:
        """Take no connections any more."""
        self.is_open = False

    def close_for(self, seconds: float) -> None:
        """The same, for some seconds of the clock."""
        self.close()
        self._clock.later(seconds, self.open)


class Calling:
    """The servers by address, in the place of `tests.sandbox.listening.Listening`; for a `with` statement."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        # A task asks several servers at once, in threads of its own.
        self.lock = threading.RLock()
        self.answered: list[tuple[str, str]] = []
        """Method and path of each request that was answered."""
        self.after: Callable[[Request], None] = lambda _request: None
        """Called when a server has done what was asked, before its answer arrives. It may raise anything."""
        self.watchers: list[Watcher] = []
        self._ports: dict[tuple[str, int], CalledPort] = {}
        self._patches = contextlib.ExitStack()

    def __enter__(self) -> Calling:
        def response(connection: Any) -> urllib3.HTTPResponse:
            return self._response(connection)

        without_sockets: dict[str, Any] = {
            "connect": _connect,
            "request": _request,
            "getresponse": response,
            "close": _close,
            "is_closed": property(lambda connection: connection.sock is None),
            "is_connected": property(lambda connection: connection.sock is not None),
        }
        # The same addresses are read again for each request.
        for module, name in ((urllib3.poolmanager, "parse_url"), (urllib3.connectionpool, "parse_url")):
            self._patches.enter_context(patch.object(module, name, _parse_url))
        self._patches.enter_context(patch.object(urllib3.connectionpool, "_encode_target", _encode_target))
        self._patches.enter_context(patch.multiple(HTTPConnection, **without_sockets))
        self._patches.enter_context(patch.multiple(HTTPSConnection, connect=_connect))
        self._patches.enter_context(patch.object(urllib.request.HTTPHandler, "http_open", _opened))
        self._patches.enter_context(patch.object(urllib.request.HTTPSHandler, "https_open", _opened))
        self._patches.enter_context(patch.object(websocket, "create_connection", self._channels))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def serve(self, handler: Handler, host: str = "127.0.0.1", port: int = 0, identity: Identity | None = None) -> Any:
        """Serve a handler at an address; port 0 is one that is free."""
        number = port or FIRST_PORT + len(self._ports)
        served = CalledPort(self.clock, handler, host, number, tls=identity is not None)
        self._ports[host, number] = served
        return served

    def open_all(self) -> None:
        """Have every server take connections."""
        for each in self._ports.values():
            each.open()

    def proxy(self, handler: Handler) -> Any:
        """Serve a proxy: a handler that asks the servers here itself."""
        served = self.serve(handler)
        served.is_proxy = True
        return served

    def ask(self, host: str, port: int, request: Request) -> Answer:
        """The answer of the server at an address.

        Raises:
            ConnectionRefusedError: there is none.
            CutOff: it ends the connection.
        """
        served = self._ports.get((host, port))
        if served is None or not served.is_open:
            raise ConnectionRefusedError
        with contextlib.nullcontext() if served.is_proxy else self.lock:
            return self._answer(served.handler, request)

    def _channels(self, url: str, **how: Any) -> Channels:
        """A websocket whose messages have all come, in the place of `websocket.create_connection`."""
        lives()
        place = urlsplit(url)
        query = parse_qsl(place.query)
        said = dict(each.split(": ", 1) for each in how["header"])
        said |= {"Upgrade": "websocket", "Sec-WebSocket-Protocol": how["subprotocols"][0]}
        request = Request("GET", place.path, dict(query), None, said, query)
        answer = self.ask(str(place.hostname), int(place.port or 0), request)
        self.answered.append((request.method, request.path))
        if isinstance(answer, Messages):
            return Channels([*answer.messages])
        # The package for websockets formats the message by itself.
        raise WebSocketBadStatusException("Handshake status %d %s", answer.status, resp_body=answer.text.encode())

    def called(self, host: str, port: int, request: Request) -> Answer:
        """The answer to a request of a controller, which ends here if it is killed.

        Raises:
            ConnectionRefusedError: no server is at this address.
            CutOff: it ends the connection.
            Killed: the controller has been killed.
        """
        lives()
        try:
            answer = self.ask(host, port, request)
        except ConnectionRefusedError:
            self._ask_watchers(request)
            self._tell(request, 0)
            raise
        self.answered.append((request.method, request.path))
        try:
            self.after(request)
        except Killed:
            kill()
            raise
        lives()
        return answer

    def _response(self, connection: Any) -> urllib3.HTTPResponse:
        request: Request = connection.asked
        try:
            answer = self.called(connection.host, connection.port, request)
        except ConnectionRefusedError:
            refused = "Failed to establish a new connection: [Errno 111] Connection refused"
            raise NewConnectionError(connection, refused) from None
        except (CutOff, OtherScheme) as error:
            connection.sock = None
            if isinstance(error, OtherScheme) and request.secure:
                raise ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)") from None
            raise http.client.RemoteDisconnected("Remote end closed connection without response") from None
        said = {"Content-Type": "application/json", **answer.headers}
        content = io.BytesIO(answer.text.encode())
        return urllib3.HTTPResponse(content, said, answer.status, preload_content=False, request_method=request.method)

    def _answer(self, handler: Handler, request: Request) -> Answer:
        self._ask_watchers(request)
        status = 0
        try:
            answer = answered(handler, request, self.clock)
            status = answer.status
        finally:
            self._tell(request, status)
        return answer

    def _ask_watchers(self, request: Request) -> None:
        for each in self.watchers:
            each.asked(request)

    def _tell(self, request: Request, status: int) -> None:
        for each in self.watchers:
            each.answered(request, status)


class _NoSocket:
    """In the place of a socket."""

    def settimeout(self, _seconds: float | None) -> None:
        """Nothing is late here."""

    def close(self) -> None:
        """Nothing is open."""


def _connect(connection: Any) -> None:
    connection.sock = _NoSocket()
    connection.is_verified = True


def _close(connection: Any) -> None:
    connection.sock = None


def _request(connection: Any, method: str, url: str, body: Any = None, headers: Any = None, **_how: Any) -> None:
    if connection.sock is None:
        connection.connect()
    sent = body.encode() if isinstance(body, str) else body or b""
    said = {str(name).title(): value for name, value in dict(headers or {}).items()}
    content = gzip.decompress(sent) if said.get("Content-Encoding") == "gzip" else sent
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    secure = isinstance(connection, HTTPSConnection)
    connection.asked = Request(method, parts.path, dict(query), read(content), said, query, secure)


def _opened(_handler: Any, request: urllib.request.Request) -> Any:
    """The answer to a test that asks with `urllib.request`."""
    headers = {**request.headers, **request.unredirected_hdrs}
    asked: dict[str, Any] = {"body": request.data, "headers": headers, "retries": False, "redirect": False}
    try:
        answer = urllib3.PoolManager().request(request.get_method(), request.full_url, timeout=PATIENCE, **asked)
    except urllib3.exceptions.HTTPError as error:
        raise urllib.error.URLError(str(error)) from error
    said = http.client.HTTPMessage()
    for name, value in answer.headers.items():
        said[name] = value
    response: Any = urllib.response.addinfourl(io.BytesIO(answer.data), said, request.full_url, answer.status)
    response.msg = http.client.responses.get(answer.status, "")
    return response
