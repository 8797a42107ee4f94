"""What was put back after a killed run is in its record, and status no longer offers to put it back."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.status_text import status_lines
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    BATCH,
    PLAN,
    Records,
)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Records:
    return Records(monkeypatch)


def status_of(records: Records) -> str:
    """The lines of the playbook status."""
    read = records.task("read", lock=None)
    return "\n".join(status_lines(read["records"], [], "here", free=True))


def test_status_offers_settle_until_everything_is_put_back(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task(**BATCH, batch_state="upgrading")
    assert "Run the playbook again to continue, or settle to put settings back." in status_of(records)
    records.task("settled", acts=[], summary="The setting a.b could not be put back.")
    assert "or settle to put settings back." in status_of(records)
    records.task("settled", acts=[])
    assert "Run the playbook again to continue: everything is put back." in status_of(records)
    assert "settle" not in status_of(records)
    records.task("begun", plan=PLAN)
    assert "or settle to put settings back." in status_of(records)


def test_an_upgrade_that_has_ended_needs_no_note_that_all_is_put_back(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("ended", event="completed")
    assert not records.task("settled", acts=[])["changed"]
