"""Transitions between phases that no upgrade in memory comes to, by the modules that people and runs use."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_store import KEY
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    PATH,
    PLAN,
    Json,
    Records,
)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Records:
    return Records(monkeypatch)


def phase(records: Records) -> str:
    """The phase that a person reads."""
    (record,) = records.task("read")["records"]
    return str(record["phase"])


def of_before(records: Records) -> None:
    """A record that an earlier version has written: its run has stopped, and it says that the upgrade has failed."""
    records.task("begun", plan=PLAN)
    kept: Json = records.api.objects[PATH]
    kept["data"][KEY] = json.dumps({**json.loads(kept["data"][KEY]), "phase": "stopped", "batches": []})
    assert phase(records) == "Failed"


def test_a_paused_upgrade_is_aborted(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("ended", event="paused", summary="The pass waits.")
    assert phase(records) == "Paused"
    records.task("ended", event="aborted", summary="Aborted on request.")
    assert phase(records) == "Aborted"


def test_an_upgrade_that_failed_in_an_earlier_version_goes_on(records: Records) -> None:
    of_before(records)
    assert records.task("begun", plan=PLAN)["record"]["phase"] == "Upgrading"


def test_an_upgrade_that_failed_in_an_earlier_version_is_aborted(records: Records) -> None:
    of_before(records)
    records.task("ended", event="aborted", summary="Aborted on request.")
    assert phase(records) == "Aborted"


def test_an_upgrade_whose_members_were_all_upgraded_by_others_is_completed(records: Records) -> None:
    records.task("begun", plan=PLAN)
    done = {**PLAN, "before": {"a": "3.8.0"}, "batches": []}
    assert records.task("begun", plan=done)["record"]["phase"] == "Pending"
    records.task("ended", event="completed", summary="Upgraded.")
    assert phase(records) == "Completed"
