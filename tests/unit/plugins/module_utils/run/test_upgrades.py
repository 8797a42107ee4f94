"""The upgrades of a cluster, one after the other, in its record."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import (
    KEPT_UPGRADES,
    StepState,
    Upgrade,
    after_step,
    with_upgrade,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.milestones import dated
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of


def times(record: Record) -> list[Upgrade]:
    """The upgrades without their conditions."""
    return [replace(each, conditions=()) for each in record.upgrades]


FIRST = batch_of("a-0")
RECORD = record_of(FIRST, replace(FIRST, name="two"), started="1", updated="1")


def test_the_times_of_an_upgrade_are_those_of_its_batches() -> None:
    begun = dated(RECORD)
    assert times(begun) == [Upgrade("3.8.0", "Upgrading", "1")]
    half = replace(begun, batches=(replace(FIRST, state="done", started="2", ended="3"), RECORD.batches[1]))
    assert times(dated(half)) == [Upgrade("3.8.0", "Upgrading", "1", "", "2", "")]
    whole = replace(half, batches=(half.batches[0], replace(FIRST, name="two", state="done", started="4", ended="5")))
    done = dated(replace(dated(whole), phase=Phase.COMPLETED, updated="6"))
    assert times(done) == [Upgrade("3.8.0", "Completed", "1", "6", "2", "5")]
    assert dated(replace(done, updated="7")) == replace(done, updated="7"), "it was completed at 6"


def test_the_next_upgrade_stands_behind_it_and_few_are_kept() -> None:
    done = dated(replace(RECORD, phase=Phase.COMPLETED))
    following = dated(replace(RECORD, target_version="3.9.0", upgrades=done.upgrades))
    assert following.upgrades[0] == done.upgrades[0]
    assert [(each.version, each.phase) for each in following.upgrades] == [
        ("3.8.0", "Completed"),
        ("3.9.0", "Upgrading"),
    ]
    many = tuple(Upgrade(f"3.{number}.0", "Failed", "1") for number in range(KEPT_UPGRADES))
    assert with_upgrade(many, Upgrade("4.0.0", "New", "2")) == (*many[1:], Upgrade("4.0.0", "New", "2"))


def test_upgrades_are_read_as_they_were_written() -> None:
    steps = after_step((), "snapshot", StepState.COMPLETED, "taken", "2")
    record = dated(replace(RECORD, conditions=steps))
    assert [each.type for each in record.upgrades[-1].conditions] == ["Started", "GateBeforeUpgrade", "snapshot"]
    assert record.upgrades[-1].conditions[-1:] == steps
    assert parse_record(record_text(record, 100_000), "here").upgrades == record.upgrades
