"""An upgrade of real Elasticsearch members by the same playbook, under traffic; Kubernetes is in memory."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.elasticsearch.homes import STOCKED
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import ELASTICSEARCH, three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.traffic.budgets import ROLLING
from tests.lab.waiting import until
from tests.sandbox.conformance import elasticsearch
from tests.sandbox.conformance.opensearch import Teller, differences, record, recorded
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
    _answers_as_recorded(elastic)
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
    elastic.is_upgraded(TO)
    report.keeps(ROLLING)
    after = elastic.fingerprint()
    assert not set(before.pods.values()) & set(after.pods.values()), "every pod is another one"
    assert after.settings == before.settings
    assert {pool["spec"]["updateStrategy"]["type"] for pool in after.pools.values()} == {"RollingUpdate"}
    assert not elastic.excluded()


class _Told:
    """The members of the cluster, as the story asks them; none is stopped."""

    repository = ""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def ask(self, member: str, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        address = self._cluster.platform.pod_address(self._cluster.namespace, member)
        data = json.dumps(body).encode() if body is not None else None
        url, headers = f"http://{address}:9200{target}", {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
                text = answer.read().decode()
                status = answer.status
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        return status, json.loads(text) if text else ""

    def stop(self, member: str) -> None:
        raise NotImplementedError(member)

    def start(self, member: str, version: str) -> None:
        raise NotImplementedError(member, version)

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        until(what, condition, 60.0)


def _answers_as_recorded(cluster: Cluster) -> None:
    """Fails unless these members answer as the servers in memory, which are compared with the same record."""
    teller = Teller(_Told(cluster), sorted(cluster.versions()), elasticsearch.TABLE)
    elasticsearch.story(teller)
    if os.environ.get("RECORD_STORY"):
        record(teller.told, elasticsearch.RECORDED)
    wanted = recorded(elasticsearch.RECORDED)
    assert not (found := list(differences(teller.told, wanted))), "\n".join(found)
