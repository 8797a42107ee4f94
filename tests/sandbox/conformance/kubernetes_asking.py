"""Requests of a case, to whichever API server, and what is compared of the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import urllib3
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import PROTOCOL
from websocket import ABNF

from tests.lab.lab import Lab
from tests.lab.waiting import until
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.web import Answer, Messages, Request

Json = dict[str, Any]
Seen = list[Any]
Case = Callable[["Asking"], Iterator[Any]]

STATUS = 3
"""The channel of the Status at the end."""
_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_VERSION = re.compile(r"(?<=meta: )\d+")


class Asking(Protocol):
    """One API server, as users that it knows ask it."""

    def __call__(
        self, method: str, path: str, body: object = None, *, media_type: str = "", user: str = "admin", **query: str
    ) -> Answer:
        """The answer to a request."""

    def messages(self, path: str, query: Sequence[tuple[str, str]], *streams: str) -> Seen:
        """The messages of a websocket of admin: channel and content of each, in which a Status is read."""

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition is true."""


class OfSandbox:
    """Requests to the API server in memory."""

    def __init__(self, kubernetes: Kubernetes) -> None:
        self._kubernetes = kubernetes

    def __call__(
        self, method: str, path: str, body: object = None, *, media_type: str = "", user: str = "admin", **query: str
    ) -> Answer:
        """The answer to a request."""
        kind = media_type or "application/json"
        return self._kubernetes.ask(method, path, body, query, media_type=kind, user=user)

    def messages(self, path: str, query: Sequence[tuple[str, str]], *streams: str) -> Seen:
        """The messages of a websocket."""
        repeated = [*query, *((stream, "true") for stream in streams)]
        headers = {"Authorization": f"Bearer {TOKENS['admin']}", "Upgrade": "websocket"}
        answer = self._kubernetes.server(Request("GET", path, dict(repeated), None, headers, repeated))
        assert isinstance(answer, Messages), answer
        return [_message(each) for each in answer.messages]

    def until(self, holds: Callable[[], object]) -> None:
        """Let time pass until a condition is true."""
        assert self._kubernetes.until(holds)


class OfLab:
    """Requests to the API server of the lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._pools: dict[str, tuple[urllib3.PoolManager, str, dict[str, str]]] = {}

    def __call__(
        self, method: str, path: str, body: object = None, *, media_type: str = "", user: str = "admin", **query: str
    ) -> Answer:
        """The answer to a request."""
        pool, host, headers = self._pool(user)
        answer = pool.request(
            method,
            f"{host}{path}" + ("?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else ""),
            body=None if body is None else json.dumps(body),
            headers={**headers, "Content-Type": media_type or "application/json", "User-Agent": "sandbox/1"},
        )
        text = answer.data.decode()
        try:
            return Answer(answer.status, json.loads(text))
        except ValueError:
            return Answer(answer.status, text)

    def _pool(self, user: str) -> tuple[urllib3.PoolManager, str, dict[str, str]]:
        if user not in self._pools:
            with self._lab.client(user) as api:
                configuration: Any = api.configuration
                settings = configuration.auth_settings().values()
                headers = {each["key"]: each["value"] for each in settings if each["in"] == "header"}
                pool = urllib3.PoolManager(ca_certs=configuration.ssl_ca_cert)
                self._pools[user] = (pool, configuration.host, headers)
        return self._pools[user]

    def messages(self, path: str, query: Sequence[tuple[str, str]], *streams: str) -> Seen:
        """The messages of a websocket."""
        client = connect({"kubeconfig": str(self._lab.kubeconfig())})
        channels = client.websocket(path, [*query, *((stream, "true") for stream in streams)], PROTOCOL)
        found: Seen = []
        while True:
            kind, message = channels.recv_data()
            if kind != ABNF.OPCODE_BINARY:
                channels.shutdown()
                return found
            found.append(_message(message))

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition is true."""
        until("what a case waits for", holds, 60)


def _message(message: bytes) -> list[Any]:
    content = message[1:].decode()
    return [message[0], json.loads(content) if message[0] == STATUS and content else content]


def outcome(answer: Answer) -> Json | list[Any]:
    """The part of an answer that is compared: its code, and of a `Status` all that has no UID and no version."""
    body = answer.body
    if not isinstance(body, dict) or body.get("kind") != "Status":
        return [answer.status, body["kind"] if isinstance(body, dict) else body]
    details = {key: value for key, value in body.get("details", {}).items() if key not in {"uid", "causes"}}
    causes = [[each.get("reason"), each.get("field")] for each in body.get("details", {}).get("causes", [])]
    message = _VERSION.sub("<version>", _UID.sub("<uid>", body.get("message", "")))
    return {
        "code": answer.status,
        "status": body["status"],
        "reason": body.get("reason", ""),
        "message": message,
        "details": details,
        "causes": causes,
    }


def seen(case: Case, asking: Asking) -> Seen:
    """The outcomes of a case at an API server, as JSON has them."""
    found: Seen = json.loads(json.dumps(list(case(asking))))
    return found
