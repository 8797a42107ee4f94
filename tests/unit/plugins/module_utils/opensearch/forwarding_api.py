"""As much of a Kubernetes API as port-forward needs, on a real socket: Service, pods, the lab kubelet's websockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from tests.lab.kubelet.forward import Forwarder

SERVICE = {"spec": {"selector": {"app": "opensearch"}, "ports": [{"port": 9200, "targetPort": "rest"}]}}


class ForwardingApi:
    """The API server and what it forwards to: ports of this machine in the place of pods."""

    def __init__(self) -> None:
        self.port = 0
        self.denied = False
        self.forwarded: list[str] = []
        """The pods of all connections that were made."""
        self._pods: dict[str, Any] = {}
        self._forwarder = Forwarder(self._pods)
        self._open: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self, name: str, port: int) -> None:
        """There is a Ready pod with the server at this port."""
        self._pods[name] = {
            "metadata": {"namespace": "search", "name": name, "uid": name, "resourceVersion": "1"},
            "spec": {"containers": [{"name": "server", "ports": [{"name": "rest", "containerPort": port}]}]},
            "status": {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def unready(self, name: str) -> None:
        """The pod's probe fails."""
        self._pods[name]["status"]["conditions"] = []

    def cut(self) -> None:
        """All connections end, as with the pods they lead to."""
        for task in list(self._open):
            self._loop.call_soon_threadsafe(task.cancel)
        while self._open:
            threading.Event().wait(0.01)

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response({"kind": "PodList", "items": list(self._pods.values())})

    async def _service(self, request: web.Request) -> web.Response:
        if request.match_info["name"] != "opensearch":
            return web.json_response({"kind": "Status", "message": "not found"}, status=404)
        return web.json_response(SERVICE)

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        if self.denied:
            said = 'pods "data-0" is forbidden: User "me" cannot create resource "pods/portforward"'
            return web.json_response({"kind": "Status", "message": said}, status=403)
        name, port = request.match_info["pod"], request.query["ports"]
        self.forwarded.append(name)
        task = asyncio.ensure_future(self._forwarder.answer(request.clone(rel_url=f"{request.path}?port={port}")))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return await task

    async def start(self) -> None:
        """Listen."""
        application = web.Application()
        base = "/api/v1/namespaces/{namespace}"
        application.router.add_get(base + "/pods", self._list)
        application.router.add_get(base + "/services/{name}", self._service)
        application.router.add_get(base + "/pods/{pod}/portforward", self._forward)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in its thread."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def live(self) -> None:
        """Its thread."""
        self._loop.run_forever()

    def end(self) -> None:
        """Stop."""
        self.cut()
        self.run(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)


@contextmanager
def forwarding() -> Iterator[ForwardingApi]:
    """The API while the block runs."""
    api = ForwardingApi()
    thread = threading.Thread(target=api.live, daemon=True)
    thread.start()
    api.run(api.start())
    try:
        yield api
    finally:
        api.end()
        thread.join(10)
