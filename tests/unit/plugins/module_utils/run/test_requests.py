"""The requests of owners in a record: of several, the one that was first seen last counts."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import RecordedEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.requests import (
    judge_standing,
    judge_still_standing,
    newly_requested,
    replaced_by,
    requests_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import Requested

FIRST, SECOND = Requested("a.yml", "1", "o"), Requested("b.yml", "1", "o")
CHANGED = Requested("a.yml", "2", "o")
FOREIGN = Requested("c.yml", "1", "another")


def events(*requests: Requested) -> tuple[RecordedEvent, ...]:
    found: tuple[RecordedEvent, ...] = ()
    for each in requests:
        found += newly_requested(found, each, "t", "w")
    return found


@pytest.mark.parametrize(
    ("seen", "request_", "other"),
    [
        ((FIRST,), FIRST, None),
        ((FIRST, SECOND), FIRST, SECOND),
        ((FIRST, SECOND), SECOND, None),
        ((FIRST, SECOND, FIRST), FIRST, SECOND),
        ((FIRST, FOREIGN), FIRST, None),
        ((FIRST, CHANGED), FIRST, None),
        ((FIRST, SECOND, CHANGED), SECOND, CHANGED),
        ((FIRST, SECOND, CHANGED), CHANGED, None),
        ((FIRST, SECOND, CHANGED, FIRST), FIRST, None),
        ((SECOND,), FIRST, None),
        ((FIRST, SECOND), Requested("a.yml", "1"), SECOND),
        ((), None, None),
    ],
    ids=[
        "alone",
        "replaced",
        "the last",
        "never comes back",
        "another owner",
        "changed at its place",
        "changed, it replaces",
        "changed, it counts",
        "changed back, it counts",
        "not seen yet",
        "known by place and digest",
        "no request",
    ],
)
def test_the_last_of_an_owner_counts(
    seen: tuple[Requested, ...], request_: Requested | None, other: Requested | None
) -> None:
    found = events(*seen)
    assert replaced_by(found, request_) == other
    codes = [[each.code for each in judge(found, request_).reasons] for judge in (judge_standing, judge_still_standing)]
    assert codes == ([[], []] if other is None else [["request_replaced"], ["stopped_by_request"]])


def test_each_is_noted_once_and_none_without_an_owner() -> None:
    assert requests_in(events(FIRST, FIRST, SECOND, FIRST)) == (FIRST, SECOND)
    assert requests_in(events(FIRST))[0].owner == "o"
    assert events(Requested("d.yml", "1")) == ()
