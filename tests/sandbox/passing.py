"""Websockets that a server in memory passes on to another one, as the API server does to a kubelet."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import aiohttp
from aiohttp import WSMsgType, web

_HEADER = "Sec-WebSocket-Protocol"


async def passed_on(request: web.BaseRequest, url: str) -> web.StreamResponse:
    """Join the two ends until one of them has closed; the answer of the other server if that opens no websocket."""
    offered = [each.strip() for each in request.headers.get(_HEADER, "").split(",") if each.strip()]
    # A kubelet of the lab is known by its address, of this machine.
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    async with aiohttp.ClientSession() as session:
        try:
            inner = await session.ws_connect(url, protocols=offered, ssl=tls)
        except aiohttp.WSServerHandshakeError as error:
            return web.Response(status=error.status, text=error.message)
        outer = web.WebSocketResponse(protocols=[inner.protocol] if inner.protocol else ())
        await outer.prepare(request)
        ways = {asyncio.ensure_future(_join(inner, outer)), asyncio.ensure_future(_join(outer, inner))}
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await inner.close()
        await outer.close()
        return outer


async def _join(source: Any, target: Any) -> None:
    async for message in source:
        if message.type is WSMsgType.BINARY:
            await target.send_bytes(message.data)
        elif message.type is WSMsgType.TEXT:
            await target.send_str(message.data)
