"""The room that PodDisruptionBudgets leave."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Budget
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.disruption import (
    judge_budgets,
    judge_planned,
    matches,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import member
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import World, turn

Json = dict[str, Any]
LABELS = {"app": "search", "tier": "hot"}


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "search"}}, True),
        ({"matchLabels": {"app": "search", "tier": "warm"}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["hot", "warm"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["hot"]}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "search"}, "matchExpressions": [{"key": "zone", "operator": "Exists"}]}, False),
    ],
)
def test_what_a_selector_matches(selector: Json | None, found: bool) -> None:
    assert matches(selector, LABELS) is found


def budget(allowed: int, desired: int = 2, selector: Json | None = None) -> Budget:
    return Budget("keep", {} if selector is None else selector, allowed, 3, desired, 3)


def test_no_more_go_than_the_budget_allows_now() -> None:
    pods = [member("data-1"), member("data-2")]
    assert judge_budgets([budget(2)], pods).passed
    (reason,) = judge_budgets([budget(1)], pods).reasons
    assert (reason.code, reason.state) == ("disruption_budget", State.WAITING)
    assert (
        "keep lets 1 more go (3 of 3 are healthy, 2 have to be), and the batch takes data-1, data-2" in reason.message
    )
    # A pod that is down already takes nothing away, and one that the budget does not cover is not its business.
    assert judge_budgets([budget(1)], [member("data-1"), member("data-2", ready=False)]).passed
    assert judge_budgets([budget(0, selector={"matchLabels": {"app": "other"}})], pods).passed


def test_a_budget_that_can_never_be_kept_refuses_the_plan() -> None:
    steps = [[member("data-0")], [member("data-1"), member("data-2")]]
    (reason,) = judge_planned([budget(0)], steps).reasons
    assert (reason.code, reason.state) == ("disruption_budget_too_small", State.REFUSED)
    assert "never lets more than 1 of its 3 pods go" in reason.message
    assert "data-1, data-2" in reason.message
    assert judge_planned([budget(0, desired=1)], steps).passed
    assert judge_planned([budget(0)], steps[:1]).passed


def test_nothing_is_deleted_before_the_budget_leaves_room() -> None:
    world = World()
    status = {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 3}
    world.budgets = [{"metadata": {"name": "keep"}, "spec": {"selector": {}}, "status": status}]

    def recovered() -> None:
        status.update(disruptionsAllowed=1, currentHealthy=3)

    world.on_tick = [recovered]
    outcome = turn(world, "data-2")
    assert outcome.verdict.passed
    assert world.now() >= 1
    assert [name for name, _uid in world.deleted] == ["data-2"]
