"""Real servers still answer the story of `tests/sandbox/conformance` as it is recorded there.

With `RECORD_STORY=1` in the environment the answers are recorded anew.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.addresses import Range
from tests.lab.fixtures import lab_directory
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.hosts import Host
from tests.lab.waiting import until
from tests.sandbox.conformance.opensearch import FROM, NAMES, TO, Teller, differences, record, recorded
from tests.sandbox.conformance.story import whole

BOOT = 240.0


class Real:
    """Three members on plain hosts."""

    def __init__(self, directory: Path) -> None:
        self._range = Range.claim([9200, 9300])
        self._repository = directory / "snapshots"
        self._repository.mkdir()
        self._repository.chmod(0o777)  # the members are another user
        self._addresses = {name: self._range.kubernetes_node(number) for number, name in enumerate(NAMES)}
        for name, address in self._addresses.items():
            settings = {
                "cluster.name": "room",
                "cluster.initial_cluster_manager_nodes": ",".join(NAMES),
                "discovery.seed_hosts": ",".join(self._addresses.values()),
                "node.roles": "cluster_manager,data,ingest",
                "path.repo": self.repository,
            }
            Host.make(directory / name, name, address, settings)
        self._hosts = {name: Host(directory / name) for name in NAMES}
        for name in NAMES:
            self._hosts[name].install(FROM)
            self._hosts[name].start()
        self.wait("three members and their state", self._is_whole)

    @property
    def repository(self) -> str:
        return str(self._repository)

    def _is_whole(self) -> bool:
        """All are in the cluster, and its state is recovered: until then an empty cluster says that it is red."""
        status, found = self.ask(NAMES[0], "GET", "/_cluster/health")
        return status == 200 and found["number_of_nodes"] == len(NAMES) and found["status"] == "green"

    def ask(self, member: str, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        url, headers = f"http://{self._addresses[member]}:9200{target}", {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data, headers if data else {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
                return answer.status, _read(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, _read(error.read())
        except OSError:
            return 0, {}

    def stop(self, member: str) -> None:
        self._hosts[member].stop()

    def start(self, member: str, version: str) -> None:
        self._hosts[member].install(version)
        self._hosts[member].start()
        self.wait(f"{member} to answer", lambda: self.ask(member, "GET", "/")[0] == 200)

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        until(what, condition, BOOT)

    def end(self) -> None:
        for host in self._hosts.values():
            host.stop()
        self._range.release()


def _read(data: bytes) -> Any:
    text = data.decode()
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.fixture
def real() -> Iterator[Real]:
    for version in (FROM, TO):
        fetch_home(version)
    servers = Real(lab_directory())
    yield servers
    servers.end()


def test_real_servers_answer_as_recorded(real: Real) -> None:
    teller = Teller(real)
    whole(teller)
    if os.environ.get("RECORD_STORY"):
        record(teller.told)
    assert not (found := list(differences(teller.told, recorded()))), "\n".join(found)
