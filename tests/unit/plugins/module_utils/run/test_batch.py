"""A batch that is under way, judged from the results of its tasks so far."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.batch import LONGEST, BatchSoFar, OfHosts

BATCH = {"name": "batch-01", "members": ["data-1", "data-0"]}
STARTING = {"state": "waiting", "code": "pod_starting", "message": "It starts."}
PAUSED = {"state": "waiting", "code": "paused_on_request", "message": "The upgrade has been paused."}
STUCK = {"state": "refused", "code": "image_not_pulled", "message": "It cannot be pulled."}
PASSED = {"verdict": {"state": "passed", "reasons": []}}


def said(state: str, *reasons: dict[str, str]) -> dict[str, Any]:
    return {"verdict": {"state": state, "reasons": list(reasons)}}


def batch(*results: tuple[str, dict[str, Any]], **facts: Any) -> BatchSoFar:
    return BatchSoFar(BATCH, results, **facts)


@pytest.mark.parametrize(
    ("name", "waits", "result", "held_up"),
    [
        ("roll_ready", False, said("waiting", STARTING), [STARTING]),
        # A run that waits is held up by a pause, an approval or a soak alone.
        ("roll_ready", True, said("waiting", STARTING), []),
        ("roll_begun", True, said("waiting", STARTING), [STARTING]),
        ("roll_before", True, said("waiting", PAUSED), [PAUSED]),
        ("roll_soaked", True, said("waiting", STARTING), [STARTING]),
        # The failure of a task that is refused is reported, whatever else it says.
        ("roll_ready", False, said("refused", STARTING, STUCK), []),
        ("roll_ready", False, {"failed": True, "msg": "no such module"}, []),
    ],
)
def test_what_holds_a_batch_up(name: str, waits: bool, result: dict[str, Any], held_up: list[Any]) -> None:
    assert batch((name, result), waits=waits).held_up() == held_up


def test_the_time_that_is_left_is_that_of_the_batch_or_of_the_run() -> None:
    begun = ("roll_begun", {"at": 1_000, **PASSED})
    assert batch(begun, now=1_010, timeout=100).seconds_left() == 90
    assert batch(begun, now=1_010, timeout=100, deadline=1_030).seconds_left() == 20
    assert batch(begun, now=2_000, timeout=100).seconds_left() == 1
    # A batch whose start was refused has taken no time.
    assert batch(now=5, timeout=LONGEST + 10).seconds_left() == LONGEST


def test_a_member_counts_as_the_task_that_has_touched_it_says() -> None:
    untouched = {"name": "data-0", "action": "untouched"}
    replaced = {"name": "data-1", "action": "replaced", "total_seconds": 8}
    followed = [{"name": "data-1", "action": "followed"}, {"name": "data-0", "action": "followed"}]
    seen = batch(
        ("roll_soaked", {"members": ["data-2"]}),
        ("roll_replaced", {"members": [replaced, untouched]}),
        ("roll_ready", {"members": followed}),
    )
    assert seen.members() == [replaced, followed[1]]


def test_members_on_hosts_are_back_once_the_gate_has_seen_them() -> None:
    begun = ("roll_begun", {"at": 10})
    assert batch(begun, now=15, hosts=OfHosts(["data-1"], {})).members() == []
    assert batch(begun, now=15, hosts=OfHosts(["data-1"], PASSED)).members() == [
        {"name": "data-1", "action": "restarted", "total_seconds": 5}
    ]
    kept = said("passed", {"state": "passed", "code": "batch_upgraded", "message": "Someone else has upgraded it."})
    assert [each["action"] for each in batch(("roll_before", kept), hosts=OfHosts([], {})).members()] == [
        "kept",
        "kept",
    ]


def test_the_record_has_waits_and_acts_once_and_what_the_gate_has_seen() -> None:
    act, wait = {"act": "deleted", "at": "now"}, {"code": "shards_not_started", "seconds": 3}
    gate = {"before": {"status": "yellow"}, "green_seconds": 0, "waited": [wait], **PASSED}
    later = {"before": {"status": "green"}, "green_seconds": 9, "waited": [wait], "actions": [act, act]}
    assert batch(("roll_begun", {"before": None}), ("roll_before", gate), ("roll_replaced", later)).record() == {
        "results": [],
        "waited": [wait],
        "acts": [act],
        "health": "yellow",
        "health_away": "",
        "green_seconds": 0,
    }
    away = {"health_away": "red", **PASSED}
    assert (
        batch(("roll_before", gate), ("roll_replaced", away), ("roll_ready", PASSED)).record()["health_away"] == "red"
    )
