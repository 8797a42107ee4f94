"""A thin client: JSON in and out, known paths, no discovery, every failure one sentence.

Every write asks for strict field validation, so that a field which a version of Longhorn does not have is refused, and
not dropped silently. Requests are plain JSON on the connection pool of the package `kubernetes`, whose generated models
cost seconds on large lists.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

from ..common.errors import Refusal
from ..common.packages import needed
from ..common.reading import listed, part, text
from ..common.time_limit import CONNECTING, TimeLimit, limit_pools, retrying
from ..common.verdict import Verdict
from ..common.words import shortened
from .access import Access, access
from .answers import ApiRequest, Expired, Kept, api_request_of, not_understood, reading, refusal_of, unreachable
from .paths import CORE, in_namespace

Json = dict[str, Any]
Read = TypeVar("Read")
Rows = list[Read]
Items = Rows[Json]
Lines = list[str]
PatchKind = Literal["merge", "json", "strategic"]

FIELD_MANAGER = "stateful.upgrade"
_PATCH_TYPES: dict[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
PAGE = 500
"""The most objects in one answer, as kubectl asks for them."""
_LISTINGS = 5
"""Attempts to list everything as of one time, which a server forgets some minutes later (by default five)."""
_PASSING = (429, 500, 502, 503, 504)
_ATTEMPTS = 3
_LONGEST = 200
"""The most characters of an answer in plain words that a sentence repeats."""
_QUESTIONS = "/apis/authorization.k8s.io/"


class KubernetesClient:
    """Requests to one API server.

    Raises:
        Unreachable: from every method, when no answer can be had; reads have then been tried several times.
        Conflict: from `patch`, `delete` and `post`, when the object is not the one observed.
        Refusal: from every method, for every other failure: credentials, rights, an invalid object.
    """

    def __init__(self, reach: Access, timeout: float) -> None:
        urllib3 = needed("urllib3", "urllib3")
        self._access = reach
        self.kept: Kept = {}
        """What `all_of` has read of objects that have not changed since."""
        self._failure: type[Exception] = urllib3.exceptions.HTTPError
        self._timeout = urllib3.Timeout(connect=min(timeout, CONNECTING), read=timeout)
        self._limit = TimeLimit(timeout)
        limit_pools(reach.pool, self._limit)
        self._retry_reads = retrying(
            self._limit, total=_ATTEMPTS, status_forcelist=_PASSING, allowed_methods=None, backoff_factor=0.5
        )
        # Safe to repeat: a connection that never came about, and a request turned away unread (429).
        self._retry_writes, self._retry_connections = (
            retrying(
                self._limit,
                connect=_ATTEMPTS,
                read=0,
                other=0,
                redirect=0,
                status=_ATTEMPTS,
                total=None,
                status_forcelist=statuses,
                allowed_methods=None,
                backoff_factor=0.5,
            )
            for statuses in ((429,), ())
        )

    @property
    def host(self) -> str:
        """The URL of the API server."""
        return self._access.host

    def judge_connection(self) -> Verdict:
        """A remark if someone on the network could read the credentials. No request is made."""
        return self._access.judge()

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Json | None:
        """The object, or None if it does not exist."""
        return self._ask("GET", path, params or {}, missing=True)

    def list(self, path: str, label_selector: str | None = None, field_selector: str | None = None) -> Items:
        """The objects that match, as the API server's store holds them at one time (no cache), however many.

        They are asked for in pages. If the server forgets the state of that time, everything is asked for again.
        """
        return self.list_as(path, dict, label_selector, field_selector)

    def list_as(
        self,
        path: str,
        read: Callable[[Mapping[str, Any]], Read],
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Rows[Read]:
        """The same list, keeping only what `read` makes of each object, so that no more than a page is in memory."""
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        params = {key: value for key, value in selectors.items() if value} | {"limit": str(PAGE)}
        for _attempt in range(_LISTINGS - 1):
            try:
                return self._pages(path, params, read)
            except Expired:
                continue
        return self._pages(path, params, read)

    def _pages(self, path: str, params: Mapping[str, str], read: Callable[[Mapping[str, Any]], Read]) -> Rows[Read]:
        found: Rows[Read] = []
        following = ""
        while True:
            answer = self._ask("GET", path, {**params, **({"continue": following} if following else {})}) or {}
            with reading(f"to {api_request_of('GET', path).sentence()}"):
                found += listed(answer, "items", read)
                following = text(part(answer, "metadata", {}), "continue", "")
            if not following:
                return found

    def patch(
        self, path: str, body: Mapping[str, Any] | Sequence[Json], kind: PatchKind = "strategic", dry_run: bool = False
    ) -> Json:
        """The object after the patch. With `dry_run` the server gives the same answer and changes nothing."""
        return self._ask("PATCH", path, _writing(dry_run), body, _PATCH_TYPES[kind]) or {}

    def post(self, path: str, body: Mapping[str, Any], dry_run: bool = False) -> Json:
        """The object created."""
        return self._ask("POST", path, _writing(dry_run), body) or {}

    def post_once(self, path: str, body: Mapping[str, Any], dry_run: bool = False) -> tuple[int, Json]:
        """The status and the answer to a request that is made only once, whatever they are; {} if it is no JSON."""
        answer = self._send("POST", path, _writing(dry_run), body, "application/json", self._retry_connections)
        return answer.status, _json(answer.data.decode("utf-8", "replace")) or {}

    def delete(
        self,
        path: str,
        uid: str,
        grace_seconds: int | None = None,
        dry_run: bool = False,
        resource_version: str | None = None,
        propagation: Literal["Foreground", "Background", "Orphan"] | None = None,
    ) -> bool:
        """Delete exactly the object with this UID; with `resource_version` only if it has not changed.

        With the `propagation` Foreground it goes once all that it owns is gone; with Orphan what it owns stays, without
        an owner; without one, the server uses its default.

        The result is False if it is gone already. `Conflict` says that another object has the name, or that it changed.
        """
        precondition = {"uid": uid, **({"resourceVersion": resource_version} if resource_version else {})}
        body: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": precondition}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        if propagation is not None:
            body["propagationPolicy"] = propagation
        if dry_run:
            body["dryRun"] = ["All"]
        return self._ask("DELETE", path, {}, body, missing=True) is not None

    def log(self, namespace: str, pod: str, container: str, lines: int = 10, previous: bool = False) -> Lines:
        """The last lines of a container's log; `previous` asks for the run before the last restart."""
        path = in_namespace(CORE, namespace, "pods", pod, "log")
        params = {"container": container, "tailLines": str(lines), "previous": str(previous).lower()}
        answer = self._send("GET", path, params, None, "")
        said: str = answer.data.decode("utf-8", "replace")
        if not _succeeded(answer.status):
            raise refusal_of(self.host, api_request_of("GET", path), answer.status, _json(said), retry=True)
        return said.splitlines()

    def websocket(self, path: str, params: Mapping[str, str] | Sequence[tuple[str, str]], protocol: str) -> Any:
        """A websocket to `path`, open for as long as both ends keep it."""
        library = needed("websocket", "websocket-client")
        # The API server asks for two rights: to get (the method of the request), and to create (what it makes).
        request = api_request_of("POST", path)
        try:
            return self._access.websocket(path + _query(params), protocol, FIELD_MANAGER, self._timeout.connect_timeout)
        except library.WebSocketBadStatusException as error:
            said = (error.resp_body or b"").decode("utf-8", "replace").strip()
            # A kubelet answers in plain words.
            content = _json(said) or {"message": shortened(said, _LONGEST)}
            raise refusal_of(self.host, request, error.status_code, content, retry=False) from error
        except (OSError, library.WebSocketException) as error:
            raise self._unreachable(request, error) from error

    def _ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: object = None,
        content_type: str = "application/json",
        missing: bool = False,
    ) -> Json | None:
        answer = self._send(method, path, params, body, content_type)
        content = _json(answer.data.decode("utf-8", "replace"))
        if (
            answer.status == HTTPStatus.NOT_FOUND
            and missing
            and content is not None
            and content.get("kind") == "Status"
        ):
            return None
        if not _succeeded(answer.status):
            raise refusal_of(
                self.host, api_request_of(method, path), answer.status, content, retry=_only_asks(method, path)
            )
        if content is None:
            said = f"to {api_request_of(method, path).sentence()}"
            raise not_understood(said, f"the server at {self.host} does not send a JSON object")
        return content

    def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: object,
        content_type: str,
        retries: Any = None,
    ) -> Any:
        headers: Any = {"Accept": "application/json, */*", "User-Agent": FIELD_MANAGER, **self._access.headers()}
        if body is not None:
            headers["Content-Type"] = content_type
        if self._access.impersonated:
            headers = needed("urllib3", "urllib3").HTTPHeaderDict(headers)
            for name, value in self._access.impersonated:
                headers.add(name, value)
        self._limit.begin()
        try:
            answer = self._access.pool.request(
                method,
                self.host + path + _query(params),
                body=None if body is None else json.dumps(body),
                headers=headers,
                timeout=self._timeout,
                retries=retries or (self._retry_reads if _only_asks(method, path) else self._retry_writes),
                redirect=False,
            )
        except self._failure as error:
            raise self._unreachable(api_request_of(method, path), error) from error
        if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            raise self._access.way.answered(answer.status)
        return answer

    def _unreachable(self, request: ApiRequest, error: BaseException) -> Refusal:
        return self._access.way.fault(error) or unreachable(self.host, request, error, self._limit.seconds)


