"""A record that someone removes while the run is at work, or that is of another run."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    BATCH,
    PATH,
    PLAN,
    Records,
    codes,
)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Records:
    return Records(monkeypatch)


KNOWN = {
    **PLAN,
    "system": "opensearch",
    "skipped": ["disk"],
    "consents": {"allow_red": "*"},
    "started": "2026-01-01T00:00:00Z",
}


def test_a_record_that_is_removed_in_mid_run_is_started_again_with_what_the_run_knows(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.objects.clear()
    lost = records.task(**BATCH, batch_state="upgrading")
    assert (codes(lost), lost["record"]) == (["record_missing"], {})
    took = [{"name": "a", "total_seconds": 30.5}]
    again = records.task(**BATCH, batch_state="done", results=took, plan=KNOWN)
    assert (codes(again), again["changed"], again["record"]["batches"][0]["took"]) == (
        ["record_started_again"],
        True,
        took,
    )
    assert records.lines[-1].startswith("The record of the upgrade was removed while the run was at work")
    found = again["record"]
    assert found["consents"] == KNOWN["consents"]
    assert (found["started"], found["system"], found["skipped"]) == ("2026-01-01T00:00:00Z", "opensearch", ["disk"])
    assert codes(records.task("ended", event="completed", plan=KNOWN)) == []
    (shown,) = records.task("read")["records"]
    assert (shown["phase"], shown["deployed_version"]) == ("Completed", "3.8.0")
    assert shown["history"][0]["message"] == "was started again: it was removed while run night was at work"


def test_a_record_that_is_removed_before_the_end_has_the_batches_that_are_done(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.objects.clear()
    done = [{"name": BATCH["batch"], "started": "2026-01-01T00:00:05Z", "ended": "2026-01-01T00:00:09Z"}]
    ended = records.task("ended", event="completed", plan={**KNOWN, "done": done})
    assert codes(ended) == ["record_started_again"]
    (batch,) = ended["record"]["batches"]
    assert (batch["state"], batch["run"], batch["started"], batch["ended"]) == (
        "done",
        "night",
        *[*done[0].values()][1:],
    )
    assert [pool["status"] for pool in ended["record"]["pools"]] == ["upgraded"]
    assert (ended["record"]["phase"], ended["record"]["deployed_version"]) == ("Completed", "3.8.0")


def test_a_pause_outlives_the_record_in_which_it_was(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("paused", lock=None, summary="a storm")
    (reason,) = records.task(**BATCH, batch_state="upgrading")["verdict"]["reasons"]
    records.api.objects.clear()
    records.task("ended", event="paused", summary=reason["message"], codes=[reason["code"]], plan=KNOWN)
    records.task("begun", plan=PLAN)
    (still,) = records.task(**BATCH, batch_state="upgrading")["verdict"]["reasons"]
    assert still["code"] == "paused_on_request"
    assert "a storm" in still["message"]
    records.task("resumed", lock=None)
    assert codes(records.task(**BATCH, batch_state="upgrading")) == []


def test_a_restart_that_had_nothing_to_do_leaves_the_record_of_an_unfinished_upgrade_as_it_is(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task(**BATCH, batch_state="failed", summary="It is red.")
    before = records.api.objects[PATH]["data"]
    restart = {**PLAN, "deed": "restart", "batches": []}
    for state in ("begun", "ended"):
        assert not records.task(state, plan=restart, event="completed")["changed"]
    assert records.api.objects[PATH]["data"] == before
    assert records.task("ended", event="completed", plan={**PLAN, "batches": []})["record"]["phase"] == "Completed"
