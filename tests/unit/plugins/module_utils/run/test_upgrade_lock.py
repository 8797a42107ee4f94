"""One run at a time: taken, watched, taken over, asked to stop, given back - on a lock that others write too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import now_text
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import cluster
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.held_lock import who
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Life, name_for
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock_watch import holder_of, life_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import (
    DEAD,
    DEFAULTS,
    HERE,
    OTHER,
    Runs,
    nothing,
    out_of_reach,
)
from hypothesis import given
from hypothesis import strategies as st

Json = dict[str, Any]


def codes(result: Mapping[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


@pytest.mark.parametrize(
    ("renewed", "overdue"),
    [("2026-01-01T00:00:00.5Z", True), ("now", False), ("", False), ("2026", False)],
)
def test_a_lock_that_was_not_renewed_for_as_long_as_it_lasts_is_overdue(renewed: str, overdue: bool) -> None:
    holder = holder_of(replace(OTHER, renewed=now_text() if renewed == "now" else renewed, seconds=3600))
    assert holder is not None
    assert holder["overdue"] is overdue


def test_taken_and_given_back() -> None:
    runs = Runs()
    assert runs.task("free")["changed"] is False
    taken = runs.task("held")
    assert (taken["changed"], taken["before"]) == (True, {"run": None})
    assert runs.held_by() == taken["lock"]["run"]
    assert [each["action"] for each in taken["actions"]] == ["take_lock"]
    again = runs.task("held", lock=taken["lock"])
    assert (again["changed"], again["lock"]) == (False, taken["lock"])
    back = runs.task("released", lock=taken["lock"])
    assert (back["changed"], runs.held_by()) == (True, None)
    gone = runs.task("released", lock=taken["lock"])
    assert (gone["changed"], codes(gone)) == (False, ["lock_not_ours"])
    assert runs.task("released")["changed"] is False


def test_the_lock_says_who_holds_it_and_with_which_processes() -> None:
    runs = Runs()
    taken = runs.task("held", lease_duration=30)
    lock = runs.store.lock
    assert lock is not None
    assert (lock.processes, lock.place) == (HERE["processes"], HERE["place"])
    assert (lock.seconds, lock.since, lock.stop) == (30, lock.renewed, "")
    assert lock.who == who()
    assert taken["lock"] == {
        "run": lock.run,
        "name": name_for("uuid"),
        "kept_in": "kubernetes",
        "namespace": "search",
        "lease_duration": 30,
    }


@pytest.mark.parametrize("state", ["held", "released", "stopped"])
def test_check_mode_says_the_same_and_writes_nothing(state: str) -> None:
    lock = replace(OTHER, **HERE) if state == "stopped" else OTHER if state == "released" else None
    runs = Runs(lock)
    params: Json = {"lock": {**DEFAULTS, "run": "day", "name": "lock"}} if state == "released" else {}
    planned = runs.task(state, check_mode=True, **params)
    assert set(runs.store.asked) == {"read"}
    assert runs.clock.now() == 0, "what nobody asked to stop is not waited for"
    if state == "stopped":
        runs.clock.on_tick = [lambda: runs.store.set(None)]
    done = runs.task(state, **params)
    assert (planned["changed"], planned["before"]) == (done["changed"], done["before"])
    assert [each["action"] for each in planned["actions"]] == [each["action"] for each in done["actions"]]


def test_only_the_run_that_is_named_is_asked_to_stop() -> None:
    runs = Runs(replace(OTHER, **HERE))
    left = runs.task("stopped", holders=["another", "a third"])
    assert (codes(left), left["changed"], runs.clock.now(), set(runs.store.asked)) == ([], False, 0, {"read"})
    runs.clock.on_tick = [lambda: runs.store.set(None)]
    asked = runs.task("stopped", holders=["another", OTHER.run])
    assert [each["action"] for each in asked["actions"]] == ["ask_to_stop"]


def test_a_run_is_waited_for_to_its_end_and_not_asked_to_stop() -> None:
    runs = Runs(replace(OTHER, **HERE))
    runs.clock.on_tick = [nothing] * 5000 + [lambda: runs.store.set(None)]
    ended = runs.task("awaited", wait_timeout=86400)
    assert (codes(ended), ended["changed"], ended["actions"], set(runs.store.asked)) == ([], False, [], {"read"})
    assert ended["before"]["run"] == OTHER.run
    assert [each["code"] for each in ended["waited"]] == ["run_awaited"]
    assert runs.clock.now() > 5000


def test_a_run_that_renews_is_waited_for_until_it_is_dead() -> None:
    runs = Runs(OTHER)
    # Looks become rarer, so that it renews at least every 30 seconds.
    runs.clock.on_tick = ([nothing] * 5 + [runs.renewed]) * 30
    ended = runs.task("awaited", wait_timeout=86400)
    assert (codes(ended), set(runs.store.asked), runs.clock.on_tick) == ([], {"read"}, [])
    assert runs.clock.now() > 30 * 6 + 60


def test_a_run_that_does_not_end_in_time_is_named() -> None:
    runs = Runs(replace(OTHER, **HERE))
    refused = runs.task("awaited", wait_timeout=100)
    assert refused["failed"]
    assert f"Run {OTHER.run} of dev@laptop is at work, and its end is waited for." in refused["msg"]


@pytest.mark.parametrize("more", [{"check_mode": True}, {"wait": False}])
def test_a_single_look_waits_for_no_run(more: Json) -> None:
    runs = Runs(replace(OTHER, **HERE))
    assert "failed" not in runs.task("awaited", **more)
    assert runs.clock.now() == 0


def test_two_clusters_of_a_namespace_have_two_locks() -> None:
    runs = Runs()
    names = {
        runs.task("held", check_mode=True, cluster_uuid=uuid, kept_in=place)["lock"]["name"]
        for uuid in ("one", "two")
        for place in ("kubernetes", "opensearch")
    }
    assert len(names) == 2, "the record has the name of the lock, wherever that is kept"


def test_two_runs_of_the_same_second_are_two() -> None:
    runs = Runs()
    names = [runs.task("held", check_mode=True)["lock"]["run"] for _each in range(100)]
    assert len(set(names)) == 100


@pytest.mark.parametrize("state", ["free", "held"])
def test_a_run_that_lives_here_is_refused_at_once(state: str) -> None:
    runs = Runs(replace(OTHER, **HERE))
    result = runs.task(state)
    assert (codes(result), runs.clock.now(), runs.held_by()) == (["locked"], 0, "day")
    assert "dev@laptop" in result["msg"]


@pytest.mark.parametrize("state", ["free", "held"])
def test_a_run_that_renews_is_refused_when_that_is_seen(state: str) -> None:
    runs = Runs(OTHER)
    runs.clock.on_tick = [nothing] * 20 + [runs.renewed]
    result = runs.task(state)
    assert (codes(result), runs.clock.now(), runs.held_by()) == (["locked"], 21, "day")


def test_a_run_that_does_not_renew_is_dead_after_its_seconds() -> None:
    runs = Runs(OTHER)
    result = runs.task("held")
    assert (codes(result), result["changed"], runs.clock.now()) == (["lock_taken_over"], True, 60)
    assert runs.held_by() == result["lock"]["run"]


def test_a_killed_run_of_this_machine_is_taken_over_at_once() -> None:
    runs = Runs(replace(OTHER, place=ancestry.place(), processes=(DEAD, DEAD)))
    assert codes(runs.task("held")) == ["lock_taken_over"]
    assert runs.clock.now() == 0


def test_a_killed_run_whose_worker_still_ends_is_waited_for() -> None:
    runs = Runs(replace(OTHER, place=ancestry.place(), processes=(DEAD, ancestry.identity())))
    assert runs.store.lock is not None
    dead = replace(runs.store.lock, processes=(DEAD, DEAD))
    runs.clock.on_tick = [nothing, lambda: runs.store.set(dead)]
    assert codes(runs.task("held")) == ["lock_taken_over"]
    assert runs.clock.now() == 2


@pytest.mark.parametrize(
    ("changes", "life"),
    [
        ({}, Life.ALIVE),
        ({"processes": (DEAD, ancestry.identity())}, Life.ENDING),
        ({"processes": (DEAD, DEAD)}, Life.GONE),
        ({"processes": (DEAD,)}, Life.GONE),
        ({"processes": ()}, Life.UNKNOWN),
        ({"place": "another boot/1"}, Life.UNKNOWN),
        ({"place": ""}, Life.UNKNOWN),
    ],
)
def test_what_this_machine_knows_of_a_holder(changes: Json, life: Life) -> None:
    assert life_of(replace(OTHER, **{**HERE, **changes})) is life


def test_where_no_place_is_known_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ancestry, "place", lambda: "")
    assert life_of(replace(OTHER, place="", processes=(DEAD,))) is Life.UNKNOWN
    assert life_of(None) is Life.UNKNOWN


@pytest.mark.parametrize(("named", "code"), [("day", "lock_taken_over"), ("third", "take_over_of_another")])
def test_a_person_may_take_over_the_run_that_is_named(named: str, code: str) -> None:
    runs = Runs(OTHER)
    result = runs.task("held", take_over=named)
    assert codes(result) == [code]
    assert result["changed"] is (named == "day")
    assert (runs.held_by() == "day") is (named != "day")


def test_a_run_whose_process_lives_here_is_not_taken_over_until_that_has_ended() -> None:
    """Both runs would act until the next check of the lock. A process that hangs is ended by a person."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        living = ancestry.identity_of(process.pid)
        runs = Runs(replace(OTHER, place=ancestry.place(), processes=(living, living)))
        refused = runs.task("held", take_over="day")
        assert (codes(refused), runs.held_by(), runs.clock.now()) == (["take_over_of_living"], "day", 0)
        assert f"Its process {process.pid} is alive on this machine" in refused["msg"]
        assert codes(runs.task("free", take_over="day")) == ["take_over_of_living"]
        process.kill()
    assert codes(runs.task("held")) == ["lock_taken_over"]


