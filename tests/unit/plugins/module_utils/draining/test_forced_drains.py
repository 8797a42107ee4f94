"""The pods that may be removed although a drain has not done so, and the time for that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.forced_drains import (
    judge_forced,
    may_be_forced,
    rung_due,
    rungs_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import PlacedPod

RUNGS = rungs_in(
    [
        {"rung": "delete_now", "after": 600, "namespaces": ["jobs-*"]},
        {"rung": "delete", "after": 300, "namespaces": ["web", "jobs-*", "openshift-*"]},
    ]
)
POD = PlacedPod(
    "jobs-1", "a", {}, "worker-0", "Running", ready=True, terminating=False, owner="ReplicaSet", is_static=False
)


@pytest.mark.parametrize(
    ("namespace", "seconds", "rung"),
    [
        ("jobs-1", 299, ""),
        ("jobs-1", 300, "delete"),
        ("jobs-1", 600, "delete_now"),
        ("web", 600, "delete"),
        ("other", 600, ""),
        ("openshift-monitoring", 600, ""),
    ],
)
def test_the_last_rung_that_is_due_in_its_namespace_counts(namespace: str, seconds: float, rung: str) -> None:
    assert rung_due(replace(POD, namespace=namespace), RUNGS, seconds, kept=True) == rung


@pytest.mark.parametrize(
    "kept",
    [{"owner": "StatefulSet"}, {"owner": "DaemonSet"}, {"claims": ("data",)}, {"is_static": True}],
    ids=str,
)
def test_a_pod_with_data_of_its_own_or_one_that_stays_is_never_forced(kept: dict[str, Any]) -> None:
    assert may_be_forced(POD, RUNGS)
    assert not may_be_forced(replace(POD, **kept), RUNGS)
    assert rung_due(replace(POD, **kept), RUNGS, 10_000, kept=False) == ""


EVICTED = rungs_in([{"rung": "evict", "after": 60, "namespaces": ["web", "kube-*"]}])


@pytest.mark.parametrize("stays", [{"owner": "DaemonSet"}, {"is_static": True}, {"namespace": "kube-system"}], ids=str)
def test_a_pod_is_evicted_again_once_its_budgets_let_it_go(stays: dict[str, Any]) -> None:
    pod = replace(POD, namespace="web", owner="StatefulSet", claims=("data",))
    assert rung_due(pod, EVICTED, 60, kept=False) == "evict"
    assert rung_due(pod, EVICTED, 59, kept=False) == ""
    assert rung_due(pod, EVICTED, 60, kept=True) == ""
    assert rung_due(replace(pod, **stays), EVICTED, 60, kept=False) == ""
    assert not may_be_forced(pod, EVICTED)


def test_the_plan_names_what_is_allowed_and_the_pods_that_it_covers() -> None:
    elsewhere = replace(POD, name="b", kubernetes_node="worker-9")
    (reason,) = judge_forced([POD, elsewhere], ["worker-0"], RUNGS).reasons
    assert reason.code == "drains_forced"
    assert "delete after 300 s in web, jobs-*, openshift-*; delete_now after 600 s in jobs-*" in reason.message
    assert "1 pod may be deleted: jobs-1/a." in reason.message
    assert not judge_forced([POD], ["worker-0"], ()).reasons
