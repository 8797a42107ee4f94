"""Single copies under traffic on real servers: a replica for the time of the upgrade, and none is ever away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import ELASTICSEARCH, OPENSEARCH, Product, three_combined
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import ROLLING
from tests.lab.traffic.documents import INDICES
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, play, upgrade

pytestmark = pytest.mark.soak
WAYS = (
    pytest.param((OPENSEARCH, "2.19.6", "3.8.0"), id="opensearch"),
    pytest.param((ELASTICSEARCH, "8.18.0", "8.19.4"), id="elasticsearch"),
)
WANTED = ("index.number_of_replicas", "index.auto_expand_replicas", "index.hidden", "index.verified_before_close")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[Product, str, str]:
    """The product, and the versions before and after."""
    found: tuple[Product, str, str] = request.param
    return found


@pytest.fixture
def cluster(lab: Lab, way: tuple[Product, str, str]) -> Iterator[Cluster]:
    """Three members."""
    made = Cluster.start(lab, f"raised-{way[0].name}", three_combined, way[1], product=way[0])
    yield made
    made.remove()


def replicas(cluster: Cluster) -> dict[str, Any]:
    """The settings of all indices about their replicas."""
    found = json.loads(cluster.ask("/_all/_settings?flat_settings=true&expand_wildcards=all"))
    return {name: {each: index["settings"].get(each) for each in WANTED} for name, index in found.items()}


def single_copies(cluster: Cluster, directory: Path) -> None:
    """Indices under traffic without a replica, and one of each other kind."""
    seed(cluster.target, directory, documents=1_000)
    cluster.ask(f"/{','.join(INDICES)}/_settings", "PUT", {"index": {"number_of_replicas": 0}})
    cluster.ask("/_index_template/logs", "PUT", {**STREAM, "index_patterns": ["logs-mine-*"], "priority": 900})
    cluster.ask("/logs-mine-lab/_doc", "POST", {"@timestamp": "2026-01-01T00:00:00Z", "text": "kept"})
    never = {"number_of_replicas": 0, "auto_expand_replicas": "0-0"}
    for name, settings in (("never", never), ("closed", {"number_of_replicas": 0})):
        cluster.ask(f"/{name}", "PUT", {"settings": settings})
        cluster.ask(f"/{name}/_doc/1?refresh=true", "PUT", {"text": "kept"})
    cluster.ask("/closed/_close", "POST")
    cluster.until_green()


STREAM = {"data_stream": {}, "template": {"settings": {"number_of_replicas": 0}}}


def test_single_copies_are_never_away_and_are_as_before(
    cluster: Cluster, way: tuple[Product, str, str], tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    single_copies(cluster, tmp_path)
    before, settings = replicas(cluster), cluster.fingerprint().settings
    given = cluster.variables(way[2])
    refused = play(PLAN, given, ansible_environment)
    assert "The only configured copy of" in refused.message
    with Traffic.start(cluster.target, tmp_path) as traffic:
        played = upgrade({**given, "upgrade_raise_replicas": True}, ansible_environment)
        report = traffic.stop()
    print(played.output, report.table(), sep="\n")
    assert played.code == 0, played.message
    cluster.is_upgraded(way[2])
    report.keeps(ROLLING)
    assert report.loss is not None
    assert report.loss.acknowledged > 1_000
    stream = next(name for name in before if name.startswith(".ds-logs-mine-lab"))
    for name in (*INDICES, stream, "never", "closed"):
        assert name in played.output
    assert replicas(cluster) == before
    assert cluster.fingerprint().settings == settings
    assert json.loads(cluster.ask("/never/_doc/1"))["_source"] == {"text": "kept"}
