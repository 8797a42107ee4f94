"""The record over several runs, each with a plan of its own, and that of a restart."""

from __future__ import annotations

import json
from dataclasses import replace

from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.report import report_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import earlier_of, has_commenced
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import KEPT_TRIES, ImageRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import (
    Condition,
    FailureClass,
    StepState,
    after_step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Deed, Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import begun, ended
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.approvals import Hold
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.recorded_start import Start
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_record import (
    NEW,
    Json,
    changed,
    first,
    plan,
)


def numbered(*going: str) -> Json:
    """A plan as it really is: each counts its batches from one, whatever earlier runs have done."""
    made = plan(*going)
    return {**made, "batches": [{**each, "name": f"batch-{n:02d}"} for n, each in enumerate(made["batches"], 1)]}


def test_each_plan_counts_its_batches_from_one_and_those_of_earlier_runs_keep_their_times() -> None:
    record = begun(None, numbered("c", "b", "a"), "night", "ops", "t0")
    record = changed(changed(record, "batch-01", "upgrading", "t1"), "batch-01", "done", "t2", {"total_seconds": 30})
    record = begun(changed(record, "batch-02", "failed", "t3"), numbered("b", "a"), "day", "dev", "t4")
    record = changed(changed(record, "batch-01", "upgrading", "t5"), "batch-01", "done", "t6")
    record = begun(record, numbered("a"), "noon", "dev", "t7")
    record = changed(changed(record, "batch-01", "upgrading", "t8"), "batch-01", "done", "t9")
    found = [(each.name, each.members, each.run, each.started, each.ended) for each in record.batches]
    assert found == [
        ("batch-01 (run 1)", ("c",), "night", "t1", "t2"),
        ("batch-01 (run 2)", ("b",), "day", "t5", "t6"),
        ("batch-01", ("a",), "noon", "t8", "t9"),
    ]
    assert record.batches[0].took == ({"total_seconds": 30},)


def imaged(images: dict[str, str], after: str = "im:2") -> Json:
    """A plan that names the image of each member, and the one to which it leads."""
    made = numbered(*images)
    batches = [{**each, "images": {name: images[name] for name in each["members"]}} for each in made["batches"]]
    return {**made, "batches": batches, "image": after}


def test_the_image_before_is_that_of_the_first_plan_also_after_a_kill() -> None:
    record = begun(None, imaged({"a": "im:1", "b": "im:1"}), "night", "ops", "t0")
    record = changed(record, "batch-01", "upgrading", "t1")
    record = begun(record, imaged({"a": "im:2", "b": "im:1"}), "day", "dev", "t2")
    assert record is not None
    assert [each.images for each in record.batches] == [
        (ImageRecord("a", "im:1", "im:2"),),
        (ImageRecord("b", "im:1", "im:2"),),
    ]
    assert parse_record(json.dumps(record.as_result()), record.cluster).batches == record.batches
    other = begun(record, imaged({"a": "im:2", "b": "im:1"}, "im:3"), "noon", "dev", "t3")
    assert other is not None
    assert other.batches[0].images == (ImageRecord("a", "im:2", "im:3"),)


def test_a_batch_that_was_stopped_and_is_taken_again_is_one_batch_with_two_tries() -> None:
    record = begun(None, numbered("c", "b", "a"), "night", "ops", "2026-11-23T02:00:00Z")
    record = changed(
        changed(record, "batch-01", "upgrading", "2026-11-23T02:00:00Z"), "batch-01", "done", "2026-11-23T02:00:10Z"
    )
    record = changed(record, "batch-02", "upgrading", "2026-11-23T02:00:10Z")
    away = {"name": "b", "action": "replaced", "total_seconds": 4.0, "stop_seconds": 4.0}
    record = changed(record, "batch-02", "failed", "2026-11-23T02:00:20Z", away)
    record = begun(record, numbered("b", "a"), "day", "dev", "2026-11-23T02:00:21Z")
    assert record is not None
    (bar,) = [each for each in report_of(record).bars if each.members == ("b",)]
    assert (bar.name, bar.state, bar.number, bar.tries) == ("batch-01", "stopped", 1, 2)
    record = changed(record, "batch-01", "upgrading", "2026-11-23T02:00:21Z")
    record = changed(record, "batch-01", "done", "2026-11-23T02:00:30Z", away)
    made = report_of(record)
    assert [(each.name, each.row, each.state, each.number, each.tries, each.seconds) for each in made.bars] == [
        ("batch-01 (run 1)", 0, "done", 1, 1, 10.0),
        ("batch-01", 1, "stopped", 1, 2, 10.0),
        ("batch-01", 1, "done", 2, 2, 9.0),
    ]
    assert (made.rows, made.repeated, made.members, made.runs, len(record.batches)) == (2, 1, 3, 2, 3)
    assert dict(made.phases)["stop"] == 8.0
    assert parse_record(json.dumps(record.as_result()), "here") == record


def test_a_try_goes_to_one_of_the_batches_that_take_its_members_again() -> None:
    together = {"name": "batch-01", "pools": ["data"], "members": ["a", "b", "c"], "cures": False}
    record = begun(None, {**numbered("c", "b", "a"), "batches": [together]}, "night", "ops", "2026-11-23T02:00:00Z")
    record = changed(record, "batch-01", "upgrading", "2026-11-23T02:00:00Z")
    # The run was killed after "c" was back.
    record = begun(record, numbered("b", "a"), "day", "dev", "2026-11-23T02:05:00Z")
    record = changed(record, "batch-01", "upgrading", "2026-11-23T02:05:11Z")
    record = changed(record, "batch-02", "upgrading", "2026-11-23T02:05:12Z")
    made = report_of(record)
    assert [(each.members, each.row, each.state, each.number, each.tries) for each in made.bars] == [
        (("a", "b", "c"), 0, "interrupted", 1, 2),
        (("b",), 0, "upgrading", 2, 2),
        (("a",), 1, "upgrading", 2, 2),
    ]
    assert (made.repeated, made.members, made.at_work) == (1, 3, 61.0 - 60.0)


def test_a_pass_that_only_waited_is_no_try_and_the_first_and_the_newest_stay() -> None:
    record = first("b", "a")
    for number in range(KEPT_TRIES + 3):
        record = changed(record, "batch-01.b", "upgrading", f"t{number:02d}")
        record = changed(record, "batch-01.b", "failed", f"t{number:02d}")
        record = begun(record, plan("b", "a"), f"run-{number:02d}", "ops", f"t{number:02d}") or record
    waiting = changed(changed(record, "batch-01.b", "upgrading", "t80"), "batch-01.b", "waiting", "t81")
    after = begun(waiting, plan("b", "a"), "day", "ops", "t90")
    assert after is not None
    assert [each.started for each in after.batches[0].tries] == ["t00", *(f"t{number:02d}" for number in range(4, 13))]
    assert after.batches[0].tries == record.batches[0].tries
    down = changed(record, "batch-01.b", "upgrading", "t80")
    down = changed(down, "batch-01.b", "waiting", "t81", {"name": "b", "action": "replaced"})
    after = begun(down, plan("b", "a"), "day", "ops", "t90")
    assert after is not None
    assert after.batches[0].tries[-1].started == "t80"


def test_a_step_that_no_run_takes_any_more_is_not_left_in_progress() -> None:
    steps: tuple[Condition, ...] = ()
    for name, state in (("snapshot", StepState.IN_PROGRESS), ("approval", StepState.COMPLETED)):
        steps = after_step(steps, name, state, "", "t0")
    night = replace(first("b", "a"), conditions=steps)
    day = begun(night, plan("b", "a"), "day", "dev", "t3")
    assert day is not None
    day = replace(day, conditions=after_step(day.conditions, "alerts", StepState.IN_PROGRESS, "they fire", "t4"))
    stopped, completed = (
        ended(day, event, "Stopped.", "t5") for event in (UpgradeEvent.STOPPED, UpgradeEvent.COMPLETED)
    )
    assert stopped is not None
    assert completed is not None
    assert [each.type for each in stopped.conditions] == ["snapshot", "approval", "alerts"]
    assert [each.type for each in completed.conditions] == ["approval", "alerts"]


def test_a_step_that_was_taken_out_is_not_in_progress_once_a_batch_starts() -> None:
    night = replace(first("b", "a"), conditions=after_step((), "backup", StepState.IN_PROGRESS, "it waits", "t0"))
    day = begun(night, plan("b", "a"), "day", "dev", "t3")
    assert day is not None
    assert [each.type for each in day.conditions] == ["backup"]
    assert changed(day, "batch-01.b", "upgrading", "t4").conditions == ()
    taken = replace(day, conditions=after_step(day.conditions, "backup", StepState.COMPLETED, "", "t4"))
    assert [each.type for each in changed(taken, "batch-01.b", "upgrading", "t5").conditions] == ["backup"]


def test_a_restart_is_told_as_one() -> None:
    """Its members are on the target version from the start, and each is left until its batch is done."""
    given = {**plan("b", "a"), "before": dict.fromkeys("abc", NEW), "deed": "restart"}
    record = begun(None, given, "night", "ops", "t0")
    assert record is not None
    assert (record.title, [entry.message for entry in record.history]) == (
        "restart",
        ["begins: restart, 2 members, plan p1"],
    )
    assert [(pool.status, pool.left) for pool in record.pools] == [("pending", ("a", "b"))]
    record = changed(record, "batch-01.b", "upgrading")
    assert [(pool.status, pool.left) for pool in record.pools] == [("restarting", ("a", "b"))]
    record = changed(changed(record, "batch-01.b", "done"), "batch-02.a", "done")
    assert [(pool.status, pool.left) for pool in record.pools] == [("restarted", ())]
    assert parse_record(json.dumps(record.as_result()), "here") == record
    assert report_of(record).title == "Restart"
    assert report_of(replace(first("a"), system="OpenSearch")).title == f"Upgrade of OpenSearch to {NEW}"


def restarting(*going: str) -> Json:
    return {**plan(*going), "deed": "restart"}


def test_a_restart_takes_neither_the_start_nor_the_approvals_of_an_unfinished_upgrade_to_its_version() -> None:
    upgrade = changed(first("b", "a"), "batch-01.b", "upgrading")
    upgrade = upgrade.with_events(happened(EventKind.APPROVED, "t2", "", "canary", by="ops"))
    restart = begun(upgrade, restarting("b", "a"), "day", "dev", "t3")
    again = begun(upgrade, plan("b", "a"), "day", "dev", "t3")
    assert restart is not None
    assert again is not None
    assert ([each.name for each in again.approvals], restart.approvals) == (["canary"], ())
    assert has_commenced([upgrade], NEW, upgrade.cluster)
    assert not has_commenced([upgrade], NEW, upgrade.cluster, Deed.RESTART)


def test_a_restart_continues_nothing_of_an_unfinished_upgrade_to_its_version() -> None:
    upgrade = changed(first("b", "a"), "batch-01.b", "upgrading", "t1")
    upgrade = changed(upgrade, "batch-01.b", "done", "t2", {"total_seconds": 30})
    steps = after_step((), "dependencies", StepState.IN_PROGRESS, "It is red.", "t2", FailureClass.FAILED)
    upgrade = replace(upgrade, conditions=steps, waited=({"code": "moving"},), start=Start("t0", "t9", "start"))
    upgrade = upgrade.with_events(happened(EventKind.ACCEPTED, "t1", "night", "allow_red", by="ops"))
    restart = begun(upgrade, restarting("a"), "day", "dev", "t3")
    assert restart is not None
    assert ([each.members for each in restart.batches], restart.batches_done) == ([("a",)], 0)
    assert (restart.started, restart.phase.value, restart.start) == ("t3", "Pending", None)
    assert (restart.conditions, restart.waited, restart.risks) == ((), (), ())
    assert restart.history[-1].message.startswith("begins: restart")
    assert earlier_of([upgrade], NEW, restarting("a")) == {}
    assert earlier_of([upgrade], NEW, plan("a"))["done"] == 1


def test_a_restart_that_has_nothing_to_do_ends_no_unfinished_upgrade() -> None:
    upgrade = changed(first("a"), "batch-01.a", "failed", "t1")
    assert begun(upgrade, restarting(), "day", "dev", "t3") is None
    again = begun(upgrade, plan(), "day", "dev", "t3")
    assert again is not None, "a run of the upgrade itself ends it"


def test_a_pause_that_comes_before_the_start_of_another_upgrade_is_kept_for_it() -> None:
    paused = changed(first("a"), "batch-01.a", "failed", "t1")
    paused = paused.with_events(happened(EventKind.HELD, "t2", message="Sale", by="ops"))
    for wanted in (plan("a", target="3.9.0"), restarting("a")):
        another = begun(paused, wanted, "day", "dev", "t3")
        assert another is not None
        assert another.hold == Hold("ops", "t2", "Sale")
    resumed = paused.with_events(happened(EventKind.RESUMED, "t3", by="ops"))
    for over in (resumed, replace(paused, phase=Phase.COMPLETED)):
        another = begun(over, restarting("a"), "day", "dev", "t4")
        assert another is not None
        assert another.hold is None


def test_members_ahead_count_as_batches_only_without_a_record_of_an_upgrade_to_their_version() -> None:
    """Those of a completed upgrade are known: a member that comes to it later is upgraded alone."""
    unknown = first("a")
    assert (unknown.uncounted, unknown.batches_done, unknown.batches_passed) == (2, 0, 2)
    former = replace(first("c", "b", "a"), target_version="2.19.5", phase=Phase.COMPLETED)
    completed = replace(first("c", "b", "a"), phase=Phase.COMPLETED)
    for previous, uncounted in ((former, 2), (completed, 0), (changed(unknown, "batch-01.a", "failed", "t2"), 2)):
        following = begun(previous, plan("a"), "day", "dev", "t3")
        assert following is not None
        assert following.uncounted == uncounted
    assert first("c", "b", "a").uncounted == 0
