"""The counts before and after an upgrade, and what a report says about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable, read_as
from ansible_collections.stateful.upgrade.plugins.module_utils.run.counts import (
    MOST_PARTS,
    Counts,
    Row,
    compared,
    counted_after,
    counted_before,
    without_parts,
)

WORDS = {"things": "documents", "parts": "tables"}
BEFORE, AFTER = "2026-11-23T02:00:00Z", "2026-11-23T02:10:00Z"
DENIED = {**WORDS, "missing": "The user may not count."}


def table(each: Mapping[str, int]) -> dict[str, Any]:
    return {**WORDS, "each": each}


def both(before: Mapping[str, int], after: Mapping[str, int]) -> Counts:
    counts = counted_after(counted_before(None, table(before), BEFORE), table(after), AFTER)
    assert counts is not None
    assert read_as(Counts, json.loads(json.dumps(asdict(counts)))) == counts
    return counts


def said(counts: Counts | None) -> tuple[str, ...]:
    found = compared(counts)
    assert found is not None
    return found.said


def test_parts_with_fewer_things_come_first_and_are_called_so() -> None:
    counts = both({"a": 5, "b": 7, "c": 9, "gone": 0}, {"a": 5, "b": 6, "c": 10, "new": 1})
    found = compared(counts)
    assert found is not None
    assert found.rows == (
        Row("b", 7, 6, "fewer than before"),
        Row("gone", 0, None, "gone or closed"),
        Row("a", 5, 5, ""),
        Row("c", 9, 10, ""),
        Row("new", None, 1, ""),
    )
    assert found.said == (
        f"Before the upgrade 4 tables held 21 documents ({BEFORE}).",
        f"After the upgrade 4 tables held 22 documents ({AFTER}).",
        "2 of these tables have fewer documents than before. Deletions by users look the same, so this is a figure "
        "and no verdict.",
    )


def test_nothing_less_is_said_too() -> None:
    assert said(both({"a": 5}, {"a": 5}))[-1] == "None of these tables has fewer documents than before."


def test_of_many_parts_only_those_with_fewer_things_are_kept() -> None:
    many = {f"t{number:05d}": number for number in range(10_000)}
    fewer = {"t00500": 400, "t00300": 299}
    counts = both(many, {**many, **fewer})
    assert counts.before.each == {"t00300": 300, "t00500": 500}
    assert (counts.before.parts, counts.before.things, counts.fewer) == (10_000, sum(many.values()), 2)
    found = compared(counts)
    assert found is not None
    assert [row.note for row in found.rows] == ["fewer than before"] * 2
    assert found.said[2].startswith("2 of these tables have fewer documents than before.")


def test_more_losses_than_can_be_kept_are_counted_and_the_largest_kept() -> None:
    many = {f"t{number:05d}": number for number in range(1, 1001)}
    counts = both(many, dict.fromkeys(many, 0))
    assert (len(counts.before.each), counts.fewer, min(counts.before.each.values())) == (MOST_PARTS, 1000, 801)
    assert said(counts)[2].startswith("1,000 of these tables have fewer documents")


def test_where_only_the_sums_were_kept_nothing_is_said_about_single_parts() -> None:
    sums = without_parts(counted_before(None, table({"a": 5, "b": 7}), BEFORE))
    counts = counted_after(sums, table({"a": 1, "b": 7}), AFTER)
    assert counts is not None
    assert counts.fewer is None
    assert said(counts)[2] == "The single counts were too many to be kept, so only the sums can be compared."
    assert said(without_parts(both({"a": 5}, {"a": 1})))[2].startswith("1 of these tables has fewer documents")


def test_a_count_that_cannot_be_had_is_said_to_be_missing() -> None:
    before = counted_before(None, DENIED, BEFORE)
    assert said(before) == (
        "The documents were not counted before the upgrade. The user may not count.",
        "The documents are counted again when the upgrade is completed.",
    )
    found = compared(counted_after(before, table({"a": 5}), AFTER))
    assert found is not None
    assert found.said[1:] == (f"After the upgrade 1 tables held 5 documents ({AFTER}).",)
    assert found.rows == (Row("a", None, 5, ""),)
    lost = counted_after(counted_before(None, table({"a": 5}), BEFORE), DENIED, AFTER)
    assert said(lost)[1:] == ("The documents were not counted after the upgrade. The user may not count.",)
    assert lost is not None
    assert lost.fewer is None


def test_the_first_count_of_an_upgrade_stays_and_one_that_failed_is_made_up_for() -> None:
    first = counted_before(None, table({"a": 5}), BEFORE)
    assert counted_before(first, table({"a": 4}), AFTER) == first
    later = counted_before(counted_before(None, DENIED, BEFORE), table({"a": 4}), AFTER)
    assert later is not None
    assert (later.before.at, later.before.things) == (AFTER, 4)


def test_a_system_that_counts_nothing_has_no_counts() -> None:
    assert counted_before(None, {}, BEFORE) is None
    assert counted_after(None, {}, AFTER) is None
    assert (compared(None), without_parts(None)) == (None, None)


@pytest.mark.parametrize(
    "strange",
    [
        {"things": 7},
        {**WORDS, "before": {}},
        {**WORDS, "before": {"parts": 1, "things": -1}},
        {**WORDS, "before": {"parts": 1, "things": 1, "each": {"a": "1"}}},
        {**WORDS, "before": {"parts": 0, "things": 0}, "fewer": True},
    ],
)
def test_counts_that_somebody_has_spoilt_are_named(strange: Any) -> None:
    with pytest.raises(Unreadable):
        read_as(Counts, strange)
