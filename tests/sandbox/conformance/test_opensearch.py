"""The cluster in memory answers the story as real servers have; a test of the lab checks that they still do so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from tests.sandbox.conformance import elasticsearch
from tests.sandbox.conformance.opensearch import FROM, Teller, differences, recorded
from tests.sandbox.conformance.story import whole
from tests.sandbox.opensearch.rooms import Room
from tests.sandbox.web import Request, answered

LONGEST = 120.0
STEP = 0.1


class InMemory:
    """Three members in memory."""

    repository = "/snapshots"

    def __init__(self, version: str = FROM) -> None:
        settings = {"cluster.routing.allocation.disk.threshold_enabled": "false", "path.repo": self.repository}
        self.room = Room(version=version, settings=settings)

    def ask(self, member: str, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        path, _mark, query = target.partition("?")
        request = Request(method, path, dict(parse_qsl(query, keep_blank_values=True)), body)
        answer = answered(self.room.cluster.handler(member), request, self.room.clock)
        return answer.status, answer.body if answer.body is not None else ""

    def stop(self, member: str) -> None:
        self.room.cluster.stop(member)
        self.room.clock.advance(1)

    def start(self, member: str, version: str) -> None:
        self.room.cluster.start(self.room.spec(member, version))
        self.wait(f"{member} to answer", lambda: self.room.cluster.ready(member))

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        end = self.room.clock.now() + LONGEST
        while not condition():
            assert self.room.clock.now() < end, f"in vain: {what}"
            self.room.clock.advance(STEP)


def test_the_cluster_in_memory_answers_as_real_servers_do() -> None:
    teller = Teller(InMemory())
    whole(teller)
    assert not (found := list(differences(teller.told, recorded()))), "\n".join(found)


def test_the_cluster_in_memory_answers_as_real_members_of_elasticsearch_do() -> None:
    teller = Teller(InMemory(elasticsearch.VERSION), table=elasticsearch.TABLE)
    elasticsearch.story(teller)
    wanted = recorded(elasticsearch.RECORDED)
    assert not (found := list(differences(teller.told, wanted))), "\n".join(found)
