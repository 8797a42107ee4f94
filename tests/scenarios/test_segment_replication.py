# SPDX-License-Identifier: GPL-3.0-or-later
"""Indices whose replicas copy the segments of their primary, from it or from a remote store: a roll under traffic."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.processes import pod_user
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import upgrade

TO = "3.8.0"
SEGMENTS = {"index_patterns": ["traffic-*"], "template": {"settings": {"index.replication.type": "SEGMENT"}}}
STORE = "node.attr.remote_store"


def of_the_primary(lab: Lab) -> Cluster:
    """To the next major version."""
    cluster = Cluster.start(lab, "segments", three_combined, "2.19.6")
    cluster.ask("/_index_template/segments", "PUT", SEGMENTS)
    return cluster


def of_a_remote_store(lab: Lab) -> Cluster:
    """From 3.x, for there the plan refuses to go on from 2.x; all indices are in the store."""
    shared = lab.directory / "remote-store"
    shared.mkdir()
    if user := pod_user():
        os.chown(shared, user.uid, user.gid)
    settings = {
        "path.repo": str(shared),
        f"{STORE}.repository.shared.type": "fs",
        f"{STORE}.repository.shared.settings.location": str(shared),
        **{f"{STORE}.{kind}.repository": "shared" for kind in ("segment", "translog", "state")},
    }
    return Cluster.start(lab, "remote-store", three_combined, "3.6.0", settings=settings)


@pytest.fixture(params=[of_the_primary, of_a_remote_store])
def cluster(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Cluster]:
    cluster: Cluster = request.param(lab)
    yield cluster
    cluster.remove()


def test_nothing_is_lost_where_replicas_copy_segments(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    seed(cluster.target, tmp_path, documents=1_000)
    # Of two replicas one is on a member of the old version and one on a new one when the primary goes.
    cluster.ask("/traffic-0/_settings", "PUT", {"index": {"number_of_replicas": 2}})
    cluster.until_green()
    kinds = [each["settings"] for each in json.loads(cluster.ask("/traffic-*/_settings?flat_settings=true")).values()]
    assert {each["index.replication.type"] for each in kinds} == {"SEGMENT"}
    stored = "true" if cluster.namespace == "remote-store" else None
    assert {each.get("index.remote_store.enabled") for each in kinds} == {stored}
    print(cluster.ask("/_cat/segment_replication?v&bytes=b&time=ms"))

    with Traffic.start(cluster.target, tmp_path) as traffic:
        played = upgrade(cluster.variables(TO), ansible_environment)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(played.output, report.table(), sep="\n")
    print(cluster.ask("/_cat/segment_replication?v&bytes=b&time=ms"))

    assert played.code == 0, played.message
    assert report.loss is not None
    assert report.loss.acknowledged > 1_000
    cluster.is_upgraded(TO, report)
