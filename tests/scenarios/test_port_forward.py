# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole upgrade by somebody who has a kubeconfig and no route to the members."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import upgrade

FROM, TO = "2.19.6", "3.8.0"


def test_the_kubernetes_api_alone_is_enough(lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(lab, "forwarded", three_combined, FROM)
    try:
        before = cluster.fingerprint()
        seed(cluster.target, tmp_path, documents=1_000)
        way = {
            # A name that leads nowhere: what reaches the members goes through the Kubernetes API.
            "hosts": ["http://opensearch.invalid:9200"],
            "port_forward": {"namespace": cluster.namespace, "service": cluster.name},
        }
        with Traffic.start(cluster.target, tmp_path) as traffic:
            played = upgrade(cluster.variables(TO, upgrade_opensearch=way), ansible_environment)
            traffic.stop()
        report = check(cluster.target, tmp_path)
        print(played.output, report.table(), sep="\n")

        assert played.code == 0, played.message
        assert "Traceback" not in played.output
        assert set(cluster.versions().values()) == {TO}
        assert cluster.fingerprint().settings == before.settings
        assert report.unharmed
    finally:
        cluster.remove()
