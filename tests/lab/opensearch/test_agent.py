"""The restart agent with a real server below it: the member is away while it is stopped, and keeps its data."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.addresses import Range
from tests.lab.fixtures import lab_directory
from tests.lab.opensearch.hosts import Host
from tests.lab.opensearch.locks import locked_versions
from tests.lab.waiting import until
from tests.unit.agent.agents import Place, agent

BOOT = 240.0
NAME = "search-0"
ENDED_BY_SIGTERM = 128 + signal.SIGTERM


class Member:
    """One member whose configuration is a file."""

    def __init__(self, directory: Path, address: str) -> None:
        self._address = address
        settings = {"cluster.name": "agent", "cluster.initial_cluster_manager_nodes": NAME, "node.attr.box": "one"}
        self.directory = directory / "member"
        Host.make(self.directory, NAME, address, settings).install(locked_versions()[-1])
        self.configuration = self.directory / "host.json"

    def ask(self, path: str, method: str = "GET", body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self._address}:9200{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - always http
            return json.load(answer)

    def serves(self) -> bool:
        try:
            return bool(self.ask("/_cluster/health")["status"] != "red")
        except OSError:
            return False

    def box(self) -> str:
        (node,) = self.ask("/_nodes")["nodes"].values()
        return str(node["attributes"]["box"])


@pytest.fixture
def member() -> Iterator[Member]:
    directory, claimed = lab_directory(), Range.claim([9200, 9300])
    try:
        yield Member(directory, claimed.kubernetes_node(0))
    finally:
        claimed.release()
        shutil.rmtree(directory, ignore_errors=True)


def test_a_member_stops_and_starts_on_another_configuration(member: Member, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.config = member.configuration
    command = [sys.executable, "-m", "tests.lab.opensearch.hosts", "run", str(member.directory)]
    with agent(place, command) as running:
        until("the boot of the member", member.serves, BOOT)
        member.ask("/kept/_doc/1?refresh=true", "PUT", {"text": "kept"})
        before, first = place.checksum(), running.pid

        running.stop(request_id="restart")
        seen = running.await_status(running=False)
        assert (seen["exit_code"], seen["stopped_by_request"]) == (ENDED_BY_SIGTERM, True)
        with pytest.raises(OSError):
            member.ask("/")

        content = json.loads(member.configuration.read_text())
        content["settings"]["node.attr.box"] = "two"
        member.configuration.write_text(json.dumps(content))
        assert running.start(request_id="restart", checksum=before).status == 409
        assert running.start(request_id="restart").said["changed"]
        until("the second boot of the member", member.serves, BOOT)
        assert (member.box(), running.pid) == ("two", first)
        member.ask("/_cluster/health/kept?wait_for_status=yellow&timeout=30s")
        assert member.ask("/kept/_doc/1")["_source"] == {"text": "kept"}

        running.signal(signal.SIGTERM)
        assert running.ended() == ENDED_BY_SIGTERM
