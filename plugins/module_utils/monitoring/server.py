"""The HTTP API of a Prometheus, an Alertmanager or a push gateway, with its credentials."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ..common.errors import NotUnderstood, Refusal, Unreachable, refusal
from ..common.reading import understood
from ..common.web import Answer, Trust, fetch, good_answer, is_plain_url, send, status_text

LONGEST = 20_000_000
"""Bytes of an answer that are read: about 40,000 alerts."""

SHOWN = {"prometheus": "Prometheus", "alertmanager": "Alertmanager", "push_gateway": "push gateway"}
"""The names of the servers for people, by the option of their connection."""

Pairs = Sequence[tuple[str, str]]


class Server:
    """One server, by the options of its connection."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        """Nothing is asked yet.

        Args:
            name: the option of the connection.
            given: its suboptions.

        Raises:
            Refusal: its address is not an HTTP URL, or holds credentials.
        """
        self._name = name
        self._shown = SHOWN[name]
        self._url = str(given["url"]).rstrip("/")
        if not is_plain_url(self._url):
            raise refusal(
                "monitoring_address_unusable",
                f"The address of the {self._shown} is not a plain HTTP URL.",
                f"Give one such as https://monitoring.example.com, and its credentials apart ({name}.url).",
            )
        self.host = urlsplit(self._url).netloc
        self._headers = _credentials(given)
        self._trust = Trust(given["ca_cert"], given["validate_certs"])
        self._seconds = float(given["request_timeout"])

    def get(self, path: str, query: Pairs = ()) -> Any:
        """The data of an answer.

        Raises:
            Unreachable: there is no answer, or none that can be used now.
            Refusal: the server refuses the request.
        """
        asked = f"?{urlencode(query, quote_via=quote)}" if query else ""
        answer = self._good(
            lambda: fetch(f"{self._url}{path}{asked}", self._seconds, LONGEST, self._headers, self._trust)
        )
        with self.understood():
            return json.loads(answer.content)

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """The data of the answer to a POST; for errors see `get`."""
        headers = {**self._headers, "Content-Type": "application/json"}
        body = json.dumps(content).encode()
        answer = self._good(lambda: send(f"{self._url}{path}", body, self._seconds, headers, self._trust))
        with self.understood():
            return json.loads(answer.content)

    def put(self, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Replace what is at the path; for errors see `get`."""
        whole = {**self._headers, **headers}
        self._good(lambda: send(f"{self._url}{path}", body, self._seconds, whole, self._trust, "PUT"))

    def delete(self, path: str) -> None:
        """Delete something; for errors see `get`."""
        self._good(lambda: send(f"{self._url}{path}", b"", self._seconds, self._headers, self._trust, "DELETE"))

    @contextmanager
    def understood(self) -> Iterator[None]:
        """A block that reads an answer."""

        def refuse(fault: str) -> NotUnderstood:
            said = f"The answer of the {self._shown} {self.host} cannot be read: {fault}."
            return NotUnderstood.because("monitoring_not_understood", said, "See that the address is right.")

        with understood(refuse):
            yield

    def _good(self, ask: Callable[[], Answer]) -> Answer:
        return good_answer(ask, self._away, self._refused)

    def _refused(self, answer: Answer) -> Refusal:
        return refusal(
            "monitoring_refuses",
            f"The {self._shown} {self.host} answers {status_text(answer, 200)}.",
            f"Correct its address and credentials ({self._name}.url, {self._name}.token, {self._name}.username).",
        )

    def _away(self, cause: str) -> Unreachable:
        return Unreachable.because(
            "monitoring_unreachable",
            f"The {self._shown} {self.host} gives no answer: {cause}.",
            f"See that it runs and can be reached from here ({self._name}.url).",
        )


def _credentials(given: Mapping[str, Any]) -> dict[str, str]:
    if given["token"]:
        return {"Authorization": f"Bearer {given['token']}"}
    if given["username"]:
        pair = f"{given['username']}:{given['password'] or ''}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}
