"""Kubernetes events (core/v1) as a kubelet sends them: repeated ones are counted, not sent again."""

from __future__ import annotations

import asyncio
import contextlib
import time

from tests.lab.api import Api, ApiError, Json
from tests.lab.kubelet.status import timestamp

Key = tuple[str, str, str]


class Recorder:
    """Sends events one after the other, so that their order and their counts are right."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._queue: asyncio.Queue[tuple[Key, Json]] = asyncio.Queue()
        self._sent: dict[Key, tuple[str, int]] = {}

    def report(self, pod: Json, node: str, kind: str, reason: str, message: str) -> None:
        """Queue an event of type `kind` (Normal or Warning)."""
        about, now = pod["metadata"], timestamp()
        reference = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": about["namespace"],
            "name": about["name"],
            "uid": about["uid"],
        }
        event = {
            "metadata": {"namespace": about["namespace"], "name": f"{about['name']}.{time.time_ns():x}"},
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "type": kind,
            "source": {"component": "kubelet", "host": node},
            "reportingComponent": "kubelet",
            "reportingInstance": node,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._queue.put_nowait(((about["uid"], reason, message), event))

    async def run(self) -> None:
        """Send for ever."""
        while True:
            key, event = await self._queue.get()
            # A namespace on its way out refuses events; they are of use to people only.
            with contextlib.suppress(ApiError):
                await self._send(key, event)

    async def _send(self, key: Key, event: Json) -> None:
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        if key in self._sent:
            name, count = self._sent[key]
            await self._api.patch(f"{path}/{name}", {"count": count + 1, "lastTimestamp": event["lastTimestamp"]})
            self._sent[key] = (name, count + 1)
        else:
            await self._api.create(path, event)
            self._sent[key] = (event["metadata"]["name"], 1)
