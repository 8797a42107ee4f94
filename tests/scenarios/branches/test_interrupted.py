"""Killed at every act, in every way, and started again at once: the upgrade completes, nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic.budgets import KILLED
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import KILLS, UpgradeRuns, conclude, named_acts
from tests.scenarios.load import loaded
from tests.scenarios.platforms import Platform

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"
REACHED = (("restrict", True), ("delete", False), ("delete", True), ("restore", True), ("release", False))
"""An act for each way, before or after it is made."""


def test_killed_at_every_act(platform: Platform, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(platform, "killed-at-acts", three_combined, FROM)
    try:
        with loaded(cluster, tmp_path, KILLED):
            upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment)
            for act, after, name in named_acts():
                reached = upgrade_runs.killed_at(act, after=after, kill=KILLS[name])
                print(f"{name} {'after' if after else 'before'} {act}")
                assert reached, f"no run came to {act}\n{upgrade_runs.outputs[-1]}"
            conclude(upgrade_runs)
    finally:
        cluster.remove()


@pytest.mark.own_process
def test_killed_by_each_signal(platform: Platform, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(platform, "killed-by-signals", three_combined, FROM)
    try:
        upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment)
        for (act, after), name in zip(REACHED, KILLS, strict=True):
            assert upgrade_runs.killed_at(act, after=after, kill=KILLS[name]), f"{act}\n{upgrade_runs.outputs[-1]}"
        conclude(upgrade_runs)
    finally:
        cluster.remove()


@pytest.mark.own_process
@pytest.mark.soak
def test_cancelled_by_ansible_runner(
    platform: Platform, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(platform, "cancelled", three_combined, FROM)
    try:
        upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment)
        for act in ("restrict", "delete", "restore"):
            assert upgrade_runs.cancelled_at(act, tmp_path / act), upgrade_runs.outputs[-1]
        conclude(upgrade_runs)
    finally:
        cluster.remove()
