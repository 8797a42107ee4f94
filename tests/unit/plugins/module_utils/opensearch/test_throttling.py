"""Limits of recoveries under which no copy comes back."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.throttling import LIMITS, judge_limits
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    RECOVERIES,
    RECOVERY_BYTES,
    Settings,
)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(("value", "refused"), [("0", True), (0, True), (" +0", True), ("1", False), ("10", False)])
def test_a_limit_of_zero_is_refused_by_its_name(name: str, value: Any, refused: bool) -> None:
    reasons = judge_limits(Settings({name: value}, {})).reasons
    assert [(each.code, each.state) for each in reasons] == [("recoveries_disabled", State.REFUSED)] * refused
    assert all(name in each.message and name in each.remedy for each in reasons)
    assert judge_limits(Settings({name: "0"}, {name: "2"})).reasons == ()


def test_the_limit_that_a_run_raises_is_left_to_it() -> None:
    assert judge_limits(Settings({RECOVERIES: "0"}, {})).reasons == ()


@pytest.mark.parametrize(
    ("value", "slow"),
    [
        ("1b", True),
        ("10kb", True),
        ("0.5mb", True),
        ("1023 KB", True),
        ("1mb", False),
        ("40m", False),
        ("1gb", False),
        # No limit, and what is no size.
        ("0", False),
        ("-1", False),
        ("fast", False),
    ],
)
def test_a_very_low_pace_is_a_remark(value: str, slow: bool) -> None:
    reasons = judge_limits(Settings({RECOVERY_BYTES: value}, {})).reasons
    assert [(each.code, each.state) for each in reasons] == [("recoveries_slow", State.PASSED)] * slow
