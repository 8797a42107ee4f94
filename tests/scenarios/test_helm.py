# SPDX-License-Identifier: GPL-3.0-or-later
"""Two releases of the official Helm chart: upgraded zone by zone under traffic, and Helm goes on with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.helm_layout import DATA, MASTERS, two_releases
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, play, upgrade

FROM, TO = "3.6.0", "3.8.0"
ZONES: dict[str, Any] = {"upgrade_batching": "zones", "upgrade_max_unavailable": 2}


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Cluster]:
    cluster = Cluster(lab, "helm", DATA.pool)
    cluster.rise(two_releases, FROM)
    yield cluster
    cluster.remove()


def test_releases_of_the_official_chart_go_zone_by_zone(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before = cluster.fingerprint()
    of_data = f"app.kubernetes.io/instance={DATA.name}"
    refused = play(PLAN, cluster.variables(TO, **ZONES, upgrade_label_selector=of_data), ansible_environment)
    assert refused.code != 0
    assert f"Helm governs the image and strategy of StatefulSet {DATA.pool}" in refused.message
    assert f"Helm governs the image and strategy of StatefulSet {MASTERS.pool}" not in refused.message

    seed(cluster.target, tmp_path, documents=1_000)
    consent: dict[str, Any] = {
        "upgrade_label_selector": "app.kubernetes.io/name=opensearch",
        "upgrade_allow_field_managers": ["helm"],
    }
    with Traffic.start(cluster.target, tmp_path) as traffic:
        played = upgrade(cluster.variables(TO, **ZONES, **consent), ansible_environment)
        traffic.stop()
    report = check(cluster.target, tmp_path)
    print(played.output, report.table(), sep="\n")

    assert played.code == 0, played.message
    cluster.is_upgraded(TO, report)
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert after.pods.keys() == before.pods.keys()
    # Three data members are in one zone, and two of a pool may be away: that zone goes in two batches.
    together = re.findall(r'^ +" \d\. .*; (\d) members of zone', played.output, re.M)
    assert sorted(together) in (["3", "3"], ["2", "2", "3"]), "the elected manager is in the last batch of its zone"
    assert len(re.findall(r"^PLAY \[Roll\]", played.output, re.M)) == 4

    # The manifest that `helm upgrade` with the new version in the values would apply.
    cluster.ground.apply(two_releases(cluster.namespace, TO, address=cluster.ground.pod_address))
    assert cluster.fingerprint() == after
