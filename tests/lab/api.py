"""A thin asynchronous JSON client of the API server, and a store that follows a collection."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp

Json = dict[str, Any]
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
UNREACHABLE = 0
"""The code of an ApiError without an answer."""


class ApiError(Exception):
    """The API server refused a request, or could not be reached."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Api:
    """Requests with the kubelet's token. Paths are as in the Kubernetes API, without the server."""

    def __init__(self, server: str, token: str, authority: str) -> None:
        self.server = server
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tls = ssl.create_default_context(cafile=authority)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Api:
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0)
        timeout = aiohttp.ClientTimeout(total=30)
        self._session = aiohttp.ClientSession(self.server, headers=self._headers, connector=connector, timeout=timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("the client is used outside its `async with`")
        return self._session

    async def get(self, path: str) -> Json:
        return await self._request("GET", path)

    async def create(self, path: str, body: Json) -> Json:
        return await self._request("POST", path, body)

    async def patch(self, path: str, body: Json, kind: str = MERGE) -> Json:
        return await self._request("PATCH", path, body, kind)

    async def delete(self, path: str, body: Json) -> Json:
        return await self._request("DELETE", path, body)

    async def healthy(self) -> bool:
        """Whether the API server says that it is ready."""
        try:
            async with self.session.get("/readyz") as response:
                return response.status == 200
        except (aiohttp.ClientError, asyncio.TimeoutError):
            return False

    async def _request(
        self, method: str, path: str, body: Json | None = None, content: str = "application/json"
    ) -> Json:
        data = None if body is None else json.dumps(body)
        try:
            async with self.session.request(method, path, data=data, headers={"Content-Type": content}) as response:
                text = await response.text()
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            raise ApiError(UNREACHABLE, f"{method} {path}: {error or type(error).__name__}") from error
        try:
            answer: Json = json.loads(text)
        except ValueError as error:
            raise ApiError(response.status, f"{method} {path}: {text[:200]}") from error
        if response.status >= 400:
            raise ApiError(response.status, str(answer.get("message", answer)))
        return answer

    async def watch(self, path: str, version: str) -> AsyncIterator[tuple[str, Json]]:
        """Changes since a resource version. Lines may be longer than any reader's limit, so they are split here."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "300"}
        rest = b""
        async with self.session.get(path, params=query, timeout=timeout) as response:
            if response.status != 200:
                raise ApiError(response.status, f"watch of {path}")
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    change = json.loads(line)
                    yield change["type"], change["object"]


Listener = Callable[[str, Json], None]


class Store:
    """Follows a collection by list and watch; listeners hear ADDED, MODIFIED and DELETED with the object."""

    def __init__(self, api: Api, path: str) -> None:
        self._api = api
        self._path = path
        self._listeners: list[Listener] = []
        self.objects: dict[str, Json] = {}
        self.synced = asyncio.Event()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def run(self) -> None:
        """Follow for ever; list again whenever the watch ends."""
        while True:
            try:
                version = await self._list()
                async for kind, item in self._api.watch(self._path, version):
                    if kind == "ERROR":
                        break
                    if kind != "BOOKMARK":
                        self._change(kind, item)
            except (ApiError, aiohttp.ClientError, asyncio.TimeoutError):
                await asyncio.sleep(0.5)

    async def _list(self) -> str:
        answer = await self._api.get(self._path)
        listed = {item["metadata"]["uid"]: item for item in answer["items"]}
        for uid in set(self.objects) - set(listed):
            self._change("DELETED", self.objects[uid])
        for uid, item in listed.items():
            known = self.objects.get(uid)
            if known is None:
                self._change("ADDED", item)
            elif known["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
                self._change("MODIFIED", item)
        self.synced.set()
        return str(answer["metadata"]["resourceVersion"])

    def _change(self, kind: str, item: Json) -> None:
        uid = item["metadata"]["uid"]
        if kind == "DELETED":
            self.objects.pop(uid, None)
        else:
            self.objects[uid] = item
        for listener in self._listeners:
            listener(kind, item)
