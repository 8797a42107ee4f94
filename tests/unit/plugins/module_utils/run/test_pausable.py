"""A gate that ends once a person has paused the upgrade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task, attempt
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.guarding import under_lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_files import Files
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.pausable import BETWEEN_READS
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import LockMemory, Passing

GREEN = 300.0
"""Seconds after which the cluster lets the batch go."""
RECORD = record_of(batch_of("data-0"))
HELD = RECORD.with_events(happened(EventKind.HELD, AT, message="a disk is replaced", by="ops"))


class Gate:
    """A gate that waits for the cluster, with the record in a folder."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.files, self.looks = Passing(), Files(folder), 0
        self.lock = LockMemory(Lock("night", "ops", AT, AT, 60, version="1"))
        self.write(RECORD)

    def write(self, record: Any) -> None:
        text = record if isinstance(record, str) else record_text(record, 900_000)
        self.files.write("cluster", text, "", self.files.read("cluster"))

    def wait(self, *, stoppable: bool = True, **lock: Any) -> Outcome:
        place = {"record": {"kept_in": "file", "path": str(self.files.folder)}, **lock}
        whole = {"run": "night", "name": "cluster", "namespace": None, **place}
        params = {"lock": whole, "kubernetes": {}, "wait": True, "wait_timeout": 1800, "wait_sleep": 1.0}

        def work(task: Task) -> Outcome:
            return Outcome(task.wait(self._look, self._judge, stoppable=stoppable)[1])

        return attempt(lambda task: work(under_lock(task, lambda _params: self.lock)), Task(params, clock=self.clock))

    def _look(self) -> float:
        self.looks += 1
        return self.clock.now()

    @staticmethod
    def _judge(now: float) -> Verdict:
        return Verdict((waiting("yellow", "It is yellow."),) if now < GREEN else ())


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def test_a_gate_ends_soon_after_a_person_has_paused_the_upgrade(gate: Gate) -> None:
    gate.clock.on_tick = [lambda: None] * 40 + [lambda: gate.write(HELD)]
    ended = gate.wait()
    assert [(each.code, each.state.value) for each in ended.verdict.reasons] == [("paused_on_request", "waiting")]
    assert "a disk is replaced" in ended.verdict.reasons[0].message
    assert gate.clock.now() < 60 + BETWEEN_READS
    assert "failed" not in ended.as_result(Task({}))


@pytest.mark.parametrize("without", [{"stoppable": False}, {"record": None}])
def test_no_other_wait_ends_in_a_pause(without: dict[str, Any], gate: Gate) -> None:
    gate.write(HELD)
    assert gate.wait(**without).verdict.passed
    assert gate.clock.now() >= GREEN


def test_a_record_that_cannot_be_read_or_is_gone_pauses_nothing(gate: Gate) -> None:
    gate.write(json.dumps({"batches": 3}))

    def remove() -> None:
        for each in gate.files.folder.iterdir():
            each.unlink()

    gate.clock.on_tick = [lambda: None] * 40 + [remove]
    assert gate.wait().verdict.passed
    assert gate.clock.now() >= GREEN


def test_the_record_is_read_every_ten_seconds_and_not_at_each_look(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = list[float]()
    read = Files.read

    def counted(files: Files, name: str) -> Any:
        reads.append(gate.clock.now())
        return read(files, name)

    monkeypatch.setattr(Files, "read", counted)
    assert gate.wait().verdict.passed
    assert reads[0] >= BETWEEN_READS
    assert len(reads) <= GREEN / BETWEEN_READS < gate.looks
