"""The figures of an upgrade say what its record says."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import StepState, after_step
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.measures import HELP, measures_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.recorded_start import Start
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

AT, LATER = "2026-12-01T12:00:00Z", "2026-12-01T12:01:30Z"
RECORD = record_of(started=AT, updated=LATER, codes=("timed_out",))


def of(record: Record, name: str) -> dict[tuple[str, ...], float]:
    return {tuple(each.labels.values()): each.value for each in measures_of(record) if each.name == name}


def test_the_phase_and_the_reasons_are_told() -> None:
    phases = of(RECORD, "phase")
    assert len(phases) == len(Phase)
    assert [phase for (phase, *_about), value in phases.items() if value] == ["Upgrading"]
    assert of(RECORD, "reason") == {("timed_out",): 1.0}
    assert of(RECORD, "update_time_seconds")[()] - of(RECORD, "start_time_seconds")[()] == 90.0
    assert {each.name for each in measures_of(RECORD)} <= HELP.keys()


def test_members_and_batches_are_counted_as_far_as_they_came() -> None:
    done = batch_of("a", "b", state="done", started=AT, ended=LATER)
    record = replace(RECORD, batches=(done, batch_of("c", state="upgrading", started=AT)))
    counted = of(record, "members")
    assert (counted[("done",)], counted[("upgrading",)], counted[("failed",)]) == (2.0, 1.0, 0.0)
    assert of(record, "batch_seconds") == {("batch-a-b",): 90.0}


def test_steps_and_the_start_are_told_if_there_are_any() -> None:
    assert (of(RECORD, "step"), of(RECORD, "delayed"), of(RECORD, "to_fix")) == ({}, {}, {})
    conditions = after_step(
        after_step((), "alerts", StepState.STARTED, "", AT), "alerts", StepState.COMPLETED, "", LATER
    )
    start = Start(AT, LATER, "start_only", checked=AT, findings=("It is red.",), delayed="")
    record = replace(RECORD, conditions=conditions, start=start)
    assert of(record, "step")["alerts", "completed"] == 1.0
    assert of(record, "step")["alerts", "in_progress"] == 0.0
    assert of(record, "step_seconds") == {("alerts",): 90.0}
    assert (of(record, "delayed"), of(record, "to_fix")) == ({(): 0.0}, {(): 1.0})


def test_a_moment_that_is_none_has_no_figure() -> None:
    assert of(replace(RECORD, started="", updated="yesterday"), "start_time_seconds") == {}


def test_an_upgrade_that_no_run_has_started_has_no_start_time() -> None:
    assert of(replace(RECORD, run=""), "start_time_seconds") == {}
