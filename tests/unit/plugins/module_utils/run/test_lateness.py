"""Batches that are reported as late, by their record."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.batch import BatchSoFar
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batch_events import late_words
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.lateness import with_late
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.measures import measures_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record

BEGUN, LATE = "2026-11-21T02:00:00Z", "2026-11-21T02:30:00Z"
BATCH = BatchRecord("nodes-02", ("worker",), ("worker-0", "worker-1"), "upgrading", "run-1", BEGUN)
RECORD = Record("openshift", "4.18.2", "p1", "run-1", "ops", Phase.UPGRADING, "", BEGUN, BEGUN, (BATCH,))


def test_a_batch_is_late_once_and_until_it_is_done() -> None:
    late = with_late(RECORD, BATCH.members, "it reboots", LATE, "run-1")
    assert late_words(late.events, BATCH) == f"late since {LATE}: it reboots"
    assert with_late(late, BATCH.members, "it is drained", "2026-11-21T02:40:00Z", "run-2") is late
    assert late_words(late.events, replace(BATCH, state="done")) == ""
    figures = {each.name: each.value for each in measures_of(late)}
    assert figures["batch_late"] == 1.0
    assert {each.name: each.value for each in measures_of(RECORD)}["batch_late"] == 0.0


@pytest.mark.parametrize(
    "batch", [replace(BATCH, started="2026-11-21T03:00:00Z"), replace(BATCH, members=("master-0",))]
)
def test_another_batch_or_a_later_one_of_the_same_members_is_not_late_for_it(batch: BatchRecord) -> None:
    assert late_words(with_late(RECORD, BATCH.members, "it reboots", LATE, "run-1").events, batch) == ""


def test_a_batch_that_is_not_under_way_is_not_noted() -> None:
    pending = replace(RECORD, batches=(replace(BATCH, state="pending"),))
    assert with_late(pending, BATCH.members, "it reboots", LATE, "run-1") is pending


@pytest.mark.parametrize(
    ("after", "tries", "late", "expected"),
    [
        (1800, [], False, 1500),
        (1800, [{"started": "2026-11-21T01:50:00Z"}], False, 900),
        (1800, [{"started": "2026-11-21T00:00:00Z"}], False, 0),
        (1800, [], True, None),
        (0, [], False, None),
    ],
)
def test_the_seconds_until_a_batch_is_late_count_from_its_first_try(
    after: int, tries: list[dict[str, str]], late: bool, expected: int | None
) -> None:
    began = 1795226400
    known = {
        "batches": [{"started": BEGUN, "tries": tries}],
        "events": [{"kind": "late", "about": "worker-0", "at": LATE}] if late else [],
    }
    batch = {"members": ["worker-0"], "late_after": after}
    so_far = BatchSoFar(batch, [("roll_begun", {"at": began, "record": known})], began + 300)
    assert so_far.late_in() == expected
