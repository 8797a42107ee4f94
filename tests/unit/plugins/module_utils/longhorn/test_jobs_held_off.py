"""Recurring jobs on a Longhorn in memory: none meets a node that is changed, and all are let go again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.controllers import recurring as stand_in
from tests.sandbox.longhorn.description import QUICK, Described, Machine, Recurring, Volume
from tests.sandbox.longhorn.kinds import CRON_JOBS, JOBS, MANAGERS, NODES, RECURRING_JOBS, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn as InMemory
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver

DESCRIBED = (Volume("v", SPREAD, "n1", groups=("default",)), Volume("w", ("n2", "n3"), "n2"))
OFFERS = ("", "design", "v1.13")


def more_than(driver: Driver, runs: int) -> bool:
    return len(driver.longhorn.cron_jobs.started) > runs


def recurring(offers: str = "", minutes: int = 1) -> InMemory:
    machines = tuple(Machine(name) for name in NODES_OF_THREE)
    jobs = (Recurring("daily", ("default",), minutes),)
    return InMemory(Described(machines, DESCRIBED, offers=offers, frontends_outlive=True, jobs=jobs), pace=QUICK)


def is_let_go(driver: Driver) -> bool:
    item = driver.longhorn.get(CRON_JOBS, "daily")
    return not item["spec"].get("suspend") and "upgrade.stateful/undo" not in item["metadata"]["annotations"]


def at_work(driver: Driver) -> bool:
    return bool(stand_in.at_work(driver.longhorn.objects))


@pytest.mark.parametrize("offers", OFFERS)
def test_a_job_of_each_minute_never_runs_while_a_node_is_changed(drive: type[Driver], offers: str) -> None:
    driver = drive(recurring(offers))
    assert driver.longhorn.until(lambda: at_work(driver))
    planned = driver.plan()
    assert [each.code for each in planned.verdict.reasons if "jobs" in each.code] == ["recurring_jobs_held"] * 3
    for node in NODES_OF_THREE:
        before = len(driver.longhorn.cron_jobs.started)
        done = driver.switch(node)
        assert done.verdict.passed, (done.verdict, driver.said)
        assert is_let_go(driver), node
        assert driver.longhorn.until(partial(more_than, driver, before), 61)
    assert driver.longhorn.observer.by_acts == []
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


MOST_ACTS = 30
MOST_PASSES = 60


@pytest.mark.parametrize("offers", OFFERS)
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_job_is_let_go_after_a_kill_before_any_act(drive: type[Driver], offers: str, goes_on: bool) -> None:
    for acts in range(MOST_ACTS):
        driver = drive(recurring(offers, minutes=2))
        killed = driver.killed_before(acts)
        driver.run, driver.guard = "run-2", None
        if goes_on:
            done = driver.switch("n1", wait_timeout=600)
            assert done.verdict.passed, (acts, done.verdict, driver.said)
        back = driver.switch(state="restored", wait_timeout=600)
        assert back.verdict.passed, (acts, back.verdict)
        assert is_let_go(driver), acts
        assert driver.leftovers() == [], acts
        assert driver.longhorn.observer.by_acts == [], acts
        if not killed:
            break
    assert not killed
    assert acts > 2


@dataclass
class Meeting:
    """The engines that move and the instance managers that go from now on, with the time."""

    driver: Driver
    changed: list[float] = field(default_factory=list)
    met: list[str] = field(default_factory=list)
    """Those of these objects at whose change a recurring job was at work, and the Jobs that start since the first of
    them although they are held off."""

    def __post_init__(self) -> None:
        self.driver.longhorn.objects.listeners.append(self._note)

    def _note(self, kind: object, item: Json, gone: bool) -> None:
        moves = kind == VOLUMES and item.get("status", {}).get("switchoverState")
        if moves or (kind == MANAGERS and gone):
            self.changed.append(self.driver.longhorn.clock.now())
            self.met += [item["metadata"]["name"]] if at_work(self.driver) else []
        elif kind == JOBS and self.changed and not gone and not stand_in.has_ended(item):
            self.met += [] if is_let_go(self.driver) else [item["metadata"]["name"]]


@pytest.mark.parametrize("lag", stand_in.LAGS)
def test_no_run_meets_an_engine_that_moves_however_late_it_starts(drive: type[Driver], lag: float) -> None:
    driver = drive(recurring(minutes=30))
    driver.longhorn.cron_jobs.lags = (lag,)
    meeting = Meeting(driver)
    due = partial(driver.longhorn.cron_jobs.due, "daily")
    driver.longhorn.faults.when(NODES, lambda item: bool(driver.longhorn.cron_jobs.started), due)
    assert driver.switch("n1").verdict.passed
    assert meeting.changed
    assert (meeting.met, driver.longhorn.cron_jobs.started) == ([], ["daily-1"])
    assert driver.longhorn.until(lambda: more_than(driver, 1), 5), "the one that is due starts once it is let go"


def test_a_job_that_its_cron_job_does_not_name_is_waited_for(drive: type[Driver]) -> None:
    driver = drive(recurring(minutes=30))
    driver.longhorn.cron_jobs.lags, driver.longhorn.controllers.backups.queue.away = (1.0,), True
    refused = driver.switch("n1")
    assert refused.verdict.state is State.REFUSED
    assert any("Job daily-1 of recurring job daily" in each.message for each in refused.verdict.reasons)
    assert not driver.longhorn.get(CRON_JOBS, "daily").get("status", {}).get("active")
    assert driver.images()["n1"] == "v1.11.2"


def test_a_run_that_takes_over_counts_anew(drive: type[Driver]) -> None:
    driver = drive(recurring(minutes=30))
    driver.longhorn.cron_jobs.lags = ()
    assert driver.killed_before(2)
    assert driver.longhorn.get(CRON_JOBS, "daily")["spec"]["suspend"] is True
    driver.run, driver.guard, meeting, began = "run-2", None, Meeting(driver), driver.longhorn.clock.now()
    assert driver.switch("n1").verdict.passed
    assert min(meeting.changed) - began >= 10.0


def test_check_mode_waits_for_nothing(drive: type[Driver]) -> None:
    driver = drive(recurring(minutes=30))
    assert driver.killed_before(4)
    driver.run, driver.guard, began = "run-2", None, driver.longhorn.clock.now()
    seen = driver.switch("n1", check_mode=True)
    assert [each.code for each in seen.verdict.reasons] == ["recurring_jobs_settle"]
    assert driver.longhorn.clock.now() == began


@pytest.mark.parametrize("offers", OFFERS)
def test_a_single_pass_waits_until_no_run_can_start_any_more(drive: type[Driver], offers: str) -> None:
    driver = drive(recurring(offers, minutes=30))
    meeting, passes = Meeting(driver), 0
    while (done := driver.switch("n1", wait=False).verdict).state is State.WAITING:
        passes += 1
        assert passes < MOST_PASSES, done
        driver.longhorn.clock.advance(1.0)
    assert done.passed, done
    assert meeting.changed
    assert meeting.met == []
    assert driver.longhorn.observer.by_acts == []


def test_a_job_that_does_not_end_is_waited_for_until_the_deadline(drive: type[Driver]) -> None:
    driver = drive(recurring())
    assert driver.longhorn.until(lambda: at_work(driver))
    driver.longhorn.cron_jobs.queue.away = driver.longhorn.controllers.backups.queue.away = True
    refused = driver.switch("n1")
    codes = [each.code for each in refused.verdict.deciding()]
    assert refused.verdict.state is State.REFUSED
    assert {"recurring_job_runs", "timed_out"} <= {*codes} | {each.code for each in refused.verdict.reasons}
    assert driver.images()["n1"] == "v1.11.2"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


def changed(driver: Driver, kind: Any, change: Callable[[Json], None]) -> None:
    driver.longhorn.objects.change(kind, "daily", change)


def test_a_job_that_longhorn_writes_anew_is_held_off_again(drive: type[Driver]) -> None:
    """The whole CronJob is written, so that neither the suspension nor the undo is left."""
    driver = drive(recurring(minutes=5))
    written: list[bool] = []
    suspended: list[bool] = []

    def note(kind: object, item: Json, _gone: bool) -> None:
        if kind == CRON_JOBS and [bool(item["spec"].get("suspend"))] != suspended[-1:]:
            suspended.append(bool(item["spec"].get("suspend")))

    driver.longhorn.objects.listeners.append(note)

    def anew(item: Json) -> bool:
        return bool(item["metadata"].get("annotations", {}).get("upgrade.stateful/engine-switch"))

    def write() -> None:
        written.append(True)
        changed(driver, RECURRING_JOBS, lambda item: item["spec"].update(cron="*/1 * * * *"))

    driver.longhorn.faults.when(NODES, anew, write)
    done = driver.switch("n1")
    assert done.verdict.passed, done.verdict
    assert written
    assert suspended == [True, False, True, False]
    assert is_let_go(driver)
    assert driver.longhorn.get(CRON_JOBS, "daily")["spec"]["schedule"] == "*/1 * * * *"


def test_a_job_that_a_person_lets_go_ends_the_run(drive: type[Driver]) -> None:
    driver = drive(recurring(minutes=5))

    def let_go() -> None:
        changed(driver, CRON_JOBS, lambda item: item["spec"].update(suspend=False))

    driver.longhorn.faults.when(CRON_JOBS, lambda item: bool(item["spec"].get("suspend")), let_go)
    refused = driver.switch("n1")
    assert [each.code for each in refused.verdict.deciding()] == ["recurring_job_resumed"]
    assert driver.images()["n1"] == "v1.11.2"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


def test_a_job_that_a_person_holds_off_stays_so(drive: type[Driver]) -> None:
    driver = drive(recurring())
    changed(driver, CRON_JOBS, lambda item: item["spec"].update(suspend=True))
    assert driver.switch("n1").verdict.passed
    assert driver.switch(state="restored").verdict.passed
    assert driver.longhorn.get(CRON_JOBS, "daily")["spec"]["suspend"] is True
