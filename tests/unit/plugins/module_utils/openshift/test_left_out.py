"""The named steps that an upgrade leaves out, by its type and by their names."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.left_out import (
    OPTIONAL,
    left_out,
    remark_on,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.named_steps import STEPS
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.openshift_upgrade import SYSTEM


@pytest.mark.parametrize(
    ("kind", "named", "expected"),
    [
        ("osd", [], []),
        ("osd", ["PostUpgradeProcedures", "IsUpgradeable"], ["IsUpgradeable", "PostUpgradeProcedures"]),
        ("aro", [], [*OPTIONAL]),
        ("aro", ["IsUpgradeable"], [*OPTIONAL]),
    ],
)
def test_a_type_leaves_out_its_steps_and_a_user_further_ones(kind: str, named: list[str], expected: list[str]) -> None:
    assert left_out({"upgrade_type": kind, "left_out": named}) == expected


def test_each_is_a_named_step_and_is_named_by_a_remark() -> None:
    assert {*OPTIONAL} <= {each.name for each in STEPS}
    assert remark_on([]) == ()
    assert "leaves out IsUpgradeable, PostUpgradeProcedures, UpgradeDelayedCheck" in remark_on(OPTIONAL)[0].message


@pytest.mark.parametrize(
    ("kind", "policy", "expected"),
    [("aro", "start_only", "open"), ("aro", "pause", "pause"), ("osd", "pause", "pause")],
)
def test_aro_misses_no_window_unless_a_policy_is_given(kind: str, policy: str, expected: str) -> None:
    params = {"upgrade_type": kind, "left_out": [], "window_policy": policy}
    found = SYSTEM.options_of(params)
    assert (found["window_policy"], found["tells_delay"]) == (expected, kind == "osd")
    assert found["skip_checks"] == ([*OPTIONAL] if kind == "aro" else [])
