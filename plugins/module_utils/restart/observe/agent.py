"""A client of the agent that stops and starts the server in a pod (roles/restart/files/process_agent.py).

Each request has an identity, and the agent carries it out only once. So it is sent again if its answer is lost.

The agent speaks HTTP by itself, because the server of Python's standard library answers in pages, quotes the request,
and waits for callers that send byte after byte. It is two files, which are in one ConfigMap, since one would be
longer than a file may be. It writes a stop to the disk before it sends the signal, with the identities of requests
next to it, so that neither a container that restarts nor a late repetition undoes the last request. A process counts
as running until all that it has started has ended: a shell that SIGTERM has ended may leave its server behind, which
has the lock of its data path. The rest is found by its parents in `/proc`, and never ended by `kill(-1)`, which would
reach other containers of a pod with a shared PID namespace. The checksum is taken before the start: only the run
writes the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from os import environ
from typing import Any

from ...common.connection_pools import connection_pools, tls_context
from ...common.credentials import judge_exposure
from ...common.errors import (
    HANDSHAKE_BROKEN_OFF,
    Conflict,
    NotUnderstood,
    Refusal,
    Unreachable,
    causes,
    refusal,
    root_cause,
)
from ...common.packages import needed
from ...common.proxies import proxy_for
from ...common.reading import Json, Unreadable, flag, optional_text, parsed, text, texts, understood, whole
from ...common.time_limit import CONNECTING, TimeLimit, retrying
from ...common.verdict import Verdict
from ...common.words import shortened
from ...kubernetes.port_forward import PodForward, forwarded
from .state import SHOWN

PORT = 9443
LONGEST_REASON = 400
"""The most characters of an error that a message quotes, since another server than the agent may answer with a page."""
_ATTEMPTS = 3


@dataclass(frozen=True)
class Status:
    """The process of a pod, as its agent sees it."""

    running: bool
    """Whether the process, or anything that it has started, is alive."""
    stopping: bool
    stopped_by_request: bool
    """Whether the process is to stay stopped, over restarts of the container too."""
    pid: int | None
    started_at: str | None
    checksum: str | None
    """The SHA-256 of the configuration that is mounted now; None if it is not there."""
    running_checksum: str | None
    """The SHA-256 of the configuration when the running process was started."""
    exit_code: int | None
    """The exit code of the last process that has ended."""
    ended_at: str | None
    last_stop: str | None
    """The identity of the last request to stop that was carried out."""
    last_start: str | None
    log: tuple[str, ...]
    """The last lines of the process that was started last."""


@dataclass(frozen=True)
class AgentAnswer:
    """The answer to a request to stop or start."""

    changed: bool
    """Whether this request has done anything: a repeated one does nothing."""
    status: Status


class AgentClient:
    """Requests to the agent of one pod.

    Raises:
        Unreachable: from every method, when there is no answer.
        Conflict: from `start`, when another configuration is mounted or runs, or the process is about to end.
        Refusal: from every method, for every other failure: credentials, certificates, another server.
    """

    def __init__(self, where: str, url: str, pools: Any, limit: TimeLimit, headers: Mapping[str, str]) -> None:
        self.where = where
        self._url, self._pools, self._limit, self._headers = url, pools, limit, headers
        urllib3 = needed("urllib3", "urllib3")
        self._failure: type[Exception] = urllib3.exceptions.HTTPError
        self._timeout = urllib3.Timeout(connect=min(limit.seconds, CONNECTING), read=limit.seconds)
        self._retries = retrying(limit, total=_ATTEMPTS, allowed_methods=None, backoff_factor=0.5)

    def status(self) -> Status:
        """The process, and the configuration that is mounted."""
        answer = self._ask("GET", "/es/status")
        with self._reading("/es/status"):
            return _status(answer)

    def stop(self, request_id: str) -> AgentAnswer:
        """Have the process stop, and stay stopped. It has ended once the status says so.

        After the patience of the agent the process is killed.
        """
        return self._order("/es/stop", request_id, {})

    def start(self, request_id: str, checksum: str) -> AgentAnswer:
        """Start the process on the mounted configuration, which has to have this checksum."""
        return self._order("/es/start", request_id, {"checksum": checksum})

    def close(self) -> None:
        """Close all connections."""
        self._pools.clear()

    def _order(self, path: str, request_id: str, fields: Mapping[str, object]) -> AgentAnswer:
        answer = self._ask("POST", path, {"request_id": request_id, **fields})
        with self._reading(path):
            return AgentAnswer(flag(answer, "changed"), _status(answer))

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        self._limit.begin()
        try:
            answer = self._pools.request(
                method,
                self._url + path,
                body=None if body is None else json.dumps(body),
                headers=self._headers,
                timeout=self._timeout,
                retries=self._retries,
                redirect=False,
            )
        except self._failure as error:
            raise self._unreachable(error) from error
        said = answer.data.decode("utf-8", "replace")
        if answer.status != HTTPStatus.OK:
            raise self._refused(path, answer.status, said, body or {})
        with self._reading(path):
            return parsed(said)

    def _reading(self, path: str) -> AbstractContextManager[None]:
        return understood(
            lambda what: NotUnderstood.because(
                "agent_not_understood",
                f"The answer of the agent at {self.where} to {path} is not understood: {what}.",
                "If this does not pass, check that the agent listens at that port, and is of the version of this"
                " collection.",
            )
        )

    def _unreachable(self, error: Exception) -> Refusal:
        for each in causes(error):
            if isinstance(each, Refusal):
                return each
        cause = root_cause(error)
        of_tls = any(word in cause.lower() for word in ("certificate", "hostname", "ssl", "tls"))
        if of_tls and HANDSHAKE_BROKEN_OFF not in cause:
            return refusal(
                "agent_certificate",
                f"A trusted TLS connection to the agent at {self.where} cannot be made: {cause}.",
                "Set agent.ca_cert to the CA that signed its certificate, and agent.server_name to a name in it.",
            )
        return Unreachable.because(
            "agent_unreachable",
            f"The agent at {self.where} cannot be reached: {cause}.",
            "Check that its container runs, that agent.port is its port, and that a NetworkPolicy lets this run in.",
        )

    def _refused(self, path: str, status: int, said: str, body: Mapping[str, object]) -> Refusal:
        try:
            answer = parsed(said)
            reason = text(answer, "error").rstrip(".")
        except Unreadable:
            answer, reason = {}, "it does not say why"
        reason = shortened(reason, LONGEST_REASON)
        if status == HTTPStatus.UNAUTHORIZED:
            return refusal(
                "agent_credentials",
                f"The agent at {self.where} did not accept the credentials (401).",
                "Check agent.token against the Secret of its --token-file, which that file follows in about a minute.",
            )
        if status == HTTPStatus.CONFLICT:
            sums = f" It expected {_digits(body.get('checksum'))}, {_digits(answer.get('checksum'))} is mounted"
            runs = answer.get("running_checksum")
            sums += f", and {_digits(runs)} runs." if runs else "."
            return Conflict.because(
                "agent_conflict",
                f"The agent at {self.where} did not carry out {path}: {reason}." + (sums if "checksum" in body else ""),
                "Look again: a configuration that was written just now is mounted within about a minute.",
            )
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            return Unreachable.because(
                "agent_unavailable",
                f"The agent at {self.where} cannot carry out {path} now: {reason}.",
                "Fix the cause it names, such as a full volume of its --state-directory.",
            )
        return refusal(
            "agent_answer",
            f"The agent at {self.where} answered {status} to {path}: {reason}.",
            "Check that agent.port is the port of the agent, and that it is of this collection's version.",
        )


def connect(options: Mapping[str, Any], host: str, forward: PodForward | None = None) -> AgentClient:
    """A client for the `agent` argument; `host` is the address or the name of the pod. No request is made yet.

    With `forward`, connections lead through the Kubernetes API; the certificate is still that of `host`.

    Raises:
        Refusal: a file of a certificate cannot be used, or the token cannot be sent.
    """
    limit = TimeLimit(float(options.get("request_timeout") or 30))
    url = f"https://{f'[{host}]' if ':' in host else host}:{options.get('port') or PORT}"
    how: dict[str, Any] = {}
    if options.get("server_name"):
        how["server_hostname"] = options["server_name"]
    try:
        how["ssl_context"] = tls_context(options)
        proxy = None if forward else proxy_for(url, options.get("proxy"), options.get("no_proxy"), environ)
    except OSError as error:
        raise _options(f"its certificates: {error.strerror or error}") from error
    except ValueError as error:
        raise _options(f"the proxy: {error}") from None
    changed = partial(forwarded, forward=forward) if forward else None
    pools = connection_pools(limit, proxy, changed, **how)
    return AgentClient(forward.where if forward else url, url, pools, limit, _headers(options))


def judge_connection(options: Mapping[str, Any], host: str) -> Verdict:
    """A remark if someone on the network could read the token."""
    sent = "The token for the agents" if options.get("token") else ""
    return judge_exposure(sent, f"https://{host}", bool(options.get("validate_certs", True)))


def _headers(options: Mapping[str, Any]) -> dict[str, str]:
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    token = str(options.get("token") or "").strip()
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise _options("the token: it holds a space, a line break, or another character that no token has")
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def _options(what: str) -> Refusal:
    return refusal(
        "agent_connection_options",
        f"The connection to the agents cannot be set up because of {what}.",
        "Check ca_cert, client_cert, client_key, token and proxy under agent.",
    )


def _status(answer: Json) -> Status:
    return Status(
        running=flag(answer, "running"),
        stopping=flag(answer, "stopping"),
        stopped_by_request=flag(answer, "stopped_by_request"),
        pid=_number(answer, "pid"),
        started_at=optional_text(answer, "started_at"),
        checksum=optional_text(answer, "checksum"),
        running_checksum=optional_text(answer, "running_checksum"),
        exit_code=_number(answer, "exit_code"),
        ended_at=optional_text(answer, "ended_at"),
        last_stop=optional_text(answer, "last_stop"),
        last_start=optional_text(answer, "last_start"),
        log=texts(answer, "log"),
    )


def _number(of: Json, name: str) -> int | None:
    return None if of.get(name) is None else whole(of, name)


def _digits(checksum: object) -> str:
    return f"{checksum[:SHOWN]}…" if isinstance(checksum, str) else "nothing"
