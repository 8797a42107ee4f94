"""The memory of the agent does not grow with the requests that it has answered."""

from __future__ import annotations

import http.client
from pathlib import Path

from tests.unit.agent.agents import PATIENCE, TOKEN, Agent

EACH = 50
"""Requests on one connection: both whole connections and requests of one connection repeat often."""


def resident(running: Agent) -> int:
    """The resident memory in KiB."""
    lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS:")))


def ask(running: Agent, times: int) -> None:
    """Asks for the status so often."""
    for _connection in range(times // EACH):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", running.port, timeout=PATIENCE, context=running.place.tls()
        )
        for _request in range(EACH):
            connection.request("GET", "/es/status", headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        connection.close()


def test_ten_thousand_status_calls_cost_no_memory(asked: Agent) -> None:
    ask(asked, 1_000)
    before = resident(asked)
    ask(asked, 9_000)
    after = resident(asked)
    print(f"resident memory: {before} KiB after 1,000 calls, {after} KiB after 10,000")
    assert after <= 1.1 * before
