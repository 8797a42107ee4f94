"""The way back on real servers: an upgrade takes its snapshot, and the commands of docs/way-back.md restore it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.processes import pod_user
from tests.scenarios.cluster import Cluster
from tests.scenarios.documented import WAY_BACK, curl_lines, send
from tests.scenarios.playbook import PLAYBOOK, confirmed, play

pytestmark = pytest.mark.soak
FROM, TO = "2.19.6", "3.8.0"
DOCUMENTS = 300
MOST = 10_000
"""The most documents that one search gives (`index.max_result_window`)."""


@pytest.fixture
def repository(lab: Lab) -> Path:
    """A folder that the members of both clusters can write to."""
    folder = lab.directory / "way-back"
    folder.mkdir()
    if user := pod_user():
        os.chown(folder, user.uid, user.gid)
    return folder


@pytest.fixture
def cluster(lab: Lab, repository: Path) -> Iterator[Cluster]:
    """The cluster that is upgraded."""
    made = Cluster.start(lab, "way-back", three_combined, FROM, settings={"path.repo": str(repository)})
    yield made
    made.remove()


def documents(cluster: Cluster, index: str) -> dict[str, Any]:
    """Each document of an index by its id."""
    cluster.ask(f"/{index}/_refresh", "POST")
    found = json.loads(cluster.ask(f"/{index}/_search?size={MOST}"))["hits"]["hits"]
    return {each["_id"]: each["_source"] for each in found}


def written(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Two indices with documents, and all of these."""
    for name, shards in (("orders", 3), ("logs", 1)):
        settings = {"number_of_shards": shards, "number_of_replicas": 1}
        cluster.ask(f"/{name}", "PUT", {"settings": settings})
        for number in range(DOCUMENTS):
            cluster.ask(f"/{name}/_doc/{number}", "PUT", {"number": number, "text": f"{name} {number}"})
    cluster.until_green()
    return {name: documents(cluster, name) for name in ("orders", "logs")}


def test_each_document_is_there_again_in_a_cluster_of_the_old_version(
    lab: Lab, cluster: Cluster, repository: Path, ansible_environment: Mapping[str, str]
) -> None:
    location = str(repository / "backup")
    cluster.ask("/_snapshot/backup", "PUT", {"type": "fs", "settings": {"location": location}})
    before = written(cluster)
    assert [len(each) for each in before.values()] == [DOCUMENTS, DOCUMENTS]
    given = confirmed({**cluster.variables(TO), "upgrade_snapshot": "backup"}, ansible_environment)
    done = play(PLAYBOOK, given, ansible_environment)
    print(done.output)
    assert done.code == 0, done.message
    assert set(cluster.versions().values()) == {TO}
    # A document of the time after the snapshot is no part of the way back.
    cluster.ask("/orders/_doc/late", "PUT", {"number": -1})
    old = Cluster.start(lab, "way-back-old", three_combined, FROM, settings={"path.repo": str(repository)})
    try:
        register, find, restore, health, counts = curl_lines(WAY_BACK)
        assert json.loads(send(old, register.replace("/snapshots/backup", location))) == {"acknowledged": True}
        (found,) = json.loads(send(old, find))["snapshots"]
        assert found["state"] == "SUCCESS"
        assert f"Snapshot backup/{found['snapshot']} holds" in done.output
        restored = json.loads(send(old, restore.replace("$SNAPSHOT", found["snapshot"])))["snapshot"]["shards"]
        assert (restored["failed"], restored["total"]) == (0, restored["successful"])
        assert json.loads(send(old, health))["status"] == "green"
        told = {line.split()[0]: int(line.split()[1]) for line in send(old, counts).splitlines() if line[:1] != "."}
        assert told == {"logs": DOCUMENTS, "orders": DOCUMENTS}
        assert {name: documents(old, name) for name in before} == before
        assert set(old.versions().values()) == {FROM}
    finally:
        old.remove()
