"""The named steps that an upgrade leaves out, by its type and by their names."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.left_out import (
    OF_ARO,
    OPTIONAL,
    left_out,
    remark_on,
    without_steps,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.named_steps import STEPS
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.openshift_upgrade import SYSTEM


@pytest.mark.parametrize(
    ("kind", "named", "expected"),
    [
        ("osd", [], []),
        ("osd", ["PostUpgradeProcedures", "IsUpgradeable"], ["IsUpgradeable", "PostUpgradeProcedures"]),
        ("aro", [], [*OF_ARO]),
        ("aro", ["IsUpgradeable"], [*OF_ARO]),
        ("aro", ["SendStartedNotification"], ["SendStartedNotification", *OF_ARO]),
    ],
)
def test_a_type_leaves_out_its_steps_and_a_user_further_ones(kind: str, named: list[str], expected: list[str]) -> None:
    assert left_out({"upgrade_type": kind, "left_out": named}) == expected


def test_each_is_a_named_step_and_is_named_by_a_remark() -> None:
    needed = ["PreUpgradeHealthCheck", "CommenceUpgrade", "ControlPlaneUpgraded", "RemoveControlPlaneMaintWindow"]
    needed += ["AllWorkersUpgraded", "RemoveExtraScaledNodes", "RemoveMaintWindow", "PostUpgradeHealthCheck"]
    assert [each.name for each in STEPS if each.name not in OPTIONAL] == needed
    assert {*OPTIONAL} <= {each.name for each in STEPS}
    assert remark_on([]) == ()
    assert "leaves out IsUpgradeable, PostUpgradeProcedures, UpgradeDelayedCheck" in remark_on(OF_ARO)[0].message


def test_what_a_step_that_is_left_out_asks_for_is_taken_away() -> None:
    asking = {
        "dependencies": ["tcp://shop:1"],
        "extra_workers": True,
        "control_plane_silences": ['a="1"'],
        "worker_silences": ['a="2"'],
        "fedramp": True,
    }
    assert without_steps(asking, []) == {}
    assert not any(without_steps(asking, OPTIONAL).values())
    assert without_steps(asking, OPTIONAL).keys() == asking.keys()
    assert without_steps(asking, ["EnsureExtraUpgradeWorkers"]) == {"extra_workers": False}
    assert without_steps({"fedramp": True}, OPTIONAL) == {"fedramp": False}


@pytest.mark.parametrize(
    ("kind", "policy", "expected"),
    [("aro", "start_only", "open"), ("aro", "pause", "pause"), ("osd", "pause", "pause")],
)
def test_aro_misses_no_window_unless_a_policy_is_given(kind: str, policy: str, expected: str) -> None:
    params = {"upgrade_type": kind, "left_out": [], "window_policy": policy}
    found = SYSTEM.options_of(params)
    assert (found["window_policy"], found["reports_delay"]) == (expected, kind == "osd")
    assert found["skip_checks"] == ([*OF_ARO] if kind == "aro" else [])
