"""A small client of the Kubernetes API: a few requests, each failure one sentence."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from .fields import Json

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TIMEOUT = 4.0
"""Seconds for one request, so that two or three of them fit into a call of a hook."""
PAGE = 500


class Unanswered(Exception):
    """No answer, or one that says no: one sentence without a secret."""


class NotFound(Unanswered):
    """There is no such object, or the API server does not know its kind."""


class Conflict(Exception):
    """The object is not the one that was read."""


@dataclass(frozen=True)
class Access:
    """The address of the API server, and the files of a ServiceAccount. The token is read anew for each request."""

    url: str
    token_file: Path
    ca_file: Path | None


def in_cluster() -> Access:
    """The access that a pod has.

    Raises:
        Unanswered: this is no pod.
    """
    host, port = (os.environ.get(name, "") for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"))
    if not host or not port:
        raise Unanswered("This is no pod: name the API server with --api-server, --token-file and --ca-file.")
    return Access(f"https://{f'[{host}]' if ':' in host else host}:{port}", ACCOUNT / "token", ACCOUNT / "ca.crt")


class KubernetesApi:
    """Requests to one API server, on one pool of connections. To be used with `async with`.

    Raises:
        Unanswered: from every method, when there is no answer, or no right.
        Conflict: from `make`, `write` and `change`, when the object has changed since it was read.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> KubernetesApi:
        trust = ssl.create_default_context(cafile=str(self._access.ca_file) if self._access.ca_file else None)
        connector = aiohttp.TCPConnector(ssl=trust, limit=20)
        self._session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=TIMEOUT))
        return self

    async def __aexit__(self, *_raised: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def read(self, path: str) -> Json | None:
        """The object at a path, or None if there is none."""
        return await self._ask("GET", path, missing=True)

    async def listed(self, path: str, selector: str = "") -> list[Json]:
        """The objects that a label selector finds, or all, asked for in pages."""
        items: list[Json] = []
        params = {**({"labelSelector": selector} if selector else {}), "limit": str(PAGE)}
        while True:
            page = await self._ask("GET", path, params=params) or {}
            items += page.get("items") or []
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return items
            params["continue"] = following

    async def make(self, path: str, item: Json) -> Json:
        """Makes an object."""
        return await self._ask("POST", path, item) or {}

    async def write(self, path: str, item: Json) -> Json:
        """Writes an object over the resourceVersion that it carries."""
        return await self._ask("PUT", path, item) or {}

    async def change(self, path: str, item: Json) -> Json:
        """Merges a change into an object, if that has the UID and the resourceVersion that the change carries."""
        return await self._ask("PATCH", path, item) or {}

    async def remove(self, path: str, version: str) -> None:
        """Deletes an object if it still has this resourceVersion."""
        await self._ask("DELETE", path, {"preconditions": {"resourceVersion": version}}, missing=True)

    async def _ask(
        self,
        method: str,
        path: str,
        item: Json | None = None,
        missing: bool = False,
        params: Mapping[str, str] | None = None,
    ) -> Json | None:
        status, content = await self._sent(method, path, item, params)
        if status == 404 and missing:
            return None
        if status == 409:
            raise Conflict(path)
        if status >= 300:
            raised = NotFound if status == 404 else Unanswered
            raise raised(f"The API server answers {method} {path} with {status}.")
        if not isinstance(content, dict):
            raise Unanswered(f"The API server answers {method} {path} without an object.")
        return content

    async def _sent(
        self, method: str, path: str, item: Json | None, params: Mapping[str, str] | None
    ) -> tuple[int, Any]:
        """The status and the content of an answer."""
        assert self._session is not None, "to be used with async with"  # noqa: S101 - a mistake of the caller
        try:
            token = self._access.token_file.read_text(encoding="utf-8").strip()
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
            if item is not None:
                headers["Content-Type"] = content_type(method)
            url = self._access.url + path
            async with self._session.request(method, url, json=item, params=params, headers=headers) as response:
                content = await response.json(content_type=None) if response.status < 300 else None
                return response.status, content
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            raise Unanswered(f"The API server gives no answer to {method} {path} ({type(error).__name__}).") from error


def content_type(method: str) -> str:
    """The type of the content of a request."""
    return "application/merge-patch+json" if method == "PATCH" else "application/json"
