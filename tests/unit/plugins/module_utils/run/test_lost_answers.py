"""A record that was written although the answer was lost: the note that is repeated counts once."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_store import ConfigMaps
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import out_of_reach
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import PLAN, Records

FAILED = {"task": "Take a snapshot", "message": "The disk is full.", "codes": []}
TRIED = {
    "waits": "",
    "reasons": [],
    "without": "",
    "since": 0,
    "failure": FAILED,
    "timeout": 10**10,
    "late_after": 0,
    "retries": 1,
    "retries_unreachable": 0,
    "before": {},
}


def test_a_failure_whose_note_was_not_answered_takes_one_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    records, written, lost = Records(monkeypatch), ConfigMaps.write, [out_of_reach()]
    records.task("begun", plan=PLAN)

    def write(self: ConfigMaps, *given: Any) -> None:
        written(self, *given)
        if lost:
            raise lost.pop()

    monkeypatch.setattr(ConfigMaps, "write", write)
    step = records.task("step", step="snapshot", tried=TRIED, wait=False)["step"]
    assert (step["failed"], step["next"], step["failure"]) == (1, "waiting", {})
