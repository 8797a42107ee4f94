# SPDX-License-Identifier: GPL-3.0-or-later
"""The record over several runs, each with a plan of its own, and that of a restart."""

from __future__ import annotations

import json
from dataclasses import replace

from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.report import report_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import (
    Condition,
    StepState,
    after_step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Event
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import begun, ended
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_record import (
    NEW,
    Json,
    changed,
    first,
    plan,
)


def numbered(*going: str) -> Json:
    """A plan as it really is: each counts its batches from one, whatever earlier runs have done."""
    made = plan(*going)
    return {**made, "batches": [{**each, "name": f"batch-{n:02d}"} for n, each in enumerate(made["batches"], 1)]}


def test_each_plan_counts_its_batches_from_one_and_those_of_earlier_runs_keep_their_times() -> None:
    record = begun(None, numbered("c", "b", "a"), "night", "ops", "t0")
    record = changed(changed(record, "batch-01", "upgrading", "t1"), "batch-01", "done", "t2", {"total_seconds": 30})
    record = begun(changed(record, "batch-02", "failed", "t3"), numbered("b", "a"), "day", "dev", "t4")
    record = changed(changed(record, "batch-01", "upgrading", "t5"), "batch-01", "done", "t6")
    record = begun(record, numbered("a"), "noon", "dev", "t7")
    record = changed(changed(record, "batch-01", "upgrading", "t8"), "batch-01", "done", "t9")
    found = [(each.name, each.members, each.run, each.started, each.ended) for each in record.batches]
    assert found == [
        ("batch-01 (run 1)", ("c",), "night", "t1", "t2"),
        ("batch-01 (run 2)", ("b",), "day", "t5", "t6"),
        ("batch-01", ("a",), "noon", "t8", "t9"),
    ]
    assert record.batches[0].took == ({"total_seconds": 30},)


def test_a_step_that_no_run_takes_any_more_is_not_left_in_progress() -> None:
    steps: tuple[Condition, ...] = ()
    for name, state in (("snapshot", StepState.IN_PROGRESS), ("approval", StepState.COMPLETED)):
        steps = after_step(steps, name, state, "", "t0")
    night = replace(first("b", "a"), conditions=steps)
    day = begun(night, plan("b", "a"), "day", "dev", "t3")
    assert day is not None
    day = replace(day, conditions=after_step(day.conditions, "alerts", StepState.IN_PROGRESS, "they fire", "t4"))
    stopped, completed = (ended(day, event, "Stopped.", "t5") for event in (Event.STOPPED, Event.COMPLETED))
    assert stopped is not None
    assert completed is not None
    assert [each.type for each in stopped.conditions] == ["snapshot", "approval", "alerts"]
    assert [each.type for each in completed.conditions] == ["approval", "alerts"]


def test_a_restart_is_told_as_one() -> None:
    """Its members are on the target version from the start, and each is left until its batch is done."""
    given = {**plan("b", "a"), "before": dict.fromkeys("abc", NEW), "deed": "restart"}
    record = begun(None, given, "night", "ops", "t0")
    assert record is not None
    assert (record.title, [entry.message for entry in record.history]) == (
        "restart",
        ["begins: restart, 2 members, plan p1"],
    )
    assert [(pool.status, pool.left) for pool in record.pools] == [("pending", ("a", "b"))]
    record = changed(record, "batch-01.b", "upgrading")
    assert [(pool.status, pool.left) for pool in record.pools] == [("restarting", ("a", "b"))]
    record = changed(changed(record, "batch-01.b", "done"), "batch-02.a", "done")
    assert [(pool.status, pool.left) for pool in record.pools] == [("restarted", ())]
    assert parse_record(json.dumps(record.as_result()), "here") == record
    assert report_of(record).title == "Restart"
    assert report_of(replace(first("a"), system="OpenSearch")).title == f"Upgrade of OpenSearch to {NEW}"
