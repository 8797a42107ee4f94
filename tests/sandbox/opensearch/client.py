"""The cluster in memory behind the product's own client: a host that needs no socket.

So answers, errors and repetitions come to the product as they do from real servers, while time is virtual.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qsl

from ansible_collections.stateful.upgrade.plugins.module_utils.common.time_limit import TimeLimit
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.hosts import (
    Hosts,
    HttpAnswer,
    Question,
    Unanswered,
)

from tests.sandbox.clock import Clock
from tests.sandbox.web import Answer, CutOff, Handler, Pending, Request, answered

ADDRESS = "http://sandbox:9200"
SECONDS = 30.0
"""For how long a request waits for its answer, as long as nothing else is said (`request_timeout`)."""
JSON = "application/json"

Watch = Callable[[Request], None]
"""Called with every request before it is answered; it may raise `CutOff`."""


def client_of(handler: Handler, clock: Clock, watch: Watch = lambda _request: None) -> OpenSearchClient:
    """The product's client on a cluster in memory."""

    class InMemory:
        """Requests to the handler."""

        def ask(self, question: Question, /) -> HttpAnswer:
            """Its answer. Raises Unanswered."""
            path, _mark, query = question.target.partition("?")
            parameters = dict(parse_qsl(query, keep_blank_values=True))
            body = json.loads(question.body) if question.body else None
            request = Request(question.method, path, parameters, body, {})
            try:
                watch(request)
                answer = _in_time(handler, request, clock, question.seconds or SECONDS)
            except CutOff as error:
                raise Unanswered(ConnectionRefusedError(111, "Connection refused"), ADDRESS) from error
            if answer is None:
                raise Unanswered(TimeoutError("timed out"), ADDRESS, late=True)
            return HttpAnswer(answer.status, answer.headers.get("Content-Type", JSON), answer.text.encode())

    return OpenSearchClient(Hosts([InMemory()]), [ADDRESS], TimeLimit(SECONDS, clock.now))


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
