"""A request to a web server outside the cluster, with one time limit and the proxy of the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from .connection_pools import connection_pools
from .errors import Refusal, Unreachable, refusal, root_cause
from .packages import needed
from .proxies import proxy_for
from .proxy_faults import ProxyRoute
from .time_limit import CONNECTING, TimeLimit, retrying

AGENT = "stateful.upgrade"
LONGEST = 1024
"""The most bytes that are read of an answer whose status matters."""
PASSING = (HTTPStatus.TOO_MANY_REQUESTS, *(status for status in HTTPStatus if status >= 500))
"""The answers that may pass by themselves."""


class NoAnswer(Exception):
    """There was no answer; the text is the cause."""


@dataclass(frozen=True)
class Answer:
    """The answer of a web server."""

    status: int
    content: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in small letters."""


@dataclass(frozen=True)
class Trust:
    """The way in which the certificate of a server is verified."""

    ca_cert: str | None = None
    """The file of the CA certificate; None for those that the machine trusts."""
    validate_certs: bool = True

    def options(self) -> dict[str, Any]:
        """The options of the connections of urllib3."""
        return {"cert_reqs": "CERT_REQUIRED" if self.validate_certs else "CERT_NONE", "ca_certs": self.ca_cert}


MACHINE = Trust()
"""The trust of the machine."""


def fetch(
    url: str,
    seconds: float,
    longest: int = LONGEST,
    headers: Mapping[str, str] | None = None,
    trust: Trust = MACHINE,
) -> Answer:
    """The answer to a GET, of at most `longest` bytes, within so many seconds. Redirections are not followed.

    Raises:
        NoAnswer: there is none, or the certificate of the server cannot be verified.
        Refusal: the proxy of the environment cannot be used.
    """
    return _asked("GET", url, None, seconds, longest, headers or {}, trust)


def send(
    url: str,
    body: bytes,
    seconds: float,
    headers: Mapping[str, str],
    trust: Trust = MACHINE,
    method: str = "POST",
    longest: int = LONGEST,
) -> Answer:
    """The answer to a POST, PUT or DELETE, of at most `longest` bytes.

    A POST is sent again only if no connection was made.

    Raises:
        NoAnswer: there is none, or the certificate of the server cannot be verified.
        Refusal: the proxy of the environment cannot be used.
    """
    return _asked(method, url, body, seconds, longest, headers, trust)


def is_plain_url(text: str) -> bool:
    """Whether this is an address of HTTP without credentials and without a query, to which paths can be added."""
    try:
        parts = urlsplit(text)
        # A port that is no number raises as well, but only when it is read.
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_whole and parts.scheme in ("http", "https") and "@" not in parts.netloc and not parts.query


def good_answer(
    ask: Callable[[], Answer], when_away: Callable[[str], Unreachable], when_refused: Callable[[Answer], Refusal]
) -> Answer:
    """The answer, if it is a success. `when_away` makes the error from a cause, `when_refused` from the answer.

    Raises:
        Unreachable: there is no answer, or an error that may pass by itself.
        Refusal: the server refuses the request.
    """
    try:
        answer = ask()
    except NoAnswer as error:
        raise when_away(str(error)) from error
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise when_away(f"it answers {answer.status}")
    if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
        raise when_refused(answer)
    return answer


def status_text(answer: Answer, longest: int) -> str:
    """The status with at most `longest` characters of what the server says about it."""
    cause = " ".join(answer.content.split())[:longest].strip('" ').rstrip(".")
    return f"{answer.status}{f': {cause}' if cause else ''}"


def _asked(
    method: str,
    url: str,
    body: bytes | None,
    seconds: float,
    longest: int,
    headers: Mapping[str, str],
    trust: Trust,
) -> Answer:
    urllib3 = needed("urllib3", "urllib3")
    limit = TimeLimit(seconds)
    try:
        proxy = proxy_for(url, None, None, os.environ)
    except ValueError as error:
        remedy = "Correct HTTPS_PROXY or HTTP_PROXY in the environment."
        raise refusal("proxy_unusable", f"The proxy of the environment cannot be used: {error}.", remedy) from None
    way, tls = ProxyRoute(proxy, urlsplit(url).netloc.rpartition("@")[2], "HTTPS_PROXY"), trust.options()
    manager = connection_pools(limit, proxy, **tls)
    limit.begin()
    again = retrying(limit, total=2, status_forcelist=PASSING, backoff_factor=0.5)
    time = urllib3.Timeout(connect=min(seconds, CONNECTING), read=seconds)
    try:
        answer = manager.request(
            method,
            url,
            body=body,
            headers={"User-Agent": AGENT, **headers},
            timeout=time,
            retries=again,
            redirect=False,
            preload_content=False,
        )
        content = answer.read(longest)
    except (urllib3.exceptions.HTTPError, OSError) as error:  # such as a file of certificates that is not there
        fault = way.fault(error)
        raise NoAnswer(_in_words(fault) if fault else root_cause(error)) from error
    finally:
        manager.clear()
    if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        raise NoAnswer(_in_words(way.answered(answer.status)))
    said = {str(name).lower(): str(value) for name, value in answer.headers.items()}
    return Answer(int(answer.status), str(content.decode("utf-8", "replace")), said)


def _in_words(fault: Refusal) -> str:
    """A refusal in the middle of a sentence."""
    said = fault.verdict.reasons[0].message.rstrip(".")
    return said[:1].lower() + said[1:]
