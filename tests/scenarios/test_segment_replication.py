# SPDX-License-Identifier: GPL-3.0-or-later
"""Indices whose replicas copy the segments of their primary: a roll under traffic, to the next major version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import upgrade

FROM, TO = "2.19.6", "3.8.0"
SEGMENTS = {"index_patterns": ["traffic-*"], "template": {"settings": {"index.replication.type": "SEGMENT"}}}


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Cluster]:
    cluster = Cluster.start(lab, "segments", three_combined, FROM)
    cluster.ask("/_index_template/segments", "PUT", SEGMENTS)
    yield cluster
    cluster.remove()


def test_nothing_is_lost_where_replicas_copy_segments(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    seed(cluster.target, tmp_path, documents=5_000)
    # Of two replicas one is on a member of the old version and one on a new one when the primary goes.
    cluster.ask("/traffic-0/_settings", "PUT", {"index": {"number_of_replicas": 2}})
    cluster.until_green()
    kinds = json.loads(cluster.ask("/traffic-*/_settings/index.replication.type?flat_settings=true"))
    assert {each["settings"]["index.replication.type"] for each in kinds.values()} == {"SEGMENT"}
    print(cluster.ask("/_cat/segment_replication?v&bytes=b&time=ms"))

    with Traffic.start(cluster.target, tmp_path) as traffic:
        played = upgrade(cluster.variables(TO), ansible_environment)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(played.output, report.table(), sep="\n")
    print(cluster.ask("/_cat/segment_replication?v&bytes=b&time=ms"))

    assert played.code == 0, played.message
    assert report.loss is not None
    assert report.loss.acknowledged > 5_000
    cluster.is_upgraded(TO, report)