_latest: dict[tuple[int, int], tuple[Mapping[str, Any], KubernetesClient]] = {}
"""The argument of a task with its client, for each thread of this process. A forked process has none at first."""


def connect(options: Mapping[str, Any]) -> KubernetesClient:
    """The client for the `kubernetes` argument of a task, which the lock and the work of the task share.

    No request is made yet, but a credential plugin may run.
    """
    here = (os.getpid(), threading.get_ident())
    known, client = _latest.get(here, (None, None))
    if client is None or known is not options:
        client = KubernetesClient(access(options), float(options.get("request_timeout") or 30))
        _latest[here] = options, client
    return client


def _only_asks(method: str, path: str) -> bool:
    """Whether a request changes nothing. A POST to the group of authorization is a question that is never kept."""
    return method == "GET" or path.startswith(_QUESTIONS)


def _succeeded(status: int) -> bool:
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def _query(params: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    return f"?{urlencode(params)}" if params else ""


def _writing(dry_run: bool) -> dict[str, str]:
    # By default the server drops a field that it does not know, and the act would be made in part.
    known = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
    return {**known, **({"dryRun": "All"} if dry_run else {})}


def _json(text: str) -> Json | None:
    try:
        content = json.loads(text)
    except (RecursionError, ValueError):
        return None
    return content if isinstance(content, dict) else None
