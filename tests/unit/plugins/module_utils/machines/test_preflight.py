"""The preflight of a batch: the workers that are left, and the machines to which a run is narrowed."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.preflight import (
    judge_available,
    judge_only,
    may_go,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, GROUPS, TO, WORKERS, cluster, machine


@given(st.integers(1, 20), st.integers(1, 20), st.data())
def test_after_the_machines_went_no_more_are_away_than_may_be(total: int, most: int, data: st.DataObject) -> None:
    available, going = data.draw(st.integers(0, total)), data.draw(st.integers(1, total))
    assert may_go(available, total, going, most) is (total - (available - going) <= most)
    assert may_go(available, total, 1, most) is (available > total - most)


@pytest.mark.parametrize(
    ("away", "going", "most", "passes"),
    [
        ({}, ["w-0"], None, True),
        ({}, ["w-0", "w-1"], None, False),
        ({}, ["w-0", "w-1"], "2", True),
        ({"ready": False}, ["w-0"], None, False),
        ({"leaving": True}, ["w-0"], None, False),
        ({"leaving": True}, ["w-0"], "2", True),
        ({"ready": False}, ["w-2"], None, True),
        ({"closed": True}, ["w-0"], None, True),
        ({"ready": False}, ["cp-0"], None, True),
    ],
)
def test_a_group_keeps_enough_workers(away: dict[str, bool], going: list[str], most: str | None, passes: bool) -> None:
    verdict = judge_available(cluster(machine("w-2", **away)), GROUPS, going, most)
    assert verdict.passed is passes
    if not passes:
        assert [each.code for each in verdict.reasons] == ["too_few_available"]


def test_a_worker_without_a_kubernetes_node_is_not_available() -> None:
    groups = {**GROUPS, "workers": [*WORKERS, "w-9"]}
    (reason,) = judge_available(cluster(), groups, ["w-0"], None).reasons
    assert reason.message == "Group workers has 3 of 4 workers available, and at most 1 may be away: w-9."


def test_workers_go_alone_only_once_the_control_plane_is_on_the_target() -> None:
    every = [*CONTROL_PLANE, *WORKERS]
    assert judge_only(cluster(), every, [], TO).passed
    assert judge_only(cluster(), every, ["cp-0"], TO).passed
    (behind,) = judge_only(cluster(), every, ["cp-0", "w-0"], TO).reasons
    assert (behind.code, "cp-1, cp-2" in behind.message or "cp-1 and cp-2" in behind.message) == (
        "control_plane_behind",
        True,
    )
    assert judge_only(cluster(), every, [*CONTROL_PLANE, "w-0"], TO).passed
    assert [each.code for each in judge_only(cluster(), every, ["w-8"], TO).reasons] == ["machine_unknown"]
