# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade of real Elasticsearch members by the same playbook, under traffic; Kubernetes is in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.lab.elasticsearch.homes import STOCKED
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import ELASTICSEARCH, three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, play, upgrade

FROM, TO = STOCKED


@pytest.fixture
def elastic() -> Iterator[Cluster]:
    """Three members of Elasticsearch, each a manager with data, in three zones."""
    with Lab.up("elastic", lab_directory() / "lab", in_memory=True) as lab:
        yield Cluster.start(lab, "elastic", three_combined, FROM, product=ELASTICSEARCH)


def test_elasticsearch_is_upgraded_and_nothing_is_lost(
    elastic: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before = elastic.fingerprint()
    seed(elastic.target, tmp_path, documents=1_000)
    refused = play(PLAN, elastic.variables("9.1.0"), ansible_environment)
    assert refused.code != 0
    assert f"{FROM} → 8.19 → 9.1.0" in refused.message
    with Traffic.start(elastic.target, tmp_path) as traffic:
        played = upgrade(elastic.variables(TO), ansible_environment)
        traffic.stop()
    report = check(elastic.target, tmp_path)
    print(played.output, report.table(), sep="\n")
    assert played.code == 0, played.message
    assert f"(Elasticsearch)   {FROM} → {TO}" in played.output
    elastic.is_upgraded(TO, report)
    after = elastic.fingerprint()
    assert not set(before.pods.values()) & set(after.pods.values()), "every pod is another one"
    assert after.settings == before.settings
    assert {pool["spec"]["updateStrategy"]["type"] for pool in after.pools.values()} == {"RollingUpdate"}
    assert not elastic.excluded()
    created = json.loads(elastic.ask("/_cluster/state/metadata?filter_path=metadata.indices.*.settings.index.version"))
    print(created)