@pytest.mark.parametrize(
    "changes", [{"place": "another container/1"}, {"processes": (str(os.getpid()),)}, {"processes": ("1.1",)}]
)
def test_only_exactly_its_process_keeps_a_run_from_being_taken_over(changes: Json) -> None:
    """In another container the number is that of another process; a number alone may have been used again."""
    runs = Runs(replace(OTHER, **{"place": ancestry.place(), "processes": (ancestry.identity(),), **changes}))
    assert codes(runs.task("held", take_over="day")) == ["lock_taken_over"]


def test_a_slow_answer_does_not_count_as_silence() -> None:
    """The store answered before the holder renewed, and the answer took as long as the lock lasts."""
    runs = Runs(OTHER)

    def slow() -> None:
        runs.clock.time += 61
        runs.renewed()

    runs.store.between = [nothing, slow]
    assert codes(runs.task("free")) == ["locked"], "and no write would tell"


def test_of_two_that_take_it_at_once_one_gets_it() -> None:
    runs = Runs()
    faster = replace(OTHER, run="faster")
    runs.store.between = [lambda: runs.store.set(replace(faster, **HERE))]
    result = runs.task("held")
    assert (codes(result), runs.held_by()) == (["locked"], "faster")
    assert (result["changed"], result["actions"]) == (False, [])


