"""An OpenShift whose control plane has one Kubernetes node, without which there is no API. Nothing is drained there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.random_runs.resident import Resident
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.habits import KIND, Habits

ALONE = replace(SMALL, pools=(pool("master", 1),))
WITH_WORKERS = replace(SMALL, pools=(pool("master", 1), pool("worker", 2)))


@pytest.mark.parametrize("described", [ALONE, WITH_WORKERS], ids=["alone", "with workers"])
@pytest.mark.parametrize("habits", [KIND, Habits()], ids=["kind", "worst"])
def test_it_is_upgraded_with_pods_that_no_drain_would_move(here: World, described: Described, habits: Habits) -> None:
    """No budget is asked, and no pod has to find room: nothing is drained. Nor may any be forced to leave."""
    cluster = CalledOpenShift(here, described, habits)
    cluster.openshift.faults.drain_blocked("master-0", "kept")
    cluster.openshift.faults.drain_blocked(described.pools[-1].nodes[-1].name, "jobs")
    cluster.openshift.clock.advance(60)
    forced = {"upgrade_allow_forced_drains": [{"rung": "delete", "after": 60, "namespaces": ["jobs"]}]}
    given = cluster.agreed(**forced)
    times, server = list[float](), cluster.openshift.kubernetes.server

    def looked(_change: Change) -> None:
        if server.faults.away:
            times.append(cluster.openshift.clock.now())

    cluster.openshift.resources.store.listeners.append(looked)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert times, "the API was away"
    for said in ("evictions respect", "may be deleted", "finds no", "is being drained"):
        assert said not in ended.output
    assert "so the Kubernetes API is away while that restarts with its pods" in ended.output
    assert ("they restart with their pods, since OpenShift drains none" in ended.output) is (described is WITH_WORKERS)


def test_a_database_that_has_no_other_kubernetes_node_is_refused_with_one_sentence(here: World) -> None:
    cluster = CalledOpenShift(here, ALONE)
    database = Resident(here, cluster.openshift.resources, ())
    assert {*database.places().values()} == {"master-0"}
    named = {"upgrade_workloads": [database.workload()], "upgrade_gate_timeout": 60}
    refused = cluster.plan(**named)
    assert codes(refused) == ["only_kubernetes_node"], refused.output
    assert "It is on master-0, the only Kubernetes node, and goes down with it." in refused.output
    assert "Leave it out of upgrade_workloads: it is away while that Kubernetes node restarts." in refused.output
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
