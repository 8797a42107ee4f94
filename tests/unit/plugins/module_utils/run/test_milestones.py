"""The conditions of a plain upgrade, from its schedule to its end, without a step of the user."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import StepState, after_step
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.milestones import (
    LONGEST,
    conditions_of,
    dated,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record, begun, ended, noted
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.recorded_start import Start
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_record import (
    changed,
    first,
    plan,
)

WAY = ["Started", "GateBeforeUpgrade", "GatesBeforeBatches", "BatchesDone", "GateAfterUpgrade", "Ended"]


def told(record: Record) -> dict[str, tuple[str, str]]:
    """Status and message of each condition."""
    return {each.type: (each.status, each.message) for each in conditions_of(record)}


def causes(record: Record) -> dict[str, str]:
    """The cause of each condition that has one."""
    return {each.type: each.cause for each in conditions_of(record) if each.cause}


def done(record: Record) -> Record:
    """Both batches of it are done."""
    for name, at in (("batch-01.b", "t2"), ("batch-02.a", "t4")):
        record = changed(record, name, "upgrading", at)
        record = changed(record, name, "done", f"{at}5", {"name": name[-1], "action": "replaced"})
    return record


def test_a_plain_upgrade_has_conditions_from_its_start_to_its_end() -> None:
    started = first("b", "a")
    assert [(each.type, each.status, each.start_time) for each in conditions_of(started)] == [
        ("Started", "True", "t0"),
        ("GateBeforeUpgrade", "True", "t0"),
    ]
    half = changed(started, "batch-01.b", "done", "t2", {"name": "b", "action": "replaced"})
    half = changed(half, "batch-02.a", "upgrading", "t3")
    assert told(half)["GatesBeforeBatches"] == ("False", "1 of 2 passed")
    assert told(half)["BatchesDone"] == ("False", "1 of 2 done")
    last = told(done(started))
    assert [last[name][0] for name in WAY] == ["True", "True", "True", "True", "False", "False"]
    completed = ended(done(started), UpgradeEvent.COMPLETED, "", "t9")
    assert completed is not None
    assert [(each.type, each.status) for each in conditions_of(completed)] == [(name, "True") for name in WAY]
    times = {each.type: (each.start_time, each.complete_time) for each in conditions_of(completed)}
    assert (times["BatchesDone"], times["Ended"]) == (("t2", "t45"), ("t45", "t9"))


def test_the_start_names_the_run_of_that_time_and_the_last_one() -> None:
    night = first("b", "a")
    assert told(night)["Started"][1] == "run night of ops@bastion took the lock, with consent to plan p1"
    day = begun(changed(night, "batch-01.b", "done", "t2"), {**plan("a"), "digest": "p2"}, "day", "dev@laptop", "t3")
    assert day is not None
    said = "run night of ops@bastion took the lock, and last run day of dev@laptop, with consent to plan p2"
    assert told(day)["Started"][1] == said


def test_a_batch_that_is_stopped_or_an_end_that_is_not_good_says_why() -> None:
    stopped = changed(changed(first("b", "a"), "batch-01.b", "upgrading", "t1"), "batch-01.b", "failed", "t2")
    stopped = replace(stopped, reason="Member b is not back.")
    assert told(stopped)["BatchesDone"] == ("False", "0 of 2 done")
    assert told(stopped)["Ended"] == ("False", "")
    assert causes(stopped) == dict.fromkeys(("BatchesDone", "Ended"), "Member b is not back.")
    unproven = ended(done(first("b", "a")), UpgradeEvent.STOPPED, "The cluster is red. Look.", "t9")
    assert unproven is not None
    assert told(unproven)["GateAfterUpgrade"] == told(unproven)["Ended"] == ("False", "")
    assert causes(unproven) == dict.fromkeys(("GateAfterUpgrade", "Ended"), "The cluster is red.")


def test_a_schedule_and_skipped_checks_and_notices_stand_there_too() -> None:
    start = Start("t5", "t6", "soon", checked="t1", delayed="t7")
    waits = replace(first("b", "a"), run="", start=start, phase=Phase.PENDING)
    (scheduled,) = conditions_of(waits)
    assert (scheduled.type, scheduled.status, scheduled.start_time) == ("Scheduled", "False", "t1")
    assert scheduled.message == "from t5 to t6, soon, late since t7"
    missed = noted(waits, UpgradeEvent.FAILED, "No one started it.", "t8")
    assert told(missed)["Scheduled"] == ("False", "from t5 to t6, soon, late since t7")
    assert causes(missed) == dict.fromkeys(("Scheduled", "Ended"), "No one started it.")
    started = replace(first("b", "a"), start=start).with_events(
        happened(EventKind.SKIPPED, "t1", about="disk"),
        *(happened(EventKind.NOTICED, "t1", about=key) for key in ("started-1a2b", "failed-3c4d")),
    )
    assert told(started)["Scheduled"][0] == "True"
    assert told(started)["GateBeforeUpgrade"] == ("True", "without the checks disk")
    assert told(started)["NoticesSent"] == ("True", "2 sent: failed, started")


def test_steps_stand_between_the_start_and_the_batches() -> None:
    steps = after_step((), "snapshot", StepState.COMPLETED, "", "t1")
    record = replace(done(first("b", "a")), conditions=steps)
    assert [each.type for each in conditions_of(record)] == [*WAY[:2], "snapshot", *WAY[2:]]


def test_former_upgrades_keep_theirs_and_a_later_note_changes_none() -> None:
    completed = ended(done(first("b", "a")), UpgradeEvent.COMPLETED, "", "t9")
    assert completed is not None
    whole = dated(completed)
    later = dated(replace(whole, updated="t11").with_events(happened(EventKind.NOTICED, "t11", about="completed-1a2b")))
    assert [each.completed for each in later.upgrades] == ["t9"]
    assert [each.type for each in later.upgrades[0].conditions] == [*WAY[:4], "NoticesSent", *WAY[4:]]
    next_one = dated(replace(first("b"), target_version="3.9.0", upgrades=later.upgrades))
    assert next_one.upgrades[0] == later.upgrades[0]
    assert parse_record(record_text(next_one, 900_000), "here") == next_one
    assert not parse_record(record_text(next_one, 100), "here").upgrades[0].conditions


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_batch_of_which_nobody_knows_an_end_is_done_since_the_last_change(state: str) -> None:
    lone = replace(first("b"), batches=(batch_of("b", state=state, started="t1"),), updated="t7")
    found = {each.type: (each.status, each.complete_time) for each in conditions_of(lone)}
    assert found["BatchesDone"] == (("True", "t7") if state == "done" else ("False", ""))


def test_a_message_is_short() -> None:
    stopped = ended(first("b"), UpgradeEvent.STOPPED, "x" * 1000, "t1")
    assert stopped is not None
    assert all(len(each.message) <= LONGEST for each in conditions_of(stopped))
    assert {len(each) for each in causes(stopped).values()} == {LONGEST}
