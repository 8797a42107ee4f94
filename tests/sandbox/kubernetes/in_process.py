"""The collection's own Kubernetes client on an API server in the same process: no socket, and no time but the clock's.

Everything above the connections is the real client, so that it raises exactly what it raises on a real server.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import urllib3
from ansible_collections.stateful.upgrade.plugins.module_utils.common.proxy_faults import ProxyRoute
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.access import Access
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError
from websocket import ABNF, WebSocketBadStatusException

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.defaults import fill
from tests.sandbox.kubernetes.kinds import NAMESPACES, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json, Kind, copied
from tests.sandbox.kubernetes.requests import Target, target_of
from tests.sandbox.kubernetes.rights import ADMIN
from tests.sandbox.web import Answer, CutOff, Messages, Request, answered

HOST = "https://kubernetes.sandbox"
TOKEN = "token-in-process"
_TIMEOUT = 30.0


def _alone() -> ApiServer:
    return ApiServer(Clock(), {TOKEN: ADMIN})


@dataclass
class InProcess:
    """An API server, by default one without controllers, and what was asked of it."""

    server: ApiServer = field(default_factory=_alone)
    token: str = TOKEN
    namespaces: Sequence[str] = ("search",)
    """Those that are there from the start."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    before: list[Callable[[], None]] = field(default_factory=list)
    """The acts of something else before the next requests, one each."""
    away: bool = False
    lose_answers: int = 0
    """So many writes from now on are made and not answered."""
    alone: Any = field(default_factory=RLock, repr=False)
    """Held during a request: threads of a task ask one after another, since the server has no locks."""

    def __post_init__(self) -> None:
        for name in self.namespaces:
            if self.server.store.get(NAMESPACES, "", name) is None:
                self.server.resources.create(NAMESPACES, "", {"metadata": {"name": name}})
                self.server.resources.create(SERVICE_ACCOUNTS, name, {"metadata": {"name": "default"}})

    def client(self) -> KubernetesClient:
        """The client of the collection."""
        return KubernetesClient(cast(Access, _Access(self)), _TIMEOUT)

    @property
    def objects(self) -> MutableMapping[str, Json]:
        """All objects by path, but for namespaces. A change of one is no request, and no manager owns what it sets."""
        return _Objects(self.server)

    def put_there(self, path: str, body: Json) -> None:
        """Put an object there, in the place of one that is there: fields are filled in, and no rule is asked."""
        self.objects[path] = body

    def answer(self, request: Request) -> Answer:
        """The answer of the server. Raises CutOff where it is lost."""
        with self.alone:
            answer = answered(self.server, request, self.server.store.clock)
        if self.lose_answers and request.method != "GET" and answer.status < 400:
            self.lose_answers -= 1
            raise CutOff(made=True)
        return answer


@dataclass(frozen=True, eq=False)
class _Objects(MutableMapping[str, Json]):
    server: ApiServer

    def __getitem__(self, path: str) -> Json:
        target, kind = _found(self.server, path)
        for item in self.server.store.each(kind, target.namespace):
            if item["metadata"]["name"] == target.name:
                return item
        raise KeyError(path)

    def __setitem__(self, path: str, body: Json) -> None:
        target, kind = _found(self.server, path)
        metadata = {"uid": self.server.store.new_uid(), "name": target.name, **body["metadata"]}
        if kind.namespaced:
            metadata["namespace"] = target.namespace
        item = copied({"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": metadata})
        fill(item)
        self.server.store.put(kind, item)

    def __delitem__(self, path: str) -> None:
        self.server.store.remove(_found(self.server, path)[1], self[path])

    def __iter__(self) -> Iterator[str]:
        for kind in self.server.kinds:
            for item in self.server.store.each(kind):
                if kind not in {NAMESPACES, SERVICE_ACCOUNTS}:
                    yield kind.path(item["metadata"].get("namespace", ""), item["metadata"]["name"])

    def __len__(self) -> int:
        return sum(1 for _path in self)


def _found(server: ApiServer, path: str) -> tuple[Target, Kind]:
    target = target_of(path)
    kind = server.kinds.find(target.group, target.version, target.plural) if target else None
    if target is None or kind is None:
        raise KeyError(path)
    return target, kind


class _Access:
    """In the place of the address and the credentials."""

    host = HOST
    impersonated: Sequence[tuple[str, str]] = ()
    way = ProxyRoute(None, HOST, "kubernetes.proxy")

    def __init__(self, api: InProcess) -> None:
        self._api = api
        self.pool = _Connections(api)

    def websocket(self, path: str, protocol: str, _agent: str, _timeout: float) -> Channels:
        """A websocket whose messages have all come. Raises what the package for websockets raises."""
        parts = urlsplit(path)
        query = parse_qsl(parts.query)
        headers = {**self.headers(), "Upgrade": "websocket", "Sec-WebSocket-Protocol": protocol}
        self._api.asked.append(("GET", parts.path))
        answer = self._api.answer(Request("GET", parts.path, dict(query), None, headers, query))
        if not isinstance(answer, Messages):
            said = answer.text.encode()
            # The package for websockets formats the message by itself.
            handshake = "Handshake status %d %s"
            raise WebSocketBadStatusException(handshake, answer.status, resp_body=said)
        return Channels([*answer.messages])

    def headers(self) -> dict[str, str]:
        """The credentials."""
        return {"Authorization": f"Bearer {self._api.token}"}

    def judge(self) -> Verdict:
        """No one else can read what is sent."""
        return Verdict()


@dataclass
class Channels:
    """In the place of a websocket."""

    messages: list[bytes]
    sock: None = None

    def settimeout(self, _seconds: float | None) -> None:
        """Nothing is late here."""

    def recv_data(self) -> tuple[int, bytes]:
        """The kind of the next message (bytes, or that it has been closed), and the message."""
        return (ABNF.OPCODE_BINARY, self.messages.pop(0)) if self.messages else (ABNF.OPCODE_CLOSE, b"")

    def shutdown(self) -> None:
        """Nothing is open."""


class _Connections:
    """In the place of the connections of urllib3: it asks again where that would, and its pauses are the clock's."""

    def __init__(self, api: InProcess) -> None:
        self._api = api
        self.pool_classes_by_scheme: dict[str, type] = {}

    def request(self, method: str, url: str, **how: Any) -> urllib3.HTTPResponse:
        """One request with all its attempts. Raises what urllib3 raises."""
        parts = urlsplit(url)
        body = None if how["body"] is None else json.loads(how["body"])
        request = Request(method, parts.path, dict(parse_qsl(parts.query)), body, how["headers"])
        self._api.asked.append((method, parts.path))
        if self._api.before:
            self._api.before.pop(0)()
        retries: urllib3.Retry = how["retries"]
        while True:
            response, error = self._attempt(request)
            if response is not None and not retries.is_retry(
                method, response.status, "Retry-After" in response.headers
            ):
                return response
            try:
                retries = retries.increment(method, url, response=response, error=error, _pool=cast(Any, self))
            except MaxRetryError:
                if response is not None:
                    return response
                raise
            self._api.server.store.clock.advance(retries.get_backoff_time())

    def _attempt(self, request: Request) -> tuple[urllib3.HTTPResponse | None, Exception | None]:
        if self._api.away:
            return None, NewConnectionError(cast(Any, self), "Failed to establish a new connection: Connection refused")
        try:
            answer = self._api.answer(request)
        except CutOff:
            ended = http.client.RemoteDisconnected("Remote end closed connection without response")
            return None, ProtocolError("Connection aborted.", ended)
        return urllib3.HTTPResponse(answer.text.encode(), dict(answer.headers), answer.status), None
