"""The generator: writes and searches in turn at a steady rate, whatever becomes of them, and a look at the health."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

from tests.lab.traffic.documents import INDICES, WORDS, document, index_of
from tests.lab.traffic.members import Answer, Members, RequestFailed
from tests.lab.traffic.records import Acknowledgement, Clock, Health, Kind, Log, Operation
from tests.lab.traffic.report import PARTIAL
from tests.lab.waiting import happens

_HEALTH_PERIOD = 0.25
_HEALTH_TIMEOUT = 5.0
_HEALTH_ATTEMPTS = 3
_HEALTH = "/_cluster/health?timeout=1s"


class Generator:
    """Sends operations to a cluster and writes each outcome down.

    The schedule does not wait for answers: a cluster that hangs gets as many requests as one that answers, and each of
    them is counted. Nothing is sent twice.
    """

    def __init__(self, members: Members, directory: Path, rate: float, timeout: float) -> None:
        self._members = members
        self._rate = rate
        self._timeout = timeout
        self._clock = Clock()
        self._run = uuid.uuid4().hex[:8]
        self._operations = Log(directory, Operation)
        self._health = Log(directory, Health)
        self._acknowledged = Log(directory, Acknowledgement)

    async def run(self, stop: asyncio.Event) -> tuple[float, float]:
        """Sends until asked to stop, waits for the answers under way, and gives when it started and ended."""
        began = self._clock.now()
        await asyncio.gather(self._sample(stop), self._send(stop))
        for log in (self._operations, self._health, self._acknowledged):
            log.close()
        return began, self._clock.now()

    async def _send(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        began, number = loop.time(), 0
        under_way: set[asyncio.Task[None]] = set()
        while not stop.is_set():
            under_way.add(asyncio.create_task(self._operate("search" if number % 2 else "write", number // 2)))
            number += 1
            await happens(stop, max(0.0, began + number / self._rate - loop.time()))
            done = {task for task in under_way if task.done()}
            await asyncio.gather(*done)  # raises what is our own fault, at once
            under_way -= done
        await asyncio.gather(*under_way)

    async def _operate(self, kind: Kind, number: int) -> None:
        began = self._clock.now()
        try:
            failure = await (self._write(number) if kind == "write" else self._search(number))
        except RequestFailed as error:
            failure = str(error)
        self._operations.append(Operation(kind, began, self._clock.now() - began, failure))

    async def _write(self, number: int) -> str | None:
        written = Acknowledgement(index_of(number), f"{self._run}-{number}")
        path = f"/{written.index}/_doc/{written.id}"
        answer = await self._members.request("PUT", path, document(number), timeout=self._timeout)
        if answer.status not in (200, 201):
            return answer.failure
        self._acknowledged.append(written)
        return None

    async def _search(self, number: int) -> str | None:
        # Indices by name: a pattern that matches no index any more is answered with success.
        path = f"/{','.join(INDICES)}/_search?request_cache=false"
        query = {"size": 10, "query": {"match": {"text": WORDS[number % len(WORDS)]}}}
        return search_failure(await self._members.request("POST", path, query, timeout=self._timeout))

    async def _sample(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            began = self._clock.now()
            self._health.append(await self._look())
            await happens(stop, max(0.0, _HEALTH_PERIOD - (self._clock.now() - began)))

    async def _look(self) -> Health:
        """Asks up to three members: one that has just booted and not joined yet says nothing about the cluster."""
        asked = self._clock.now()
        for _attempt in range(_HEALTH_ATTEMPTS):
            try:
                answer = await self._members.request("GET", _HEALTH, timeout=_HEALTH_TIMEOUT)
            except RequestFailed:
                continue
            if answer.status == 200:
                return Health(self._clock.now(), answer.body["status"])
        return Health(asked, "unknown")


def search_failure(answer: Answer) -> str | None:
    """Gives why a search was not a full success, or None.

    A shard without any copy is not among ``_shards.failed``: it is only missing from ``successful``.
    """
    if answer.status != 200:
        return answer.failure
    shards = answer.body["_shards"]
    full = shards["failed"] == 0 and shards["successful"] == shards["total"] > 0
    return None if full else PARTIAL
