"""A record that would be too long for a ConfigMap loses details, the oldest first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.counts import counted_before, without_parts
from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import earlier_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord, PoolRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import KEPT, RecordedEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    Record,
    noted,
    planned_record,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import MOST
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.approvals import Point, judge_points
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of

PLAN: dict[str, Any] = {
    "cluster_uuid": "uuid",
    "target_version": "3.8.0",
    "digest": "p1",
    "deployed_version": "2.19.6",
    "before": {"last": "2.19.6"},
    "pools": [{"name": "data", "members": ["last"]}],
    "members": ["last"],
    "left": [],
}
CONFIG_MAP = 1024 * 1024
"""The most that the API server takes."""


def batch(number: int, message: str = "Shards are being recovered. ", waits: int = 4, **more: Any) -> BatchRecord:
    name = f"data-{number}"
    stages = dict.fromkeys(("deleted", "scheduled", "started", "joined", "ready"), 1.5)
    return batch_of(
        name,
        name=f"batch-{number:04d}",
        state="done",
        took=({"name": name, "action": "replaced", "total_seconds": 12.5, "stages": stages},),
        waited=tuple({"code": f"code{at}", "message": message * 20, "seconds": 9.5 - at} for at in range(waits)),
        **more,
    )


def record(*batches: BatchRecord, history: int = 1) -> Record:
    entries = tuple(RecordedEvent(f"at {number}", "r1", "Upgrading", "begins") for number in range(history))
    return record_of(*batches, started="s", updated="u", events=entries)


def test_what_fits_is_kept_as_it_is() -> None:
    whole = record(*(batch(number) for number in range(20)))
    assert parse_record(record_text(whole, MOST), "here") == whole


def test_the_earlier_tries_of_batches_get_shorter_with_them() -> None:
    tries = tuple(batch(number) for number in range(10))
    kept = parse_record(record_text(record(*(batch(number, tries=tries) for number in range(400))), MOST), "here")
    assert not kept.batches[0].tries
    assert len(kept.batches) == 400
    kept = parse_record(record_text(record(*(batch(number, tries=tries) for number in range(100))), MOST), "here")
    first = kept.batches[0].tries[0]
    assert (len(first.waited), len(first.waited[0]["message"])) == (1, 200)


@pytest.mark.parametrize("count", [558, 1000])
def test_any_number_of_members_fits_every_store(count: int) -> None:
    whole = record(*(batch(number) for number in range(count)))
    text = record_text(whole, MOST)
    assert len(text.encode()) <= MOST < CONFIG_MAP
    kept = parse_record(text, "here")
    assert [each.name for each in kept.batches] == [each.name for each in whole.batches], "how far it is stays"


def test_a_thousand_batches_of_one_member_keep_every_detail_since_the_text_is_not_indented() -> None:
    stages = ("stop", "schedule", "image", "start", "join", "total")
    took = {"action": "replaced", "uid": "0" * 36, **{f"{stage}_seconds": 12.3 for stage in stages}}
    waits = ({"code": "shards_recovering", "message": "3 shards of logs recover. " * 4, "seconds": 41.2},) * 2
    known = {"state": "done", "run": "20261121-020000-3f2a5b6c", "started": AT, "ended": AT, "went": AT}
    found = {"health": "green", "health_away": "yellow", "green_seconds": 13.0, "waited": waits}
    names = [f"search-data-{number}" for number in range(1000)]
    many = [batch_of(name, **known, **found, took=({"name": name, **took},)) for name in names]
    text = record_text(record(*many), MOST)
    assert (len(text) <= MOST, "\n" in text) == (True, False)
    assert parse_record(text, "here") == record(*many)
    assert "\n" in record_text(record(*many[:500]), MOST), "for people"


@pytest.mark.parametrize("count", [2_000, 3_400, 8_000])
def test_a_plan_of_thousands_of_batches_keeps_the_last_of_them(count: int) -> None:
    """A batch that its record does not have is counted by no point to approve."""
    names = [f"search-data-{number:04d}" for number in range(count)]
    planned = [batch_of(name, name=f"batch-{number:04d}.{name}") for number, name in enumerate(names)]
    whole = record(*planned)
    text = record_text(whole, MOST)
    assert len(text) <= MOST
    assert parse_record(text, "here") == whole


def test_the_oldest_details_go_first_and_the_longest_wait_stays() -> None:
    whole = record(*(batch(number) for number in range(558)))
    kept = parse_record(record_text(whole, MOST), "here")
    assert [len(each.waited) for each in (kept.batches[0], kept.batches[-1])] == [1, 4]
    assert kept.batches[0].waited[0]["seconds"] == 9.5
    assert kept.batches[-1] == whole.batches[-1]
    assert kept.batches[0].took[0]["total_seconds"] == 12.5


def test_the_counts_of_ten_thousand_parts_are_kept_and_give_way_to_the_batches_where_they_do_not_fit() -> None:
    def of(count: int, length: int) -> Record:
        each = {f"{number:06d}".rjust(length, "x"): number for number in range(count)}
        counts = counted_before(None, {"things": "documents", "parts": "tables", "each": each}, "then")
        return replace(record(*(batch(number) for number in range(50))), counts=counts)

    many, too_many = of(10_000, 30), of(10_000, 250)
    assert parse_record(record_text(many, MOST), "here").counts == many.counts
    text = record_text(too_many, MOST)
    kept = parse_record(text, "here")
    assert len(text.encode()) <= MOST
    assert kept.counts == without_parts(too_many.counts)
    assert kept.batches[-1].took[0]["total_seconds"] == 12.5


@pytest.mark.parametrize("message", ["x", "ł", '"\\', "\U0001f600"])
def test_whatever_was_waited_for_it_fits(message: str) -> None:
    whole = record(*(batch(number, message * 30, waits=30) for number in range(300)))
    assert len(record_text(whole, MOST).encode()) <= MOST


def test_how_far_each_pool_is_stays() -> None:
    batches = [batch(number) for number in range(1000)]
    pool = PoolRecord("data", "pending", tuple(name for each in batches for name in each.members))
    whole = replace(record(*batches), pools=(pool,), deployed_version="2.19.6")
    text = record_text(whole, MOST)
    kept = parse_record(text, "here")
    assert len(text) <= MOST
    assert (kept.pools, kept.deployed_version) == (whole.pools, "2.19.6")


def test_what_fits_in_no_other_way_loses_batches_and_history() -> None:
    whole = record(*(batch(number) for number in range(50)), history=100)
    text = record_text(whole, most=3_000)
    assert len(text) <= 3_000
    assert parse_record(text, "here").history == whole.history[-1:]


def test_a_record_that_was_shortened_can_be_shortened_again() -> None:
    text = record_text(record(*(batch(number) for number in range(558))), MOST)
    assert record_text(parse_record(text, "here"), MOST) == text


def test_batches_that_are_left_out_are_still_counted() -> None:
    """A point to approve after so many batches stops the upgrade, however large it is."""
    whole = record(*(batch(number) for number in range(40)), batch_of("last", name="batch-last"))
    kept = parse_record(record_text(whole, most=2_800), "here")
    assert (len(kept.batches) < 30, kept.batches[-1].name) == (True, "batch-last")
    assert (kept.batches_done, kept.batches_planned) == (40, 41)
    again = parse_record(record_text(replace(kept, who="x" * 1_000), most=2_800), "here")
    assert again.dropped > kept.dropped
    assert (again.batches_done, again.batches_planned) == (40, 41)
    point = Point("all", 40)
    assert not judge_points([point], kept.approvals, kept.batches_done).passed
    plan = {**PLAN, "batches": [{"name": "batch-01", "pools": ["data"], "members": ["last"], "cures": False}]}
    following = planned_record(kept, kept, plan, "r2", "ops", AT)
    assert (following.batches_done, following.batches_planned) == (40, 41)
    going = earlier_of([kept], "3.8.0", plan)
    assert going["done"] == 40


def test_batches_that_have_not_begun_are_left_out_last_and_from_the_end() -> None:
    planned = [replace(batch(number), state="pending", took=(), waited=()) for number in range(20)]
    kept = parse_record(record_text(record(batch_of("old", name="old", state="done"), *planned), most=2_000), "here")
    names = [each.name for each in kept.batches]
    assert (kept.dropped, names) == (1, [each.name for each in planned[: len(names)]])
    assert 0 < len(names) < 20


@pytest.mark.parametrize("letter", ["x", "\U0001f600"])
def test_however_much_its_runs_said_it_fits(letter: str) -> None:
    said = record(*(batch(number) for number in range(558)))
    for _run in range(KEPT):
        said = noted(said, UpgradeEvent.STOPPED, letter * 200_000, "at")
    text = record_text(said, MOST)
    assert len(text.encode()) <= MOST
    kept = parse_record(text, "here")
    assert kept.reason == said.reason
    assert [each.name for each in kept.batches] == [each.name for each in said.batches]
    assert kept.history[-1] == said.history[-1]
