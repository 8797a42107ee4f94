"""No act without the lock: it is renewed first, asked for before each act, and lost to whoever took it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import timestamp_text, utc_now
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.entry import guard as guards
from ansible_collections.stateful.upgrade.plugins.module_utils.entry.guard import perform_guarded
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.cluster_lock import (
    ClusterLock,
    lock_store,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.guarding import under_lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.held_lock import (
    ATTEMPTS,
    BETWEEN_LOOKS,
    LONGEST,
    RENEWALS,
    HeldLock,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import Lease
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import (
    OTHER,
    LockMemory,
    Passing,
)
from hypothesis import given
from hypothesis import strategies as st

OURS = replace(OTHER, run="night", who="ops@bastion", seconds=60)
LOCK = {"run": "night", "name": "lock", "kept_in": "kubernetes", "namespace": "search", "lease_duration": 60}


class Holder:
    """One task of the run `night`, which holds the lock at first."""

    def __init__(self, seconds: int = 60) -> None:
        self.clock = Passing()
        self.store = LockMemory(replace(OURS, seconds=seconds))
        self.guard = HeldLock(self.store, "night", self.clock, ("7.1", "8.2"))

    def passes(self, seconds: float) -> None:
        """Time passes."""
        self.clock.time += seconds

    def changed(self, **fields: Any) -> None:
        """Someone else writes the lock."""
        assert self.store.lock is not None
        self.store.set(replace(self.store.lock, **fields))

    def asks(self, act: Callable[[], None]) -> list[str]:
        """The requests that the store gets."""
        self.store.asked.clear()
        act()
        return list(self.store.asked)

    def look(self, doing: str = "", stoppable: bool = False) -> None:
        self.guard.before_look(doing, stoppable)


def code_of(act: Callable[[], None]) -> str:
    with pytest.raises(Refusal) as caught:
        act()
    return caught.value.verdict.reasons[0].code


def test_a_task_renews_first_and_names_its_processes() -> None:
    holder = Holder()
    assert holder.asks(holder.look) == ["read", "write"]
    lock = holder.store.lock
    assert lock is not None
    assert lock.renewed != OURS.renewed
    assert (lock.processes, lock.place) == (("7.1", "8.2"), ancestry.place())
    assert (lock.run, lock.who, lock.since, lock.seconds) == (OURS.run, OURS.who, OURS.since, OURS.seconds)


def renewed_by_an_earlier_task(seconds: float = 0.0) -> Holder:
    """A task whose lock another task of the same controller has renewed some seconds ago."""
    holder = Holder()
    renewed = timestamp_text(utc_now() - timedelta(seconds=seconds), "microseconds")
    holder.changed(renewed=renewed, place=ancestry.place(), processes=("7.1", "8.1"))
    return holder


def test_a_look_leaves_a_lock_alone_that_an_earlier_task_has_just_renewed() -> None:
    holder = renewed_by_an_earlier_task()
    assert holder.asks(holder.look) == ["read"]


def test_the_first_act_writes_its_process_over_the_lock_that_was_just_read_and_the_next_one_reads() -> None:
    holder = renewed_by_an_earlier_task()
    holder.look()
    assert holder.asks(holder.guard.before_act) == ["write"]
    assert holder.store.lock is not None
    assert holder.store.lock.processes == ("7.1", "8.2")
    assert holder.asks(holder.guard.before_act) == ["read"]


def test_the_first_act_reads_a_lock_again_that_was_read_a_second_ago() -> None:
    holder = renewed_by_an_earlier_task()
    holder.look()
    holder.passes(BETWEEN_LOOKS)
    assert holder.asks(holder.guard.before_act) == ["read", "write"]


@pytest.mark.parametrize("taken", [OTHER, None])
def test_a_lock_that_is_taken_between_the_look_and_the_first_act_is_lost(taken: Any) -> None:
    holder = renewed_by_an_earlier_task()
    holder.look()
    holder.store.set(taken)
    there = holder.store.lock
    assert code_of(holder.guard.before_act) == "lock_lost"
    assert holder.store.lock is there


@pytest.mark.parametrize(
    ("seconds", "other"),
    [
        (OURS.seconds / RENEWALS, {}),
        (-60, {}),
        (0, {"place": "another boot/1"}),
        (0, {"place": ""}),
        (0, {"processes": ("7.2", "8.1")}),
        (0, {"renewed": "yesterday"}),
    ],
    ids=["old", "clock set back", "another machine", "unknown machine", "another controller", "unreadable"],
)
def test_a_look_renews_a_lock_of_which_it_does_not_know_that_it_was_just_renewed(
    seconds: float, other: dict[str, Any]
) -> None:
    holder = renewed_by_an_earlier_task(seconds)
    holder.changed(**other)
    assert holder.asks(holder.look) == ["read", "write"]


def test_what_an_earlier_task_has_waited_for_is_taken_back_by_the_first_act() -> None:
    holder = renewed_by_an_earlier_task()
    holder.changed(doing="Shards are moving.")
    assert holder.asks(holder.look) == ["read"]
    assert holder.asks(holder.guard.before_act) == ["write"]
    assert holder.store.lock is not None
    assert holder.store.lock.doing == ""


def test_a_task_that_only_looks_renews_when_the_time_since_the_earlier_task_is_over() -> None:
    holder = renewed_by_an_earlier_task(OURS.seconds / RENEWALS - 5)
    holder.look()
    holder.passes(4)
    assert holder.asks(holder.look) == ["read"]
    holder.passes(1)
    assert holder.asks(holder.look) == ["read", "write"]


def test_an_act_that_comes_first_renews_too() -> None:
    holder = Holder()
    assert holder.asks(holder.guard.before_act) == ["read", "write"]


def test_a_lock_that_has_lapsed_stays_with_its_run_until_another_one_takes_it() -> None:
    holder = Holder()
    holder.look()
    holder.passes(10 * OURS.seconds)
    assert holder.asks(holder.guard.before_act) == ["read", "write"]
    holder.changed(run="day")
    assert code_of(holder.guard.before_act) == "lock_lost"


def test_a_look_does_not_ask_again_within_a_second_but_an_act_does() -> None:
    holder = Holder()
    holder.look()
    holder.passes(BETWEEN_LOOKS / 2)
    assert holder.asks(holder.look) == []
    assert holder.asks(holder.guard.before_act) == ["read"]
    holder.passes(BETWEEN_LOOKS)
    assert holder.asks(holder.look) == ["read"]


@pytest.mark.parametrize("seconds", [12, 60])
def test_it_is_renewed_several_times_while_it_lasts(seconds: int) -> None:
    holder = Holder(seconds)
    holder.look()
    holder.passes(seconds / RENEWALS - 0.1)
    assert holder.asks(holder.guard.before_act) == ["read"]
    holder.passes(0.1)
    assert holder.asks(holder.guard.before_act) == ["read", "write"]


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=30))
def test_whenever_it_is_asked_it_was_renewed_a_short_while_ago(steps: list[tuple[float, bool]]) -> None:
    """So that an act that relies on it ends while it still holds."""
    holder = Holder()
    renewed_at, text = 0.0, OURS.renewed
    for seconds, acts in steps:
        holder.passes(seconds)
        holder.guard.before_act() if acts else holder.look()
        assert holder.store.lock is not None
        if holder.store.lock.renewed != text:
            renewed_at, text = holder.clock.now(), holder.store.lock.renewed
        assert holder.clock.now() - renewed_at <= OURS.seconds / RENEWALS + BETWEEN_LOOKS


def test_what_is_waited_for_is_told_at_once_and_taken_back() -> None:
    holder = Holder()
    holder.look()
    holder.passes(BETWEEN_LOOKS)
    holder.look("Shards are moving.")
    assert holder.store.lock is not None
    assert holder.store.lock.doing == "Shards are moving."
    holder.guard.before_act()
    assert holder.store.lock.doing == ""


def test_what_is_waited_for_is_cut_where_it_would_not_fit() -> None:
    holder = Holder()
    holder.look("Shard. " * 100_000)
    assert holder.store.lock is not None
    assert len(holder.store.lock.doing) == LONGEST
    holder.passes(BETWEEN_LOOKS)
    assert holder.asks(lambda: holder.look("Shard. " * 100_000)) == ["read"]


@pytest.mark.parametrize("taken", [OTHER, replace(OURS, run=""), None])
def test_a_lost_lock_stops_looks_and_acts(taken: Any) -> None:
    holder = Holder()
    holder.look()
    holder.passes(BETWEEN_LOOKS)
    holder.store.set(taken)
    holder.store.asked.clear()
    assert code_of(holder.look) == "lock_lost"
    assert code_of(holder.guard.before_act) == "lock_lost"
    assert holder.store.asked == ["read", "read"], "nothing was written into the lock of another"


def test_a_lock_that_is_taken_while_it_is_renewed_is_lost() -> None:
    holder = Holder()
    holder.store.between = [lambda: holder.store.set(OTHER)]
    assert code_of(holder.guard.before_act) == "lock_lost"
    assert holder.store.lock is not None
    assert holder.store.lock.run == "day"


def test_a_request_to_stop_is_followed_only_where_nothing_is_in_between() -> None:
    holder = Holder()
    holder.changed(stop="by dev@laptop")
    holder.look("data-2 is starting.", stoppable=False)
    holder.guard.before_act()
    holder.passes(BETWEEN_LOOKS)
    assert code_of(lambda: holder.look(stoppable=True)) == "stopped_by_request"
    assert holder.store.lock is not None
    assert holder.store.lock.stop == "by dev@laptop", "a renewal keeps the request"


def test_a_request_to_stop_that_comes_while_it_is_renewed_is_not_overwritten() -> None:
    holder = Holder()
    holder.store.between = [lambda: holder.changed(stop="by dev@laptop")]
    assert holder.asks(holder.guard.before_act) == ["read", "write", "read", "write"]
    assert holder.store.lock is not None
    assert holder.store.lock.stop == "by dev@laptop"
    assert holder.store.lock.renewed != OURS.renewed


def test_a_lock_that_changes_under_every_write_stops_the_act() -> None:
    holder = Holder()
    holder.store.between = [lambda: holder.changed(doing="x")] * ATTEMPTS
    with pytest.raises(Conflict):
        holder.guard.before_act()
    assert holder.store.between == []


def test_a_store_out_of_reach_stops_looks_and_acts_and_is_asked_again() -> None:
    holder = Holder()
    holder.store.away = True
    for ask in (holder.look, holder.guard.before_act):
        with pytest.raises(Unreachable):
            ask()
    holder.store.away = False
    holder.store.lose_answers = 1
    with pytest.raises(Unreachable):
        holder.look()
    assert holder.asks(holder.look)[0] == "read"


def test_an_act_is_made_though_the_store_turned_a_request_for_the_lock_away() -> None:
    """Not every act is part of a wait, and the last ones of a run would end it as failed."""
    holder = Holder()
    holder.store.away = True

    def back() -> None:
        holder.store.away = False

    holder.clock.on_tick = [back]
    assert holder.asks(holder.guard.before_act) == ["read", "read", "write"]


def run_under(holder: Holder, monkeypatch: pytest.MonkeyPatch, contract: Contract, **params: Any) -> dict[str, Any]:
    """One module's work that looks once and acts once, with the lock of `night`."""
    monkeypatch.setattr(guards, "lock_store", lambda _params: holder.store)

    def run(given: Task) -> Outcome:
        seen, verdict = given.wait(lambda: "seen", lambda _seen: Verdict())
        given.still_wanted()
        return Outcome(verdict, True, {"seen": seen})

    given = {"wait": False, "lock": LOCK, **params}
    return perform_guarded(contract, run, Task(params=given, clock=holder.clock))


