"""What is due of recurring jobs in each state of a node, and how they are read. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
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
    OwnedJob,
    owned_job,
    recurring_work,
    started_jobs,
    with_cron_jobs,
    with_jobs,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import Longhorn, RecurringWork

from tests.unit.plugins.module_utils.longhorn.world import NEW, marked, with_volume, world

DAILY = RecurringWork("daily", "backup", frozenset({"default"}), cron_job=True)
HELD = replace(DAILY, suspended=True, carries_undo=True)
SEEN = with_volume(world({"v": ("n1", ("n1", "n2"))}), "v", jobs=frozenset({"daily"}))
DELETE, MARK, UNMARK = Act("delete_manager", "im"), Act("mark_node", "n1"), Act("unmark_node", "n1")
SNAPSHOT, MOVE, CREATE = Act("snapshot", "v"), Act("move_engine", "v"), Act("create_upgrade", "n1")
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


def judged(
    found: SwitchStep,
    *jobs: RecurringWork,
    seen: Longhorn = SEEN,
    image: str = NEW,
    quiet: Collection[str] = ("daily", "weekly"),
) -> SwitchStep:
    wanted = WantedSwitch("n1", image, quiet=frozenset(quiet))
    return with_jobs_held(lambda _seen, _wanted: found)(replace(seen, jobs=jobs), wanted)


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


@pytest.mark.parametrize(
    ("stage", "act"),
    [
        (SwitchStage.REPLACING, DELETE),
        (SwitchStage.SWITCHING_OVER, MOVE),
        (SwitchStage.UNDEFINED, CREATE),
    ],
)
def test_what_no_job_may_meet_waits_until_none_can_start_any_more(stage: SwitchStage, act: Act) -> None:
    due = judged(step(stage, act), HELD, quiet=())
    assert (due.acts, [each.code for each in due.verdict.reasons]) == ((), ["recurring_jobs_settle"])
    assert "suspended less than 10 s ago: daily" in due.verdict.reasons[0].message
    assert [each.code for each in judged(step(stage, act), RUNS, quiet=()).verdict.reasons] == ["recurring_job_runs"]
    assert judged(step(stage, act), HELD).acts == (act,)


@pytest.mark.parametrize("act", [MARK, SNAPSHOT])
def test_what_a_job_may_meet_does_not_wait(act: Act) -> None:
    assert judged(step(SwitchStage.INITIALIZING, act), HELD, quiet=()).acts == (act,)


def test_nothing_waits_for_jobs_that_the_run_has_not_held_off() -> None:
    found = step(SwitchStage.REPLACING, DELETE)
    assert judged(found, replace(DAILY, suspended=True), quiet=()) == found
    assert judged(found, replace(HELD, name="of another volume"), quiet=()) == found


def test_a_job_of_a_cron_job_that_is_gone_is_waited_for() -> None:
    due = judged(step(SwitchStage.REPLACING, DELETE), RecurringWork("daily", "backup", running=("daily-1",)))
    assert (due.acts, [each.code for each in due.verdict.reasons]) == ((), ["recurring_job_runs"])


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


def owned(owners: list[tuple[str, str]], *conditions: tuple[str, str]) -> OwnedJob:
    metadata = {"ownerReferences": [{"kind": kind, "name": name} for kind, name in owners]}
    said = [{"type": type_, "status": status} for type_, status in conditions]
    return owned_job("daily-1", {"metadata": metadata, "status": {"conditions": said} if said else {}})


@pytest.mark.parametrize(
    ("conditions", "ended"),
    [
        ([], False),
        ([("Complete", "True")], True),
        ([("Failed", "True")], True),
        ([("Complete", "False"), ("FailureTarget", "True"), ("Suspended", "True")], False),
    ],
)
def test_a_job_has_ended_once_it_is_complete_or_has_failed(conditions: list[tuple[str, str]], ended: bool) -> None:
    assert owned([("CronJob", "daily")], *conditions) == OwnedJob("daily-1", frozenset({"daily"}), ended)


def test_a_job_without_an_owner_or_a_status_is_read() -> None:
    assert owned_job("uninstall", {"metadata": {}}) == OwnedJob("uninstall", frozenset(), ended=False)
    assert owned([("Job", "daily")]).owners == frozenset()


def test_the_jobs_that_a_cron_job_does_not_name_count_too() -> None:
    jobs = (replace(DAILY, running=("daily-1",)), replace(DAILY, name="weekly"))
    there = [
        OwnedJob("daily-1", frozenset({"daily"}), ended=False),
        OwnedJob("daily-2", frozenset({"daily"}), ended=False),
        OwnedJob("daily-3", frozenset({"daily"}), ended=True),
        OwnedJob("other", frozenset(), ended=False),
    ]
    assert [each.running for each in with_jobs(jobs, there)] == [("daily-1", "daily-2"), ()]
