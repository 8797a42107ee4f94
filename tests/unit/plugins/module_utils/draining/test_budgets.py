"""The budgets that keep pods on Kubernetes nodes: for ever, for now, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.budgets import (
    judge_budgets,
    judge_closed,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import PlacedPod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Budget
from hypothesis import given
from hypothesis import strategies as some

from tests.unit.plugins.module_utils.draining.placed import budget, pod

NEVER: dict[str, Any] = {"allowed": 0, "healthy": 3, "desired": 3}
NOT_MET: dict[str, Any] = {"allowed": 0, "healthy": 2}
EXPRESSION = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["data", "hot"]}]}


def reasons(budgets: list[Budget], *pods: PlacedPod) -> list[Reason]:
    """The reasons for a drain of two Kubernetes nodes."""
    return list(judge_budgets(budgets, pods, {"w-0", "w-1"}).reasons)


def codes(budgets: list[Budget], *pods: PlacedPod) -> list[str]:
    return [each.code for each in reasons(budgets, *pods)]


def test_a_budget_that_never_lets_a_pod_go_is_refused_once_for_all_its_pods() -> None:
    (reason,) = reasons([budget(**NEVER)], pod("data-1", "w-1"), pod("data-0"), pod("data-2", "w-2"))
    assert reason.code == "drain_never_ends"
    assert reason.message == (
        "PodDisruptionBudget search/data never lets a pod go (3 of 3 have to be healthy), and keeps data-0, data-1 on"
        " Kubernetes nodes w-0, w-1."
    )


def test_a_budget_that_is_not_met_now_is_a_remark_with_its_pods() -> None:
    (reason,) = reasons([budget(**NOT_MET)], pod("data-0"))
    assert (reason.code, reason.state.value) == ("budget_not_met", "passed")
    assert "lets no pod go now (2 of 3 are healthy, 2 have to be), and keeps data-0 on Kubernetes node w-0." in (
        reason.message
    )


def test_only_budgets_that_have_closed_since_the_start_are_named_at_the_end() -> None:
    before, start, later = (f"2026-11-28T0{hour}:00:00Z" for hour in (1, 2, 3))
    closed = [
        budget("old", **NOT_MET, closed_since=before),
        budget("new", **NOT_MET, closed_since=later),
        budget("empty", **{**NEVER, "expected": 0}, closed_since=later),
        budget("open"),
    ]
    (reason,) = judge_closed(closed, start).reasons
    assert (reason.code, reason.state.value) == ("budgets_closed", "passed")
    assert reason.message.endswith("and let none go now: search/new.")
    assert judge_closed(closed[:1], start).reasons == ()


def test_a_budget_with_room_keeps_nothing() -> None:
    assert codes([budget()], pod("data-0")) == []


@pytest.mark.parametrize("room", [{}, NEVER, NOT_MET])
def test_a_pod_under_two_budgets_is_refused_whatever_they_allow(room: dict[str, Any]) -> None:
    (reason,) = reasons([budget(), budget("all", selector=EXPRESSION, **room)], pod("data-0"))
    assert reason.code == "budgets_overlap"
    assert (
        "PodDisruptionBudgets all, data of namespace search all cover data-0 on Kubernetes node w-0" in reason.message
    )


@pytest.mark.parametrize(
    "selector", [{}, EXPRESSION, {"matchExpressions": [{"key": "other", "operator": "DoesNotExist"}]}]
)
def test_the_whole_selector_counts(selector: dict[str, Any]) -> None:
    assert codes([budget(selector=selector, **NEVER)], pod("data-0")) == ["drain_never_ends"]


@pytest.mark.parametrize(
    "other",
    [
        {"selector": None},
        {"selector": {"matchLabels": {"app": "other"}}},
        {
            "selector": {
                "matchLabels": {"app": "data"},
                "matchExpressions": [{"key": "app", "operator": "DoesNotExist"}],
            }
        },
        {"namespace": "elsewhere"},
    ],
)
def test_a_budget_of_other_pods_keeps_none_of_these(other: dict[str, Any]) -> None:
    assert codes([budget(**{**NEVER, **other})], pod("data-0")) == []
    assert codes([budget(), budget("second", **other)], pod("data-0")) == []


@pytest.mark.parametrize(
    "other",
    [
        {"kubernetes_node": "w-2"},
        {"owner": "DaemonSet"},
        {"is_static": True},
        {"terminating": True},
        {"phase": "Pending"},
        {"phase": "Failed"},
    ],
)
def test_a_pod_that_no_drain_evicts_or_that_needs_no_budget_is_left_out(other: dict[str, Any]) -> None:
    assert codes([budget(**NEVER), budget("second")], pod("data-0", **other)) == []


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (NOT_MET, []),
        ({**NOT_MET, "healthy": 1}, ["budget_not_met"]),
        ({**NOT_MET, "healthy": 1, "unready_go": True}, []),
        ({**NEVER, "desired": 0, "expected": 0, "healthy": 0}, ["drain_never_ends"]),
    ],
)
def test_a_pod_that_is_not_ready_may_go_while_its_budget_is_met_or_lets_it(room: Any, found: list[str]) -> None:
    assert codes([budget(**room)], pod("data-0", ready=False)) == found


@given(some.lists(some.tuples(some.integers(0, 2), some.integers(0, 3)), max_size=4), some.booleans())
def test_nothing_is_refused_that_kubernetes_evicts(rooms: list[tuple[int, int]], ready: bool) -> None:
    budgets = [
        budget(f"b-{number}", allowed=allowed, healthy=2, desired=desired)
        for number, (allowed, desired) in enumerate(rooms)
    ]
    # The rule of the eviction API, in the words of its source.
    goes = not budgets or (
        len(budgets) == 1 and (budgets[0].allowed > 0 or (not ready and 2 >= budgets[0].desired > 0))
    )
    assert bool(codes(budgets, pod("data-0", ready=ready))) is not goes
