"""The prediction from the batches that were measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import (
    duration_text,
    figures_of,
    seconds_a_batch,
    seconds_left,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

BEGUN = "2026-11-21T23:59:30Z"


def record(*batches: BatchRecord) -> Record:
    return record_of(*batches, started=BEGUN, updated=BEGUN)


def batch(state: str, ended: str = "") -> BatchRecord:
    return batch_of("data-0", state=state, started=BEGUN, ended=ended)


def test_only_batches_that_are_done_were_measured() -> None:
    minute, half = batch("done", "2026-11-22T00:00:30Z"), batch("done", "2026-11-22T00:00:00Z")
    failed = batch("failed", "2026-11-22T05:00:00Z")
    assert seconds_a_batch([]) is None
    assert seconds_left(record(failed, batch("pending"))) is None
    assert seconds_a_batch([record(minute, failed), record(half)]) == 45
    assert seconds_left(record(minute, half, failed, batch("pending"))) == 90
    assert seconds_left(record(minute)) == 0


def test_a_batch_that_somebody_else_has_upgraded_measures_nothing() -> None:
    minute = batch("done", "2026-11-22T00:00:30Z")
    by_another = replace(batch("done", "2026-11-21T23:59:31Z"), took=({"name": "data-0", "action": "kept"},))
    assert seconds_a_batch([record(minute, by_another)]) == 60


@pytest.mark.parametrize("moment", ["yesterday", "2026-11-21T23:00:00", "2026-99-99T00:00:00Z", "0"])
def test_a_moment_that_is_none_measures_nothing(moment: str) -> None:
    assert seconds_a_batch([record(batch("done", moment))]) is None
    assert figures_of(replace(record(), updated=moment))["seconds"] is None


def test_a_clock_that_was_put_back_measures_nothing() -> None:
    assert seconds_a_batch([record(batch("done", "2026-11-21T23:00:00Z"))]) == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "10 s"), (44, "40 s"), (89, "90 s"), (90, "2 min"), (3600, "60 min"), (7200, "2.0 h")]
)
def test_a_prediction_is_no_more_exact_than_it_is(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
