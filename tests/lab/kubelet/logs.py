"""The HTTPS server of the kubelet on each Kubernetes node: the logs of containers, port-forward, and commands."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from tests.lab.api import Json
from tests.lab.kubelet.commands import Commands, FindExecutor
from tests.lab.kubelet.forward import Forwarder
from tests.lab.kubelet.node import KUBELET_PORT
from tests.lab.kubelet.place import NodePlace, log_directory

FOLLOW_INTERVAL = 0.2


class LogServer:
    """Serves the logs of the pods that the API server knows."""

    def __init__(self, directory: Path, pods: dict[str, Json], find: FindExecutor) -> None:
        self._commands = Commands(find)
        self._directory = directory
        self._pods = pods

    async def start(self, nodes: Sequence[NodePlace], certificate: Path, key: Path) -> web.AppRunner:
        """Listen on the kubelet port of every Kubernetes node's address."""
        application = web.Application()
        application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._answer)
        application.router.add_get("/portForward/{namespace}/{pod}", Forwarder(self._pods).answer)
        application.router.add_get("/exec/{namespace}/{pod}/{container}", self._commands.answer)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate, key)
        for node in nodes:
            await web.TCPSite(runner, node.address, KUBELET_PORT, ssl_context=tls).start()
        return runner

    def _starts(self, namespace: str, pod: str, container: str) -> list[Path]:
        """The log files of a container, oldest first."""
        for uid, manifest in self._pods.items():
            if (manifest["metadata"]["namespace"], manifest["metadata"]["name"]) == (namespace, pod):
                directory = log_directory(self._directory, namespace, pod, uid) / container
                return sorted(directory.glob("*.log"), key=lambda path: int(path.stem))
        return []

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        wanted = (request.match_info["namespace"], request.match_info["pod"], request.match_info["container"])
        starts = self._starts(*wanted)
        if request.query.get("previous") == "true":
            starts = starts[:-1]
        if not starts:
            return web.Response(status=400, text=f"container {wanted[2]} in pod {wanted[1]} has no such log")
        log = starts[-1]
        content = _limited(log.read_bytes(), request.query.get("tailLines"), request.query.get("limitBytes"))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        await response.write(content)
        if request.query.get("follow") == "true":
            await self._follow(response, log, wanted)
        return response

    async def _follow(self, response: web.StreamResponse, log: Path, wanted: tuple[str, str, str]) -> None:
        """Send what is added, until the container starts anew or its pod is gone."""
        with log.open("rb") as handle:
            handle.seek(0, 2)
            while self._starts(*wanted)[-1:] == [log]:
                if added := handle.read():
                    await response.write(added)
                await asyncio.sleep(FOLLOW_INTERVAL)


def _limited(content: bytes, lines: str | None, size: str | None) -> bytes:
    if lines is not None:
        kept = content.splitlines(keepends=True)
        content = b"".join(kept[len(kept) - min(int(lines), len(kept)) :])
    return content if size is None else content[: int(size)]
