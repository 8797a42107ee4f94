"""Recurring jobs are held off while a node is changed, and let go again in every ending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.recurring_jobs import (
    jobs_at,
    to_let_go,
    with_jobs_held,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.stages import (
    Act,
    SwitchStage,
    SwitchStep,
    WantedSwitch,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.recurring_jobs import (
    recurring_work,
    started_jobs,
    with_cron_jobs,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import Longhorn, RecurringWork

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.description import QUICK, Described, Machine, Recurring, Volume
from tests.sandbox.longhorn.kinds import CRON_JOBS, NODES, RECURRING_JOBS
from tests.sandbox.longhorn.longhorn import Longhorn as InMemory
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver
from tests.unit.plugins.module_utils.longhorn.world import NEW, marked, with_volume, world

DAILY = RecurringWork("daily", "backup", frozenset({"default"}), cron_job=True)
HELD = replace(DAILY, suspended=True, carries_undo=True)
SEEN = with_volume(world({"v": ("n1", ("n1", "n2"))}), "v", jobs=frozenset({"daily"}))
DELETE, MARK, UNMARK = Act("delete_manager", "im"), Act("mark_node", "n1"), Act("unmark_node", "n1")
COMPLETED = SwitchStep(SwitchStage.COMPLETED)


@pytest.mark.parametrize(
    ("job", "more", "nodes"),
    [
        (DAILY, {"jobs": frozenset({"daily"})}, ["n1", "n2"]),
        (DAILY, {"job_groups": frozenset({"default"})}, ["n1", "n2"]),
        (DAILY, {"jobs": frozenset({"other"}), "job_groups": frozenset({"daily"})}, []),
        (replace(DAILY, task="system-backup"), {}, ["n1", "n2"]),
        (DAILY, {"jobs": frozenset({"daily"}), "state": "detached", "node": "", "at_node": ""}, ["n1", "n2"]),
    ],
)
def test_a_job_is_at_each_node_with_a_part_of_a_volume_on_which_it_works(
    job: RecurringWork, more: dict[str, Any], nodes: list[str]
) -> None:
    seen = replace(with_volume(world({"v": ("n1", ("n1", "n2"))}), "v", **more), jobs=(job,))
    assert [name for name in ("n1", "n2", "n3") if jobs_at(seen, name)] == nodes


def judged(found: SwitchStep, *jobs: RecurringWork, seen: Longhorn = SEEN, image: str = NEW) -> SwitchStep:
    return with_jobs_held(lambda _seen, _wanted: found)(replace(seen, jobs=jobs), WantedSwitch("n1", image))


def step(stage: SwitchStage, *acts: Act) -> SwitchStep:
    return SwitchStep(stage, acts)


def test_one_upgrade_of_several_nodes_has_the_jobs_of_all_of_them_held_off_first() -> None:
    there = world({"v": ("n1", ("n1", "n2")), "w": ("n3", ("n3",))})
    seen = with_volume(with_volume(there, "v", jobs=frozenset({"daily"})), "w", jobs=frozenset({"weekly"}))
    weekly = replace(DAILY, name="weekly")
    alone, several = (
        step(SwitchStage.UNDEFINED, Act("create_upgrade", "n1", nodes=each)) for each in (("n1",), ("n1", "n3"))
    )
    assert [each.target for each in judged(alone, DAILY, weekly, seen=seen).acts] == ["daily"]
    assert [each.target for each in judged(several, DAILY, weekly, seen=seen).acts] == ["daily", "weekly"]
    assert judged(several, HELD, replace(HELD, name="weekly"), seen=seen) == several


RUNS = replace(HELD, running=("daily-1",))
CASES: list[tuple[str, SwitchStep, RecurringWork, list[str], list[str]]] = [
    ("held first", step(SwitchStage.INITIALIZING, MARK), DAILY, ["hold_job"], ["recurring_jobs_wait"]),
    ("then begun", step(SwitchStage.INITIALIZING, MARK), HELD, ["mark_node"], []),
    ("a run is waited for", step(SwitchStage.INITIALIZING, MARK), RUNS, [], ["recurring_job_runs"]),
    ("until the last time", step(SwitchStage.REPLACING, DELETE), RUNS, [], ["recurring_job_runs"]),
    ("written anew by Longhorn", step(SwitchStage.REPLACING, DELETE), DAILY, ["hold_job"], ["recurring_jobs_wait"]),
    (
        "held off by a person",
        step(SwitchStage.REPLACING, DELETE),
        replace(DAILY, suspended=True),
        ["delete_manager"],
        [],
    ),
    (
        "let go by a person",
        step(SwitchStage.REPLACING, DELETE),
        replace(HELD, suspended=False),
        [],
        ["recurring_job_resumed"],
    ),
    ("no CronJob yet", step(SwitchStage.INITIALIZING, MARK), replace(DAILY, cron_job=False), ["mark_node"], []),
    ("nothing is begun", step(SwitchStage.REPLACING), DAILY, [], []),
    ("the way home goes on", step(SwitchStage.SWITCHING_BACK, UNMARK), RUNS, ["unmark_node"], []),
    ("and holds", step(SwitchStage.SWITCHING_BACK, UNMARK), DAILY, ["hold_job", "unmark_node"], []),
    ("let go before the end", step(SwitchStage.FINALIZING, UNMARK), HELD, ["release_job"], ["recurring_jobs_return"]),
    ("and seen to be", step(SwitchStage.FINALIZING, UNMARK), DAILY, ["unmark_node"], []),
    ("by Longhorn itself", COMPLETED, HELD, ["release_job"], ["recurring_jobs_return"]),
    ("a failure leaves it to settle", step(SwitchStage.ERROR), HELD, [], []),
]


@pytest.mark.parametrize(
    ("found", "job", "acts", "codes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_due_of_a_job(found: SwitchStep, job: RecurringWork, acts: list[str], codes: list[str]) -> None:
    due = judged(found, job)
    assert [each.kind for each in due.acts] == acts
    assert [each.code for each in due.verdict.reasons] == codes


def test_a_node_that_is_only_emptied_keeps_its_jobs() -> None:
    assert judged(step(SwitchStage.INITIALIZING, MARK), DAILY, image="").acts == (MARK,)


def test_a_marked_node_that_only_waits_holds_its_jobs() -> None:
    assert [each.kind for each in judged(step(SwitchStage.REPLACING), DAILY, seen=marked(SEEN, "n1")).acts] == [
        "hold_job"
    ]


@pytest.mark.parametrize(("kept", "names"), [(["n2"], []), (["n3"], ["daily"]), (["n3", "n1"], []), ([], ["daily"])])
def test_a_job_that_another_node_needs_stays_held_off(kept: list[str], names: list[str]) -> None:
    assert [each.name for each in to_let_go(replace(SEEN, jobs=(HELD,)), kept)] == names


@pytest.mark.parametrize(("mark", "acts"), [("n2", []), ("n3", ["release_job"])])
def test_a_node_that_is_done_lets_jobs_go_unless_another_one_under_way_needs_them(mark: str, acts: list[str]) -> None:
    found = judged(step(SwitchStage.FINALIZING, UNMARK), HELD, seen=marked(SEEN, mark))
    assert [each.kind for each in found.acts] == (acts or ["unmark_node"])


def test_a_cron_job_without_its_recurring_job_counts_and_a_recurring_job_without_its_cron_job_too() -> None:
    jobs = [recurring_work("a", {"spec": {"task": "backup", "groups": ["g"]}}), recurring_work("b", {})]
    cron = {"metadata": {"annotations": {"upgrade.stateful/undo": "{}"}}, "spec": {"suspend": True}}
    started = [
        started_jobs("b", {**cron, "status": {"active": [{"name": "b-1"}]}}),
        started_jobs("c", {"metadata": {}, "spec": {}}),
    ]
    assert with_cron_jobs(jobs, started) == (
        RecurringWork("a", "backup", frozenset({"g"})),
        RecurringWork("b", cron_job=True, suspended=True, running=("b-1",), carries_undo=True),
        RecurringWork("c", cron_job=True),
    )


VOLUMES = (Volume("v", SPREAD, "n1", groups=("default",)), Volume("w", ("n2", "n3"), "n2"))
OFFERS = ("", "design", "v1.13")


def more_than(driver: Driver, runs: int) -> bool:
    return len(driver.longhorn.cron_jobs.started) > runs


def recurring(offers: str = "", minutes: int = 1) -> InMemory:
    machines = tuple(Machine(name) for name in NODES_OF_THREE)
    jobs = (Recurring("daily", ("default",), minutes),)
    return InMemory(Described(machines, VOLUMES, offers=offers, frontends_outlive=True, jobs=jobs), pace=QUICK)


def is_let_go(driver: Driver) -> bool:
    item = driver.longhorn.get(CRON_JOBS, "daily")
    return not item["spec"].get("suspend") and "upgrade.stateful/undo" not in item["metadata"]["annotations"]


def at_work(driver: Driver) -> bool:
    return bool(driver.longhorn.get(CRON_JOBS, "daily").get("status", {}).get("active"))


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


def started_while_closed(driver: Driver) -> list[str]:
    """The runs that start from now on while a run of the collection keeps a node out of scheduling."""
    found: list[str] = []

    def note(kind: object, item: Json, _gone: bool) -> None:
        active = item.get("status", {}).get("active") if kind == CRON_JOBS else None
        closed = [each for each in driver.longhorn.objects.all(NODES) if not each["spec"]["allowScheduling"]]
        if active and closed and not item["spec"].get("suspend"):
            found.append(active[0]["name"])

    driver.longhorn.objects.listeners.append(note)
    return found


def test_no_run_starts_while_engines_move(drive: type[Driver]) -> None:
    driver = drive(recurring(minutes=30))
    started = started_while_closed(driver)
    due = partial(driver.longhorn.cron_jobs.due, "daily")
    driver.longhorn.faults.when(NODES, lambda item: not item["spec"]["allowScheduling"], due)
    assert driver.switch("n1").verdict.passed
    assert started == []
    assert driver.longhorn.until(lambda: driver.longhorn.cron_jobs.started, 5), "it starts once it is let go"


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
