"""The events that a record keeps, and the figures by which two upgrades are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import figures_of, with_last
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import (
    COUNTED,
    KEPT,
    ONCE,
    EventKind,
    RecordedEvent,
    added,
    changes,
    happened,
    moves,
    of_kind,
    stays,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of


def act(action: str, target: str, at: str = AT) -> dict[str, Any]:
    return {"action": action, "target": target, "at": at, "value": "none"}


def record(phase: Phase = Phase.COMPLETED, **more: Any) -> Record:
    took = ({"name": "a", "action": "replaced", "total_seconds": 30.0},)
    batch = batch_of("a", state="done", run="night", started=AT, ended=AT, took=took)
    return record_of(batch, phase=phase, updated="2026-11-21T02:10:00Z", **more)


def seen(*events: RecordedEvent) -> list[tuple[str, str, int]]:
    return [(each.about, each.message, each.times) for each in events]


def test_changes_are_counted_by_kind_and_target_and_other_acts_are_left_out() -> None:
    acts = [act("set", "a"), act("delete_pod", "pod-0"), act("restored", "a"), act("set", "a", "later")]
    first = added((), changes(acts, "night"))
    assert first == (
        RecordedEvent(AT, "night", "", "set", kind="changed", about="a", times=2, last="later"),
        RecordedEvent(AT, "night", "", "restored", kind="put_back", about="a"),
    )
    assert added(first, changes([act("set", "a", "last")], "day"))[0].times == 3
    assert added(first, ()) == first


def test_the_parts_of_a_pool_are_counted_one_by_one_since_one_of_them_stays() -> None:
    both = {**act("patch_stateful_set", "data"), "set": ["image", "strategy", "undo"]}
    mark = {**act("patch_stateful_set", "data"), "set": ["undo"]}
    back = {**act("restored", "data"), "set": ["strategy", "undo"]}
    found = added((), changes([both, act("lower_partition", "warm"), mark, back], "night"))
    assert seen(*found) == [
        ("image of pool data", "patch_stateful_set", 1),
        ("update strategy of pool data", "patch_stateful_set", 1),
        ("update strategy of pool warm", "lower_partition", 1),
        ("update strategy of pool data", "restored", 1),
    ]
    assert [stays(each.about) for each in found] == [True, False, False, False]


def test_of_endless_changes_the_first_are_kept_and_of_everything_else_the_newest() -> None:
    notices = [happened(EventKind.NOTICED, AT, about=f"started-{number}") for number in range(2 * KEPT)]
    transitions = [RecordedEvent(AT, "night", "Upgrading", f"said {number}") for number in range(2 * KEPT)]
    many = added((), [*changes([act("set", f"a-{n}") for n in range(2 * KEPT)], "night"), *notices, *transitions])
    assert [each.about for each in of_kind(many, EventKind.CHANGED)] == [f"a-{number}" for number in range(KEPT)]
    assert of_kind(many, EventKind.NOTICED) == tuple(notices[KEPT:])
    assert [each for each in many if each.phase] == transitions[KEPT:]
    assert added(many, changes([act("set", "a-0")], "day"))[0].times == 2


def test_a_member_went_at_its_act_and_came_after_the_seconds_that_were_measured() -> None:
    acts = [act("delete_pod", "a"), act("delete_pod", "b"), act("delete_pod", "pull-1"), act("set", "a")]
    took: list[dict[str, Any]] = [
        {"name": "a", "total_seconds": 30.5},
        {"name": "b", "total_seconds": None},
        {"name": "c", "total_seconds": 4},
        {"name": "other", "total_seconds": 4},
    ]
    found = [(each.kind, each.about, each.at) for each in moves(acts, took, {"a", "b", "c"}, "night", "end")]
    assert found == [
        ("went", "a", AT),
        ("went", "b", AT),
        ("came", "a", "2026-11-21T02:00:30.500Z"),
        ("came", "c", "end"),
    ]


@pytest.mark.parametrize("kind", EventKind)
def test_what_people_have_said_once_is_noted_once_and_a_pause_each_time(kind: EventKind) -> None:
    once = happened(kind, AT, "night", "it", "said", "ops")
    later = replace(once, at="later", run="day")
    assert len(added((once,), [later])) == (1 if kind in (*ONCE, *COUNTED) else 2)
    assert len(added((once,), [replace(later, by="dev")])) == 2


def test_the_next_upgrade_has_the_figures_of_the_one_that_was_completed() -> None:
    figures = figures_of(record())
    assert (figures["seconds"], figures["batches"], figures["members"], figures["usual_seconds"]) == (600, 1, 1, 30.0)
    fresh = record(Phase.PENDING)
    found = with_last(fresh, record())
    assert found is not None
    assert found.last == (figures,)
    goes_on = with_last(fresh, record(Phase.UPGRADING, last=(figures,)))
    assert goes_on is not None
    assert goes_on.last == (figures,)
    assert with_last(fresh, None) == fresh
    assert with_last(None, record()) is None
