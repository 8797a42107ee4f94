"""The cluster in memory behind the product's own client: a connection of opensearch-py that needs no socket.

So answers, errors and repetitions come to the product as they do from real servers, while time is virtual.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import opensearchpy
from ansible_collections.stateful.upgrade.plugins.module_utils.common.time_limit import TimeLimit
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import (
    PASSING,
    OpenSearchClient,
)
from opensearchpy.connection import Connection
from opensearchpy.exceptions import ConnectionError as NotConnected
from opensearchpy.exceptions import ConnectionTimeout

from tests.sandbox.clock import Clock
from tests.sandbox.web import Answer, CutOff, Handler, Pending, Request, answered

ADDRESS = "http://sandbox:9200"
SECONDS = 30.0
"""For how long a request waits for its answer, as long as nothing else is said (`request_timeout`)."""
RETRIES = 2
JSON = "application/json"

Watch = Callable[[Request], None]
"""Called with every request before it is answered; it may raise `CutOff`."""


def client_of(handler: Handler, clock: Clock, watch: Watch = lambda _request: None) -> OpenSearchClient:
    """The product's client on a cluster in memory."""

    class InMemory(Connection):
        """Requests to the handler."""

        def perform_request(
            self,
            method: str,
            url: str,
            params: Mapping[str, Any] | None = None,
            body: Any = None,
            timeout: float | None = None,
            ignore: Collection[int] = (),
            headers: Mapping[str, str] | None = None,
        ) -> Any:
            """Status, headers and text of the answer."""
            path, _mark, query = url.partition("?")
            pairs = [*parse_qsl(query, keep_blank_values=True), *parse_qsl(urlencode(params or {}))]
            request = Request(method, path, dict(pairs), json.loads(body) if body else None, headers or {})
            try:
                watch(request)
                answer = _in_time(handler, request, clock, timeout or SECONDS)
            except CutOff as error:
                cause = ConnectionRefusedError(111, "Connection refused")
                raise NotConnected("N/A", str(error), cause) from error
            if answer is None:
                late: Any = ConnectionTimeout("TIMEOUT", "timed out", TimeoutError("timed out"))
                late.silent = self
                raise late
            kind = answer.headers.get("Content-Type", JSON)
            if not 200 <= answer.status < 300 and answer.status not in ignore:
                self._raise_error(answer.status, answer.text, kind)
            return answer.status, {"content-type": kind}, answer.text

    connection = opensearchpy.OpenSearch(
        hosts=[ADDRESS],
        connection_class=InMemory,
        max_retries=RETRIES,
        retry_on_status=PASSING,
        timeout=SECONDS,
    )
    return OpenSearchClient(connection, [ADDRESS], opensearchpy, TimeLimit(SECONDS, clock.now))


def _in_time(handler: Handler, request: Request, clock: Clock, seconds: float) -> Answer | None:
    """The answer, or None where it does not come in time."""
    end = clock.now() + seconds
    answer = handler(request)
    if isinstance(answer, Answer):
        return answer
    own = clock.now() + answer.seconds
    over: list[bool] = []

    def late() -> Answer:
        over.append(not answer.ready() and clock.now() < own)
        return Answer(0) if over[0] else answer.answer()

    found = answered(lambda _request: Pending(answer.ready, min(own, end) - clock.now(), late), request, clock)
    return None if over[0] else found
