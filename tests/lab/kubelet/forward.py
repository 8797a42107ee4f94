"""The kubelet's part of `pods/portforward`: a websocket whose frames are one TCP connection to the pod.

The protocol is v4.channel.k8s.io: for each port a channel for data and one for errors, each of which starts with the
number of the port (two bytes, little-endian).
"""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import WSMsgType, web

from tests.lab.api import Json

PROTOCOL = "v4.channel.k8s.io"
CHUNK = 65536
DATA, ERROR = b"\x00", b"\x01"


class Forwarder:
    """Forwards one port a websocket, to the pods that the API server knows."""

    def __init__(self, pods: dict[str, Json]) -> None:
        self._pods = pods

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until either end closes it."""
        namespace, pod = request.match_info["namespace"], request.match_info["pod"]
        address, port = self._address(namespace, pod), int(request.query.get("port") or 0)
        if PROTOCOL not in request.headers.get("Sec-WebSocket-Protocol", "") or not address or not port:
            return web.Response(status=400, text=f"pod {pod} cannot be forwarded in this way")
        channels = web.WebSocketResponse(protocols=(PROTOCOL,))
        await channels.prepare(request)
        for channel in (DATA, ERROR):
            await channels.send_bytes(channel + port.to_bytes(2, "little"))
        try:
            reader, writer = await asyncio.open_connection(address, port)
        except OSError as error:
            await channels.send_bytes(ERROR + f"error forwarding port {port} to pod {pod}: {error}".encode())
            await channels.close()
            return channels
        back = asyncio.create_task(_back(reader, channels))
        try:
            async for message in channels:
                if message.type is WSMsgType.BINARY and message.data[:1] == DATA:
                    writer.write(message.data[1:])
                    await writer.drain()
        except OSError:
            await channels.close()
        finally:
            back.cancel()
            writer.close()
        return channels

    def _address(self, namespace: str, pod: str) -> str:
        """The address of a pod; empty if it has none."""
        for manifest in self._pods.values():
            if (manifest["metadata"]["namespace"], manifest["metadata"]["name"]) == (namespace, pod):
                return str(manifest.get("status", {}).get("podIP") or "")
        return ""


async def _back(reader: asyncio.StreamReader, channels: web.WebSocketResponse) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK):
            await channels.send_bytes(DATA + chunk)
    await channels.close()
