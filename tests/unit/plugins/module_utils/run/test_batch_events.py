"""The events of batches in the list of all events."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import (
    EventKind,
    RecordedEvent,
    happened,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    BATCH as TASK,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    PLAN,
    Json,
    Records,
)


def at(second: str) -> str:
    return f"2026-11-21T02:00:{second}Z"


def told(record: Record) -> list[tuple[str, str, str, str, str]]:
    return [(each.at[17:], each.kind, each.about, each.message, each.run) for each in record.all_events]


BATCH = batch_of(
    "a",
    state="done",
    run="day",
    started=at("10"),
    ended=at("30"),
    health="green",
    health_away="yellow",
    went=at("12.345"),
    green_seconds=13.0,
)


def test_a_batch_is_its_start_its_health_its_end_and_the_time_at_which_all_was_whole_again() -> None:
    went = happened(EventKind.WENT, at("12.345"), "day", "a")
    agreed = RecordedEvent(at("05"), "day", "Pending", "begins", kind="agreed")
    completed = RecordedEvent(at("50"), "day", "Completed", "", kind="completed")
    record = record_of(BATCH, events=(agreed, went, completed))
    assert told(record) == [
        ("05Z", "agreed", "", "begins", "day"),
        ("10Z", "batch_started", "batch-a", "", "day"),
        ("12.345Z", "health_seen", "batch-a", "green", "day"),
        ("12.345Z", "went", "a", "", "day"),
        ("12.345Z", "health_seen", "batch-a", "yellow", "day"),
        ("30Z", "batch_ended", "batch-a", "done", "day"),
        ("43Z", "whole_again", "batch-a", "", "day"),
        ("50Z", "completed", "", "", "day"),
    ]
    assert record.events == (agreed, went, completed), "the events of a batch are kept once, as its fields"
    assert [each["kind"] for each in record.as_result()["all_events"]] == [each.kind for each in record.all_events]


def test_an_earlier_try_has_the_name_that_the_batch_has_now_and_its_own_outcome() -> None:
    tried = batch_of("a", name="batch-07", state="upgrading", run="night", started=at("00"), ended=at("09"))
    failed = batch_of("b", state="failed", run="night", started=at("01"), ended=at("02"))
    waiting = batch_of("c", state="waiting", run="day", started=at("40"))
    tries = record_of(batch_of("a", tries=(tried,)), failed, waiting, batch_of("d"))
    assert told(tries) == [
        ("00Z", "batch_started", "batch-a", "", "night"),
        ("01Z", "batch_started", "batch-b", "", "night"),
        ("02Z", "batch_ended", "batch-b", "failed", "night"),
        ("09Z", "batch_ended", "batch-a", "interrupted", "night"),
        ("40Z", "batch_started", "batch-c", "", "day"),
    ]


def test_health_without_the_time_at_which_a_member_went_is_that_of_the_start_and_of_the_end() -> None:
    hosts = batch_of("a", state="done", run="day", started=AT, ended=at("30"), health="green", health_away="red")
    assert [(at, message) for at, kind, _about, message, _run in told(record_of(hosts)) if kind == "health_seen"] == [
        ("00Z", "green"),
        ("30Z", "red"),
    ]


def test_a_time_that_cannot_be_is_left_out() -> None:
    odd = batch_of("a", started="", ended=at("30"), health="green", green_seconds=1e300)
    assert told(record_of(odd)) == [("30Z", "batch_ended", "batch-a", "pending", "")]


def test_a_batch_keeps_the_time_at_which_its_first_member_went_and_does_not_return_every_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = Records(monkeypatch)
    records.task("begun", plan=PLAN)
    records.task(**TASK, batch_state="upgrading")
    acts = [{"action": "delete_pod", "target": "a", "at": "2026-11-21T02:00:04.000Z"}]
    found: Json = {"acts": acts, "results": [{"name": "a", "total_seconds": 30.5}], "health_away": "yellow"}
    done = records.task(**TASK, batch_state="done", **found)["record"]
    assert done["batches"][0]["went"] == acts[0]["at"]
    assert not {each["kind"] for each in done["events"]} & {"went", "came"}
    (shown,) = records.task("read")["records"]
    away = [
        (each["about"], each["kind"], each["message"]) for each in shown["all_events"] if each["at"] == acts[0]["at"]
    ]
    assert away == [("a", "went", ""), ("batch-01.a", "health_seen", "yellow")]
