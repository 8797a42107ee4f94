"""The HTTP API of an AWX or Automation Platform controller."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from ..common.arguments import from_environment
from ..common.errors import NotUnderstood, Refusal, Unreachable, refusal
from ..common.reading import understood
from ..common.web import Answer, Trust, fetch, good_answer, is_plain_url, send, status_text

LONGEST = 20_000_000
"""Bytes of an answer that are read."""
API = "/api/v2"
OPTION = "upgrade_fleet_awx"
OPTIONS: dict[str, Any] = {
    "type": "dict",
    "apply_defaults": True,
    "options": {
        "url": {"type": "str", "fallback": from_environment("CONTROLLER_HOST")},
        "token": {"type": "str", "no_log": True, "fallback": from_environment("CONTROLLER_OAUTH_TOKEN")},
        "ca_cert": {"type": "path"},
        "validate_certs": {"type": "bool", "default": True, "fallback": from_environment("CONTROLLER_VERIFY_SSL")},
        "request_timeout": {"type": "int", "default": 30},
    },
}
"""The connection, with the environment variables of the credential type of AWX itself."""


class NotThere(Refusal):
    """AWX itself says that it does not have what was asked for."""


class AwxServer:
    """One AWX, by the options of its connection."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Nothing is asked yet.

        Raises:
            Refusal: its address is not an HTTP URL, or holds credentials, or there is no token.
        """
        self._url = str(given["url"] or "").rstrip("/").removesuffix(API)
        if not is_plain_url(self._url):
            raise refusal(
                "awx_address_unusable",
                "The address of AWX is not a plain HTTP URL.",
                f"Give one such as https://awx.example.com ({OPTION}.url, or CONTROLLER_HOST).",
            )
        self.host = urlsplit(self._url).netloc
        if not given["token"]:
            raise refusal(
                "awx_without_token",
                f"There is no token for the AWX {self.host}.",
                f"Give one of a user who may execute the job template (CONTROLLER_OAUTH_TOKEN, or {OPTION}.token).",
            )
        self._headers = {"Authorization": f"Bearer {given['token']}"}
        self._trust = Trust(given["ca_cert"], given["validate_certs"])
        self._seconds = float(given["request_timeout"])

    def get(self, path: str, **query: str | int) -> Any:
        """The data of an answer.

        Raises:
            Unreachable: there is no answer, or none that can be used now.
            NotThere: AWX does not have it.
            Refusal: AWX refuses the request.
        """
        answer = self._good(lambda: self._fetched(path, query))
        with self.understood():
            return json.loads(answer.content)

    def text(self, path: str, **query: str | int) -> str:
        """An answer that is a text; for errors see `get`."""
        return self._good(lambda: self._fetched(path, query)).content

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """The data of the answer to a POST, which is sent once; for errors see `get`."""
        headers = {**self._headers, "Content-Type": "application/json"}
        body = json.dumps(content).encode()
        answer = self._good(
            lambda: send(f"{self._url}{API}{path}", body, self._seconds, headers, self._trust, longest=LONGEST)
        )
        with self.understood():
            return json.loads(answer.content or "{}")

    @contextmanager
    def understood(self) -> Iterator[None]:
        """A block that reads an answer."""

        def refuse(fault: str) -> NotUnderstood:
            said = f"The answer of the AWX {self.host} cannot be read: {fault}."
            return NotUnderstood.because("awx_not_understood", said, f"See that {OPTION}.url is right.")

        with understood(refuse):
            yield

    def _fetched(self, path: str, query: Mapping[str, str | int]) -> Answer:
        asked = f"?{urlencode(query)}" if query else ""
        return fetch(f"{self._url}{API}{path}{asked}", self._seconds, LONGEST, self._headers, self._trust)

    def _good(self, ask: Callable[[], Answer]) -> Answer:
        return good_answer(ask, self._away, self._refused)

    def _refused(self, answer: Answer) -> Refusal:
        found = refusal(
            "awx_refuses",
            f"The AWX {self.host} answers {status_text(answer, 300)}.",
            f"Correct {OPTION}.url, the token, its rights on the job template, or what the answer names.",
        )
        return NotThere(*found.verdict.reasons) if _says_not_there(answer) else found

    def _away(self, cause: str) -> Unreachable:
        return Unreachable.because(
            "awx_unreachable",
            f"The AWX {self.host} gives no answer: {cause}.",
            f"See that it runs and can be reached from here ({OPTION}.url, {OPTION}.ca_cert).",
        )


def _says_not_there(answer: Answer) -> bool:
    """Whether AWX itself answers 404, with its `detail`: a proxy in front of it does so, too, while AWX is away."""
    try:
        said = json.loads(answer.content)
    except ValueError:
        return False
    return answer.status == HTTPStatus.NOT_FOUND and isinstance(said, dict) and "detail" in said
