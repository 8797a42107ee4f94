"""The instance managers of Longhorn that a drain waits for: for ever, for a time, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.budgets import judge_budgets
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.longhorn_budgets import (
    judge_manager_budgets,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import (
    VolumeReplica,
    Workloads,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part

from tests.unit.plugins.module_utils.draining.placed import budget, node, pod, workloads

NODES = ("w-0", "w-1", "w-2")
BATCHES = {name: [name] for name in NODES}
DEFAULT = "block-if-contains-last-replica"
LAST, BOTH = VolumeReplica("last", "w-0"), (VolumeReplica("both", "w-0"), VolumeReplica("both", "w-1"))


def seen(*replicas: VolumeReplica, policy: str = DEFAULT, cordoned: str = "", managed: tuple[str, ...] = NODES) -> Any:
    """Three Kubernetes nodes, each with an instance manager and its budget."""
    labels = {name: {"longhorn.io/component": "instance-manager", "longhorn.io/node": name} for name in managed}
    budgets = [
        budget(f"im-{name}", selector={"matchLabels": labels[name]}, allowed=0, healthy=1, desired=1, expected=1)
        for name in managed
    ]
    return workloads(
        [node(name, closed=name == cordoned) for name in NODES],
        *(pod(f"im-{name}", name, labels=labels[name], owner="InstanceManager") for name in managed),
        budgets=tuple(budgets),
        longhorn={("search", "data-0"): "last"},
        replicas=replicas,
        drain_policy=policy,
    )


def reasons(there: Workloads, batches: Any = None, apart: Any = None) -> list[Reason]:
    return list(judge_manager_budgets(there, batches or BATCHES, apart).reasons)


def codes(there: Workloads, batches: Any = None, apart: Any = None) -> list[str]:
    return [each.code for each in reasons(there, batches, apart)]


def test_the_budget_of_an_instance_manager_is_no_budget_that_never_lets_a_pod_go() -> None:
    there = seen(*BOTH)
    assert not judge_budgets(there.budgets, there.pods, set(NODES)).reasons
    assert codes(there) == []


def test_a_volume_without_another_healthy_replica_is_named_by_its_claim() -> None:
    (reason,) = reasons(seen(LAST, VolumeReplica("last", "w-1", healthy=False), *BOTH), {"w-0": ["w-0"]})
    assert reason.code == "drain_never_ends"
    assert reason.message == (
        "The drain of w-0 never ends, because Longhorn keeps its instance manager there: no healthy replica of these"
        " volumes would be on another Kubernetes node that is not cordoned: search/data-0 (node-drain-policy of"
        " Longhorn is block-if-contains-last-replica)."
    )


def test_kubernetes_nodes_that_are_cordoned_together_do_not_stand_in_for_one_another() -> None:
    both = {"batch": ["w-0", "w-1"]}
    assert codes(seen(*BOTH), both) == ["drain_never_ends"]
    one_by_one = AwaySets([[Part(frozenset({"w-0", "w-1"}), 1)]])
    assert codes(seen(*BOTH), both, {"batch": one_by_one}) == []


def test_those_of_a_batch_that_its_pool_lets_go_at_once_do_not_either() -> None:
    batch = {"batch": ["m-0", "w-0", "w-1"]}
    at_once = AwaySets([[Part(frozenset({"m-0"}), 1)], [Part(frozenset({"w-0", "w-1"}), 2)]])
    assert codes(seen(*BOTH), batch, {"batch": at_once}) == ["drain_never_ends"]


def test_a_replica_on_a_cordoned_kubernetes_node_does_not_count_unless_the_run_drains_it_too() -> None:
    assert codes(seen(*BOTH, cordoned="w-1"), {"w-0": ["w-0"]}) == ["drain_never_ends"]
    assert codes(seen(*BOTH, cordoned="w-1")) == []


@pytest.mark.parametrize(
    ("policy", "stopped", "found"),
    [
        ("always-allow", False, []),
        (DEFAULT, True, ["drain_never_ends"]),
        ("allow-if-replica-is-stopped", True, []),
        ("allow-if-replica-is-stopped", False, ["longhorn_drain_waits"]),
        ("block-for-eviction-if-contains-last-replica", False, ["longhorn_drain_waits"]),
        ("block-for-eviction", False, ["longhorn_drain_waits"] * 2),
        ("", False, []),
    ],
)
def test_each_policy(policy: str, stopped: bool, found: list[str]) -> None:
    assert codes(seen(VolumeReplica("last", "w-0", stopped=stopped), *BOTH, policy=policy)) == found


def test_a_replica_that_never_was_used_has_nothing_to_lose() -> None:
    assert codes(seen(VolumeReplica("new", "w-0", healthy=False, used=False))) == []


def test_a_kubernetes_node_without_an_instance_manager_is_not_kept() -> None:
    assert codes(seen(LAST, managed=("w-1", "w-2"))) == []
