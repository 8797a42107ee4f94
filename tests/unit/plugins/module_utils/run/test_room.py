"""A plan says if its record has no room for all of its batches, and refuses points that would not be counted."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import MOST
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.room import judge_room
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.approvals import Point
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of


def planned(count: int, *points: Point) -> Record:
    names = [f"search-data-{number:05d}" for number in range(count)]
    batches = [batch_of(name, name=f"batch-{number:05d}.{name}") for number, name in enumerate(names)]
    return replace(record_of(*batches), points=points)


def test_a_plan_that_fits_is_passed_over() -> None:
    assert judge_room(planned(8_000, Point("last", 7_999)), MOST).reasons == ()


def test_points_that_are_counted_pass_and_others_are_refused() -> None:
    found = judge_room(planned(12_000, Point("first", 1), Point("last", 11_999)), MOST)
    assert [each.code for each in found.reasons] == ["record_too_short", "approval_not_counted"]
    assert " of its 12,000 batches." in found.reasons[0].message
    assert "approval last (after 11999 batches)" in found.reasons[1].message
