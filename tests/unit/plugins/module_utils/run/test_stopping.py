"""Asking a run to stop: it is asked once, waited for, and found dead where it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import (
    DEAD,
    HERE,
    OTHER,
    Runs,
    nothing,
)


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_a_run_is_asked_once_and_waited_for() -> None:
    runs = Runs(replace(OTHER, **HERE, doing="data-2 is starting."))
    seen: list[str] = []

    def note() -> None:
        assert runs.store.lock is not None
        seen.append(runs.store.lock.stop)
        runs.renewed()

    runs.clock.on_tick = [note] * 5 + [lambda: runs.store.set(None)]
    result = runs.task("stopped")
    assert (result["changed"], codes(result), runs.clock.now()) == (True, [], 6)
    assert [each["action"] for each in result["actions"]] == ["ask_to_stop"]
    assert len(set(seen)) == 1
    assert seen[0].startswith("by ")
    (said,) = runs.said
    assert "is asked to stop and finishes what it has begun (data-2 is starting)" in said


def test_where_nobody_is_at_work_nobody_is_asked() -> None:
    runs = Runs()
    result = runs.task("stopped")
    assert (result["changed"], result["actions"], codes(result)) == (False, [], [])


def test_a_dead_run_is_not_asked() -> None:
    runs = Runs(replace(OTHER, place=ancestry.place(), processes=(DEAD, DEAD)))
    result = runs.task("stopped")
    assert (result["changed"], codes(result), runs.held_by()) == (False, ["run_is_dead"], "day")
    assert "processes on this machine are gone" in result["verdict"]["reasons"][0]["message"]


@pytest.mark.parametrize("renewals", [0, 1, 40])
def test_a_run_elsewhere_that_dies_while_it_stops_is_found_dead(renewals: int) -> None:
    """It is watched anew from each of its renewals on."""
    runs = Runs(OTHER)
    runs.clock.on_tick = [runs.renewed] * renewals
    result = runs.task("stopped")
    assert (result["changed"], codes(result)) == (True, ["run_is_dead"])
    dead = renewals + OTHER.seconds
    assert dead <= runs.clock.now() <= dead * 1.02, "the pauses grow to a fiftieth of the wait"


def test_a_run_that_renews_in_the_same_moment_is_asked_again() -> None:
    runs = Runs(replace(OTHER, **HERE))
    runs.store.between = [runs.renewed, nothing]
    runs.clock.on_tick = [nothing, lambda: runs.store.set(None)]
    result = runs.task("stopped")
    assert (result["changed"], runs.clock.now()) == (True, 2)
    assert [each["action"] for each in result["actions"]] == ["ask_to_stop"]
    assert "asking again" in runs.said[0]


def test_a_run_that_gives_the_lock_back_in_the_same_moment_has_stopped() -> None:
    runs = Runs(replace(OTHER, **HERE))
    runs.store.between = [lambda: runs.store.set(None)]
    result = runs.task("stopped")
    assert (result["changed"], codes(result), result["actions"]) == (False, [], [])


def test_a_run_that_does_not_stop_in_time_is_told() -> None:
    runs = Runs(replace(OTHER, **HERE))
    result = runs.task("stopped", wait_timeout=5)
    assert (result["failed"], codes(result)) == (True, ["run_is_stopping", "timed_out"])
    assert runs.store.lock is not None
    assert runs.store.lock.stop


def test_one_that_was_asked_already_is_not_asked_again() -> None:
    runs = Runs(replace(OTHER, **HERE, stop="by ops@bastion"))
    result = runs.task("stopped", wait=False)
    assert (result["verdict"]["state"], result["changed"]) == ("waiting", False)
    assert runs.store.asked == ["read"]
    planned = runs.task("stopped", check_mode=True)
    assert (planned["verdict"]["state"], planned["changed"]) == ("passed", False)


def test_giving_back_while_somebody_asks_to_stop() -> None:
    runs = Runs()
    taken = runs.task("held")
    runs.store.between = [lambda: runs.renewed(stop="by dev@laptop")]
    result = runs.task("released", lock=taken["lock"])
    assert (result["changed"], runs.held_by()) == (True, None)
    assert runs.said[-1] == "waiting: Another run is writing the lock."


def test_what_another_has_taken_is_not_given_back() -> None:
    runs = Runs()
    taken = runs.task("held")
    runs.store.set(OTHER)
    result = runs.task("released", lock=taken["lock"])
    assert (result["changed"], codes(result), runs.held_by()) == (False, ["lock_not_ours"], "day")
    assert "Run day of dev@laptop" in result["verdict"]["reasons"][0]["message"]
