"""Requests to a cluster whose members answer at two addresses, used in place of an object of opensearch-py.

While TLS is switched on or off at the REST port, each member answers by one scheme: by the former one until it has
restarted, by the new one afterwards. A member with TLS ends a connection without TLS unanswered, and one without TLS
answers a handshake with an error, so neither takes a request that was meant for the other scheme.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import ModuleType
from typing import Any

LOCAL = "/_nodes/_local/_none"
"""The question for the name of the member that answers. It needs no right that a run does not have."""

_OTHER_WAY = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""The answers of members that want the other credentials, and of a proxy that cannot reach a member."""


class EitherConnection:
    """The part of two objects of opensearch-py that the client uses."""

    def __init__(self, connections: Sequence[Any], errors: ModuleType) -> None:
        self.transport = EitherTransport([each.transport for each in connections], errors)


class EitherTransport:
    """Asks by the connection that has answered last, and then by the other one."""

    def __init__(self, transports: list[Any], errors: Any) -> None:
        self.max_retries: int | None = None
        """0 sends a request once. None leaves the repetitions to each connection."""
        self._transports = transports
        self._errors = errors

    def perform_request(self, method: str, url: str, **how: Any) -> Any:
        """The answer of the first member that takes the request.

        Raises:
            TransportError: none does; it is the error that says most.
        """
        if self.max_retries is None:
            return self._ask(method, url, how)
        # A harmless question finds the connection that works, so that the request itself is sent by no other.
        self._ask("GET", LOCAL, {"params": {"ignore": ()}})
        once = copy.copy(self._transports[0])
        once.max_retries = self.max_retries
        return once.perform_request(method, url, **how)

    def mark_dead(self, connection: Any) -> None:
        """Do not ask that host for a while; the connection that does not have this host ignores it."""
        for each in self._transports:
            each.mark_dead(connection)

    def _ask(self, method: str, url: str, how: Mapping[str, Any]) -> Any:
        failed = []
        for each in tuple(self._transports):
            try:
                answer = each.perform_request(method, url, **how)
            except self._errors.TransportError as error:
                if not self._may_be_the_address(error):
                    raise
                failed.append(error)
                continue
            if failed:
                self._transports.reverse()
            return answer
        raise min(failed, key=self._rank)

    def _may_be_the_address(self, error: Any) -> bool:
        """Whether another member, or the same one at its other address, may answer. A silent one may have got it."""
        if isinstance(error, self._errors.ConnectionError):
            return not isinstance(error, self._errors.ConnectionTimeout)
        return error.status_code in _OTHER_WAY

    def _rank(self, error: Any) -> int:
        """The place of an error among those of both connections, first the one that time does not fix.

        A failed handshake is what every member without TLS gives, so it says least.
        """
        tls = isinstance(error, self._errors.SSLError)
        if tls and "certificate" in str(error):
            return 0
        return 3 if tls else 2 if isinstance(error, self._errors.ConnectionError) else 1
