"""Requests to the hosts of a cluster by urllib3: which host is asked, how often, and what counts as no answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from ...common.packages import needed
from ...common.time_limit import CONNECTING, TimeLimit
from .addresses import with_port

PASSING = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Answers that a cluster (no elected manager, overload) or a proxy in front of it gives for a while."""

LOCAL = "/_nodes/_local/_none"
"""The question for the name of the member that answers. It needs no right that a run does not have."""

ATTEMPTS = 3
"""The least number of attempts of a request."""

_OTHER_ADDRESS = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""The answers of members that want the other credentials, and of a proxy that cannot reach a member."""

Certificates = dict[str, set[bytes]]
"""The certificates in DER that were shown, by host and port."""


@dataclass(frozen=True)
class Question:
    """One request."""

    method: str
    target: str
    """The path and the query."""
    body: bytes | None = None
    seconds: float | None = None
    """The time that it may take; None for as long as every other. With a time of its own it is sent only once."""


@dataclass(frozen=True)
class HttpAnswer:
    """One answer, a success or not."""

    status: int
    kind: str
    """Its media type."""
    content: bytes

    @property
    def text(self) -> str:
        """The content as text. Characters that are not UTF-8 are replaced."""
        return self.content.decode("utf-8", "replace")


class Unanswered(Exception):
    """A host gave no answer."""

    def __init__(self, cause: BaseException, host: str, *, late: bool = False, tls: bool = False) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.host = host
        self.late = late
        """The connection was made, and no answer came in time: the host may have taken the request."""
        self.tls = tls


class Asked(Protocol):
    """One host, or several."""

    def ask(self, question: Question, /) -> HttpAnswer:
        """The answer. Raises Unanswered."""


class Host:
    """One host of a cluster."""

    def __init__(
        self, url: str, pools: Any, limit: TimeLimit, authorization: str, note: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self.url = url
        self._address = with_port(url).rstrip("/")
        self._pools = pools
        self._limit = limit
        self._note = note
        self._errors = needed("urllib3.exceptions", "urllib3")
        self._headers = {
            "User-Agent": "stateful.upgrade",
            "Accept-Encoding": "gzip",
            "Content-Type": "application/json",
            **({"Authorization": authorization} if authorization else {}),
        }

    def ask(self, question: Question) -> HttpAnswer:
        """The answer of this host.

        Raises:
            Unanswered: it gives none.
        """
        timeout = needed("urllib3", "urllib3").Timeout(connect=CONNECTING, read=max(self._limit.seconds_left(), 0.001))
        try:
            answer = self._pools.request(
                question.method,
                self._address + question.target,
                body=question.body,
                headers=self._headers,
                timeout=timeout,
                retries=False,
                redirect=False,
            )
        except (self._errors.HTTPError, OSError) as error:
            late = isinstance(error, self._errors.ReadTimeoutError)
            raise Unanswered(error, self.url, late=late, tls=isinstance(error, self._errors.SSLError)) from error
        self._note(answer.headers)
        return HttpAnswer(int(answer.status), str(answer.headers.get("Content-Type", "")), answer.data)


class Hosts:
    """Several hosts of one cluster. Each is asked once, and from then on the one that has answered last.

    So the certificates of all are seen, and a host that does not answer is not asked again. A request is repeated at
    the next host if there was no connection, or an answer that may pass. One that was not answered in time is not: the
    host may have taken it.
    """

    def __init__(self, hosts: Sequence[Asked]) -> None:
        self._hosts = tuple(hosts)
        """The one that has answered last is the first."""
        self._unasked = self._hosts

    def ask(self, question: Question) -> HttpAnswer:
        """The answer of the first host that has one.

        Raises:
            Unanswered: none has.
        """
        once = question.seconds is not None
        left = 1 if once else max(ATTEMPTS, len(self._hosts) + 1)
        while True:
            left -= 1
            asked = self._hosts[0] if once or not self._unasked else self._unasked[0]
            self._unasked = tuple(each for each in self._unasked if each is not asked)
            others = [each for each in self._hosts if each is not asked]
            try:
                answer = asked.ask(question)
            except Unanswered as error:
                self._hosts = (*others, asked)
                if error.late or not left:
                    raise
                continue
            passes = answer.status in PASSING
            self._hosts = (*others, asked) if passes else (asked, *others)
            if not passes or not left:
                return answer


class TwoAddresses:
    """A cluster whose members answer at two addresses: at that which has answered last, or else at the other one.

    While TLS is switched on or off at the REST port, each member answers by one scheme: by the former one until it has
    restarted, by the new one afterwards. A member with TLS ends a connection without TLS unanswered, and one without
    TLS answers a handshake with an error, so neither takes a request that was meant for the other scheme.
    """

    def __init__(self, addresses: Sequence[Asked]) -> None:
        self._addresses = tuple(addresses)

    def ask(self, question: Question) -> HttpAnswer:
        """The answer of the first member that takes the request; if none does, the failure that says most.

        Raises:
            Unanswered: there is no answer.
        """
        if question.seconds is None:
            return self._first(question)
        # A harmless question finds the address that works, so that the request itself is sent to no other.
        found = self._first(Question("GET", LOCAL))
        return self._addresses[0].ask(question) if found.status < HTTPStatus.MULTIPLE_CHOICES else found

    def _first(self, question: Question) -> HttpAnswer:
        failed = list[Unanswered | HttpAnswer]()
        for each in self._addresses:
            try:
                answer = each.ask(question)
            except Unanswered as error:
                if error.late:
                    raise
                failed.append(error)
                continue
            if answer.status in _OTHER_ADDRESS:
                failed.append(answer)
                continue
            if failed:
                self._addresses = self._addresses[::-1]
            return answer
        most = min(failed, key=_rank)
        if isinstance(most, Unanswered):
            raise most
        return most


def _rank(failure: Unanswered | HttpAnswer) -> int:
    """The place of a failure among those of both addresses, first the one that time does not fix.

    A failed handshake is what every member without TLS gives, so it says least.
    """
    if isinstance(failure, HttpAnswer):
        return 1
    if failure.tls:
        return 0 if "certificate" in str(failure) else 3
    return 2


def noting(base: Any, shown: Certificates) -> Any:
    """A subclass of `base` that notes the certificate of the other side, verified or not."""

    class Noting(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        def connect(self) -> None:
            super().connect()
            asked = getattr(self.sock, "getpeercert", None)
            certificate = asked(True) if asked else None
            if certificate:
                shown.setdefault(f"{self.host}:{self.port}", set()).add(certificate)

    return Noting
