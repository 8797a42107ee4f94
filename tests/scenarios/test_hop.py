"""A longer way, hop by hop on real servers, of pools that are declared as some users do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Traffic, check, seed
from tests.lab.traffic.budgets import ROLLING, UNPROBED
from tests.scenarios.cluster import Cluster
from tests.scenarios.fault_proxy import through_proxies
from tests.scenarios.interruptions import ACTS
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAN, play, upgrade

FROM, TO = "2.19.6", "3.8.0"


@pytest.mark.soak
def test_a_longer_way_is_gone_hop_by_hop_though_every_fifth_request_is_refused(
    platform: Platform, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    # Of pools that are OnDelete by themselves, have no readiness probe, and whose template Git has changed beforehand.
    declared: dict[str, Any] = {"update_strategy": "OnDelete", "ready": {}}
    cluster = Cluster.start(platform, "hop", three_combined, "2.11.1", **declared)
    try:
        refused = play(PLAN, cluster.variables(TO), ansible_environment)
        assert refused.code != 0
        assert "2.19" in refused.message
        platform.apply(three_combined(cluster.namespace, FROM, address=platform.pod_address, **declared))
        before = cluster.fingerprint()
        seed(cluster.target, tmp_path, documents=1_000)
        with Traffic.start(cluster.target, tmp_path) as traffic, through_proxies(cluster) as proxy:
            proxy.refuse_every = 5
            played = upgrade(cluster.variables(FROM, **proxy.variables()), ansible_environment)
            traffic.stop()
        report = check(cluster.target, tmp_path)
        made = proxy.made(ACTS)
        print(played.output, f"{len(proxy.refused)} requests refused", made, report.table(), sep="\n")
        assert played.code == 0, played.message
        assert "A pod of these that dies comes back on" in played.output
        cluster.is_upgraded(FROM)
        report.keeps(UNPROBED)
        once = {"lock": 1, "record": 1, "image": 0, "restrict": 3, "restore": 3, "release": 1}
        assert {name: made[name] for name in once} == once
        deleted = [act.path.rpartition("/")[2] for act in proxy.acts if act.method == "DELETE" and act.status == 200]
        assert sorted(name for name in deleted if name in before.pods) == sorted(before.pods)
        assert {request.partition(" ")[0] for request in proxy.refused} >= {"GET", "PATCH"}
        after = cluster.fingerprint()
        assert after.settings == before.settings
        assert after.pools == before.pools, "the run was only to roll"
        assert play(PLAN, cluster.variables(TO), ansible_environment).code == 0
    finally:
        cluster.remove()


@pytest.mark.soak
def test_one_run_goes_through_two_hops_and_loses_nothing(
    lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(lab, "hops", three_combined, "2.11.1")
    try:
        seed(cluster.target, tmp_path, documents=1_000)
        cluster.until_green()
        before = cluster.fingerprint()
        with Traffic.start(cluster.target, tmp_path) as traffic:
            played = upgrade(cluster.variables(TO, upgrade_hops=FROM), ansible_environment)
            report = traffic.stop()
        print(played.output, report.table(), sep="\n")
        assert played.code == 0, played.message
        cluster.is_upgraded(TO)
        report.keeps(ROLLING)
        assert report.loss is not None
        assert report.loss.acknowledged > 1_000
        assert f"Hop 1 of 2 is done: every member runs {FROM}." in played.output
        after = cluster.fingerprint()
        assert after.settings == before.settings
    finally:
        cluster.remove()
