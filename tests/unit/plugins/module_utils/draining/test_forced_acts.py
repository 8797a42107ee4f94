"""Forced acts of a drain that the API server does not make: they are waited for, and noted only once they are made."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.drain import DrainRules
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.forced_drains import rungs_in
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.rights import DRAIN, FORCED_DRAIN

from tests.unit.plugins.module_utils.draining.drained_cluster import HERE, DrainedCluster, acts, codes

FORCED = ("forced", f"Pod {HERE}/web")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> DrainedCluster:
    found = DrainedCluster(monkeypatch)
    found.pod("web", "ReplicaSet")
    return found


def rules(rung: str) -> DrainRules:
    return DrainRules(rungs=rungs_in([{"rung": rung, "after": 0, "namespaces": [HERE]}]))


def kept_by_a_budget(cluster: DrainedCluster) -> None:
    cluster.budget("web", minAvailable=1, selector={"matchLabels": {"app": "web"}})


@pytest.mark.parametrize("status", [422, 500])
def test_an_eviction_that_the_server_does_not_make_is_waited_for_although_it_is_forced(
    cluster: DrainedCluster, status: int
) -> None:
    cluster.kubernetes.server.faults.answer(status, "POST", "web/eviction$", times=4)
    done = cluster.drain(rules=rules("evict"))
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", [])


@pytest.mark.parametrize("status", [422, 500])
def test_a_forced_deletion_that_the_server_has_not_made_is_made_later(cluster: DrainedCluster, status: int) -> None:
    kept_by_a_budget(cluster)
    cluster.kubernetes.server.faults.answer(status, "DELETE", "pods/web$", times=8)
    done = cluster.drain(rules=rules("delete"))
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", [])
    assert FORCED in acts(done)


def test_a_forced_eviction_that_a_budget_has_not_let_go_is_not_noted_as_made(cluster: DrainedCluster) -> None:
    kept_by_a_budget(cluster)
    # Without this right no budget is seen, and only the answer names it.
    cluster.grant([each for each in (*DRAIN, *FORCED_DRAIN) if each.resource != "poddisruptionbudgets"])
    done = cluster.drain(rules=rules("evict"), wait=False)
    assert "drain_blocked" in codes(done)
    assert FORCED not in acts(done)
    assert "web" in cluster.on_node()