def test_a_task_with_a_lock_works_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = Holder()
    assert run_under(holder, monkeypatch, Contract({}))["changed"] is True
    assert holder.store.asked == ["read", "write", "read"]


def test_a_task_whose_lock_is_lost_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = Holder()
    holder.store.set(OTHER)
    result = run_under(holder, monkeypatch, Contract({}))
    assert (result["failed"], result["changed"], result["actions"]) == (True, False, [])
    assert result["verdict"]["reasons"][0]["code"] == "lock_lost"
    assert "Run night no longer holds the lock" in result["msg"]


@pytest.mark.parametrize(
    ("contract", "params"), [(Contract({}), {"lock": None}), (Contract({}, guarded=False), {"lock": LOCK})]
)
def test_a_task_of_its_own_and_what_manages_the_lock_ask_nobody(
    contract: Contract, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = Holder()
    assert run_under(holder, monkeypatch, contract, **params)["changed"] is True
    assert holder.store.asked == []


def test_a_task_waits_for_a_store_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = Holder()
    holder.store.away = True
    waits = {"wait": True, "wait_timeout": 10, "wait_sleep": 1.0}

    def back() -> None:
        holder.store.away = False

    holder.clock.on_tick = [back]
    assert run_under(holder, monkeypatch, Contract({}), **waits)["changed"] is True
    holder.store.away = True
    result = run_under(holder, monkeypatch, Contract({}), wait=False)
    assert (result["verdict"]["state"], result["changed"]) == ("waiting", False)


def test_a_wait_says_in_the_lock_what_it_waits_for() -> None:
    holder = Holder()
    slow = Verdict((waiting("slow", "It is slow."),))
    params = {"wait": True, "wait_timeout": 3, "wait_sleep": 1.0, "lock": LOCK}
    task = under_lock(Task(params=params, clock=holder.clock), lambda _params: holder.store)
    task.wait(lambda: None, lambda _seen: slow)
    assert holder.store.lock is not None
    assert holder.store.lock.doing == "It is slow."


@pytest.mark.parametrize(("in_controller", "known"), [(True, 2), (False, 0)])
def test_only_processes_beside_the_controller_are_named(in_controller: bool, known: int) -> None:
    holder = Holder()
    given = Task(params={"lock": LOCK}, clock=holder.clock, in_controller=in_controller)
    task = under_lock(given, lambda _params: holder.store)
    task.still_wanted()
    assert holder.store.lock is not None
    assert len(holder.store.lock.processes) == known
    assert all(ancestry.alive(each) for each in holder.store.lock.processes)


def test_the_lock_is_where_it_is_said_to_be() -> None:
    params = {
        "kubernetes": {"host": "http://127.0.0.1:1", "api_key": "x"},
        "opensearch": {"hosts": ["http://127.0.0.1:1"]},
    }
    assert isinstance(lock_store({**params, "lock": LOCK}), Lease)
    assert isinstance(lock_store({**params, "lock": {**LOCK, "kept_in": "opensearch"}}), ClusterLock)
