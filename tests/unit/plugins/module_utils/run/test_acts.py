# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes that a record keeps, and the figures by which two upgrades are compared."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import figures_of, with_last
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.acts import MOST, counted, stays
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record

AT = "2026-11-21T02:00:00Z"


def act(action: str, target: str, at: str = AT) -> dict[str, Any]:
    return {"action": action, "target": target, "at": at, "value": "none"}


def record(phase: Phase = Phase.COMPLETED, **more: Any) -> Record:
    took = ({"name": "a", "action": "replaced", "total_seconds": 30.0},)
    batch = BatchRecord("b", ("p",), ("a",), "done", "night", AT, AT, took)
    return Record("uuid", "3.8.0", "p1", "night", "ops", phase, "", AT, "2026-11-21T02:10:00Z", (batch,), **more)


def test_acts_are_counted_by_kind_and_target_and_others_are_left_out() -> None:
    first = counted((), [act("set", "a"), act("delete_pod", "pod-0"), act("restored", "a"), act("set", "a", "later")])
    assert first == (
        {"target": "a", "action": "set", "times": 2, "first": AT, "last": "later"},
        {"target": "a", "action": "restored", "times": 1, "first": AT, "last": AT},
    )
    assert counted(first, [act("set", "a", "last")])[0]["times"] == 3
    assert counted(first, []) == first


def test_the_parts_of_a_pool_are_counted_one_by_one_since_one_of_them_stays() -> None:
    both = {**act("patch_stateful_set", "data"), "set": ["image", "strategy", "undo"]}
    mark = {**act("patch_stateful_set", "data"), "set": ["undo"]}
    back = {**act("restored", "data"), "set": ["strategy", "undo"]}
    found = counted((), [both, act("lower_partition", "warm"), mark, back])
    assert [(each["target"], each["action"], each["times"]) for each in found] == [
        ("image of pool data", "patch_stateful_set", 1),
        ("update strategy of pool data", "patch_stateful_set", 1),
        ("update strategy of pool warm", "lower_partition", 1),
        ("update strategy of pool data", "restored", 1),
    ]
    assert [stays(each["target"]) for each in found] == [True, False, False, False]


def test_an_upgrade_with_endless_targets_keeps_the_first_of_them() -> None:
    many = counted((), (act("set", f"setting-{number}") for number in range(2 * MOST)))
    assert len(many) == MOST
    assert counted(many, [act("set", "setting-0")])[0]["times"] == 2


def test_the_next_upgrade_has_the_figures_of_the_one_that_was_completed() -> None:
    figures = figures_of(record())
    assert (figures["seconds"], figures["batches"], figures["members"], figures["usual_seconds"]) == (600, 1, 1, 30.0)
    fresh = record(Phase.PENDING)
    found = with_last(fresh, record())
    assert found is not None
    assert found.last == (figures,)
    goes_on = with_last(fresh, record(Phase.UPGRADING, last=(figures,)))
    assert goes_on is not None
    assert goes_on.last == (figures,)
    assert with_last(fresh, None) == fresh
    assert with_last(None, record()) is None