def test_an_answer_that_is_lost_does_not_lose_the_lock() -> None:
    runs = Runs()
    runs.store.lose_answers = 1
    taken = runs.task("held")
    assert (taken["changed"], runs.held_by()) == (True, taken["lock"]["run"])
    assert taken["actions"][0]["answer"] == "lost"
    runs.store.lose_answers = 1
    given_back = runs.task("released", lock=taken["lock"])
    assert (given_back["changed"], codes(given_back), runs.held_by()) == (True, [], None)


def test_a_lock_that_cannot_be_given_back_ends_by_itself() -> None:
    runs = Runs()
    taken = runs.task("held")
    runs.store.away = True
    kept = runs.task("released", lock=taken["lock"])
    assert (kept["verdict"]["state"], codes(kept)) == ("passed", ["lock_not_given_back"])
    assert (
        "ends by itself within 60 s. The Kubernetes API cannot be reached." in kept["verdict"]["reasons"][0]["message"]
    )


def test_the_cluster_that_names_the_lock_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs()
    answers: list[str | Exception] = [out_of_reach(), "uuid"]

    def uuid(_client: object) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(cluster, "connect", lambda *_options: None)
    monkeypatch.setattr(cluster, "cluster_uuid", uuid)
    taken = runs.task("held", cluster_uuid=None)
    assert (taken["changed"], taken["lock"]["name"]) == (True, name_for("uuid"))
    assert answers == []


@given(st.lists(st.booleans(), max_size=90))
def test_it_is_taken_only_from_a_holder_that_was_silent_all_the_time(renews: list[bool]) -> None:
    runs = Runs(OTHER)
    runs.clock.on_tick = [runs.renewed if each else nothing for each in renews]
    result = runs.task("held")
    assert ("lock" in result) is not any(renews[: OTHER.seconds])
    assert (runs.held_by() == OTHER.run) is any(renews[: OTHER.seconds])


def test_an_outage_does_not_count_as_silence_of_the_holder() -> None:
    """It got no answers either, and renews its lock when the store is back."""
    runs = Runs(OTHER)

    def outage() -> None:
        runs.store.away = True

    def over() -> None:
        runs.store.away = False

    runs.clock.on_tick = [nothing, outage, *[nothing] * (OTHER.seconds + 10), over, *[nothing] * 3, runs.renewed]
    assert (codes(runs.task("held")), runs.held_by()) == (["locked"], OTHER.run)
    dead = Runs(OTHER)
    dead.clock.on_tick = [
        nothing,
        lambda: setattr(dead.store, "away", True),
        lambda: setattr(dead.store, "away", False),
    ]
    assert "lock" in dead.task("held")
