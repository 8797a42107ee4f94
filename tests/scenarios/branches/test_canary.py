"""A canary goes first, and the others follow only once it has proven itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.monitoring.servers import prometheus
from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, confirmed, play

pytestmark = pytest.mark.own_process

FROM, TO = "2.19.6", "3.8.0"
CANARY = "opensearch-members-2"
UNMEASURED = [{"name": name, "skip": True} for name in ("health", "health_after")]
"""The steps that measure the cluster for a minute (tests/runs/test_health_figures.py)."""


def test_a_canary_goes_first_stops_the_upgrade_and_lets_it_go_on(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "canary", three_combined, FROM)
    try:
        with prometheus(tmp_path) as server:
            soak: dict[str, Any] = {
                "upgrade_prometheus_url": server.url,
                "upgrade_canary": CANARY,
                "upgrade_soak_time": 3_600,
                "upgrade_soak_probes": [cluster.url],
                "upgrade_soak_limits": [{"name": "errors", "query": "vector(2)", "ratio": 1}],
                "upgrade_steps": UNMEASURED,
            }
            wrong = play(PLAYBOOK, {**cluster.variables(TO), "upgrade_canary": "nobody"}, environment)
            assert "The canary nobody is neither a member of the pools" in wrong.message
            given = confirmed({**cluster.variables(TO), **soak}, environment)
            first = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
            print(first.output)
            assert first.code == 0, first.message
            assert "the canary goes first" in first.output
            for _pass in range(5):
                if statistics(first)["upgrade_reasons"] != ["soaking"]:
                    first = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
                    print(first.output)
            assert statistics(first)["upgrade_reasons"] == ["soaking"]
            versions = cluster.versions()
            assert (versions.pop(CANARY), set(versions.values())) == (TO, {FROM})
            server.fire({"alertname": "Lost", "severity": "critical"})
            stopped = play(
                PLAYBOOK, {**given, "upgrade_steps": [*UNMEASURED, {"name": "alerts", "skip": True}]}, environment
            )
            print(stopped.output)
            assert statistics(stopped)["upgrade_reasons"] == ["soak_failed"]
            assert f"{CANARY} went first, and has not proven itself: The alert Lost" in stopped.output
            server.fire()
            done = play(PLAYBOOK, {**given, "upgrade_soak_time": 1}, environment)
            print(done.output)
            assert done.code == 0, done.message
            assert set(cluster.versions().values()) == {TO}
    finally:
        cluster.remove()
