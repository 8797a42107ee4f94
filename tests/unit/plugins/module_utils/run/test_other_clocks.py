"""Another controller, whose clock is ahead of this one's, has measured the health of the cluster, or ended a batch."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import (
    now_text,
    timestamp_of,
    timestamp_text,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run import canary_soak, health_measure
from ansible_collections.stateful.upgrade.plugins.module_utils.run.health_figures import (
    MEASURED,
    HealthFigure,
    HealthFigures,
    HealthLook,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.health_record import (
    ProcessCounts,
    first_look,
    with_before,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.kept_in import store_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

FIGURE = HealthFigure("refused", "refused searches", "See the pool.", rate=True, ratio=2.0, sample=200)
NOW = 1_800_000_000.0
HOUR = timedelta(hours=1)


class WallClock:
    """The clock of this controller, which also gives the time of day."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    made = WallClock()
    monkeypatch.setattr("time.time", made.now)
    return made


def ahead() -> str:
    return timestamp_text(timestamp_of(now_text()) + HOUR)


def task_of(contract: Any, folder: Path, record: Record, clock: WallClock, **options: Any) -> Task:
    """A task whose run has this record."""
    lock = {"run": "night", "name": "cluster", "kept_in": "kubernetes", "namespace": None, "lease_duration": 60}
    given = {"record_kept_in": "file", "record_path": str(folder), "lock": lock, **options}
    task = Task(contract.arguments({}, **given), clock=clock)
    store_of(task.params).write("cluster", record_text(record, 900_000), "", None)
    return task


def figures_of(folder: Path) -> Any:
    kept = store_of({"record_kept_in": "file", "namespace": None, "record_path": str(folder)}).read("cluster")
    assert kept is not None
    return kept.record().figures


def measured(task: Task, clock: WallClock) -> Outcome:
    """The outcome of a measurement of one process that serves ten searches a second, and refuses none."""

    def look(_task: Task) -> HealthLook:
        served = int(clock.now() - NOW + 10_000) * 10
        return HealthLook(processes={"data-0": ProcessCounts(1.0, clock.now(), {"refused": (0, served)})})

    return health_measure.measure(task, {"lamps": HealthFigures((FIGURE,), look)})


def test_the_health_before_the_first_batch_is_measured_again_from_now(clock: WallClock, tmp_path: Path) -> None:
    begun = first_look(ahead(), ["refused"], {"data-0": ProcessCounts(1.0, 5.0, {"refused": (0, 7)})})
    record = record_of(batch_of("data-0"), system="lamps", figures=begun)
    task = task_of(health_measure.CONTRACT, tmp_path, record, clock, step=True)
    assert measured(task, clock).verdict.passed
    assert MEASURED <= clock.now() - NOW < 2 * MEASURED
    assert figures_of(tmp_path).measured == now_text()


def test_the_health_after_a_batch_is_measured_again_from_now(clock: WallClock, tmp_path: Path) -> None:
    before = first_look(ahead(), ["refused"], {"data-0": ProcessCounts(1.0, 5.0, {"refused": (0, 7)})})
    known = with_before(before, before, {}, {"refused": 0.0})
    done = batch_of("data-0", state="done", started=now_text(), ended=now_text())
    task = task_of(health_measure.CONTRACT, tmp_path, record_of(done, system="lamps", figures=known), clock)
    outcome = measured(task, clock)
    assert outcome.verdict.passed
    assert [each["outcome"] for each in outcome.more["figures"]] == ["no worse"]
    assert MEASURED <= clock.now() - NOW < 2 * MEASURED
    assert figures_of(tmp_path).since == now_text()


def test_a_single_pass_counts_from_now_and_the_next_one_continues(clock: WallClock, tmp_path: Path) -> None:
    begun = replace(first_look(ahead(), ["refused"], {}))
    record = record_of(batch_of("data-0"), system="lamps", figures=begun)
    task = task_of(health_measure.CONTRACT, tmp_path, record, clock, step=True, wait=False)
    assert [each.code for each in measured(task, clock).verdict.deciding()] == ["health_measuring"]
    clock.time += MEASURED
    assert measured(task, clock).verdict.passed


def test_a_soak_takes_no_longer_than_its_time(clock: WallClock, tmp_path: Path) -> None:
    done = batch_of("data-0", state="done", started=now_text(), ended=ahead())
    options = {"soak_time": 300, "wait_timeout": 300 + 1800}
    task = task_of(canary_soak.CONTRACT, tmp_path, record_of(done), clock, **options)
    outcome = canary_soak.run(task)
    assert outcome.verdict.passed, outcome.verdict
    assert 300 <= clock.now() - NOW < 400
