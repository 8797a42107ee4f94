"""The record before the start: whatever the looks before it found, the run that starts finds the same upgrade."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Deed, Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    Record,
    batch_changed,
    begun,
    ended,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.schedule import Schedule
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.scheduling import (
    StartFindings,
    before_start,
    reported_late,
)
from hypothesis import given
from hypothesis import strategies as st

AT = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
NIGHT, NEXT = (Schedule(AT + timedelta(days=days), timedelta(hours=2)) for days in (0, 1))
PLAN: dict[str, Any] = {
    "cluster_uuid": "uuid",
    "target_version": "3.8.0",
    "digest": "p1",
    "deployed_version": "2.19.6",
    "before": {"a": "2.19.6"},
    "members": ["a"],
    "left": [],
    "pools": [{"name": "data", "status": "pending", "members": ["a"]}],
    "batches": [{"name": "b1", "pools": ["data"], "members": ["a"], "cures": False}],
}
EARLY = Verdict((waiting("starts_later", "It starts later."),))
OVER = Verdict((refused("window_over", "The window is over.", "Choose another."),))
LOOKS = st.lists(
    st.tuples(
        st.sampled_from([EARLY, Verdict()]),
        st.lists(st.sampled_from(["A member is gone.", "A disk is full."]), unique=True, max_size=2).map(tuple),
        st.booleans(),
    ),
    max_size=6,
)
"""Whether the time has come, what hinders the start, and whether the upgrade is late."""


def looked(looks: list[Any], record: Record | None = None, schedule: Schedule = NIGHT) -> Record | None:
    for number, (start, blockers, late) in enumerate(looks):
        at = f"2026-11-21T01:00:{number:02}Z"
        record = before_start(record, PLAN, schedule, StartFindings(start, blockers, late), "ops", at) or record
    return record


@given(LOOKS)
def test_the_run_that_begins_is_the_same_whatever_was_seen_before(looks: list[Any]) -> None:
    before = looked(looks)
    assert before is None or (before.phase, before.run) == (Phase.PENDING, "")
    if before is not None:
        assert parse_record(record_text(before, 100_000), "here") == before
    started = begun(before, PLAN, "night", "ops", "2026-11-21T02:00:00Z")
    undisturbed = begun(None, PLAN, "night", "ops", "2026-11-21T02:00:00Z")
    assert started is not None
    assert undisturbed is not None
    assert replace(started, start=None, events=()) == replace(undisturbed, start=None, events=())
    assert started.history[-1] == undisturbed.history[-1]


@given(LOOKS, LOOKS)
def test_an_upgrade_that_a_run_has_begun_keeps_all_but_its_moments(early: list[Any], later: list[Any]) -> None:
    started = begun(looked(early), PLAN, "night", "ops", "2026-11-21T02:00:00Z")
    under_way = batch_changed(started, "b1", "upgrading", "2026-11-21T02:00:01Z", [], [])
    paused = ended(under_way, UpgradeEvent.PAUSED, "The window is over.", "2026-11-21T02:00:02Z")
    after = looked(later, paused, NEXT)
    assert paused is not None
    assert after is not None
    assert replace(after, start=None, updated="") == replace(paused, start=None, updated="")
    assert looked([(OVER, (), False)], after, NEXT) == after


def test_a_window_that_no_run_has_used_fails_and_the_next_one_begins_anew() -> None:
    pending = looked([(EARLY, (), False)])
    moved = looked([(OVER, (), False)], pending, NEXT)
    assert moved is not None
    assert moved.start is not None
    assert (moved.phase, moved.start.is_of(NEXT)) == (Phase.FAILED, True)
    failed = looked([(OVER, (), False)], pending)
    assert failed is not None
    assert (failed.phase, failed.reason) == (Phase.FAILED, "The window is over.")
    again = looked([(EARLY, (), False)], failed, NEXT)
    assert again is not None
    assert (again.phase, [entry.phase for entry in again.history]) == (Phase.PENDING, ["Pending", "Failed", "Pending"])


def test_a_window_that_is_over_before_any_pass_has_noted_the_upgrade_fails() -> None:
    missed, times = [(OVER, (), False)], ("2026-11-21T02:00:00Z", "2026-11-21T04:00:00Z")
    failed = looked(missed)
    assert failed is not None
    assert failed.start is not None
    assert (failed.phase, failed.reason, failed.codes) == (Phase.FAILED, "The window is over.", ("window_over",))
    assert (failed.start.at, failed.start.end, failed.run) == (*times, "")
    seen = StartFindings(OVER, (), False)
    assert before_start(failed, PLAN, NIGHT, seen, "ops", "later") is None
    other = before_start(failed, PLAN, NEXT, seen, "ops", "later")
    assert other is not None
    assert (other.phase, [entry.phase for entry in other.history]) == (Phase.FAILED, ["Failed", "Failed"])
    new = replace(failed, phase=Phase.NEW, reason="It was refused.", start=None, events=())
    assert looked(missed, new) == failed


def test_an_upgrade_that_was_completed_or_is_under_way_keeps_its_record_or_not() -> None:
    missed, night = [(OVER, (), False)], "2026-11-21T02:00:00Z"
    started = begun(None, PLAN, "night", "ops", night)
    assert started is not None
    before = replace(started, target_version="2.19.7")
    assert looked(missed, before) == before
    done = ended(before, UpgradeEvent.COMPLETED, "Done.", night)
    failed = looked(missed, done)
    assert failed is not None
    assert (failed.phase, failed.target_version, failed.run) == (Phase.FAILED, "3.8.0", "")
    assert [each.version for each in failed.upgrades] == [each.version for each in before.upgrades]


def test_a_start_that_no_longer_fits_is_no_failure_of_an_upgrade_without_a_record() -> None:
    short = Verdict((refused("window_too_short", "It does not fit.", "Give a longer one."),))
    assert looked([(short, (), False)]) is None


def test_a_delay_is_told_with_its_cause_and_is_forgotten_with_another_moment() -> None:
    late = looked([(EARLY, (), False), (Verdict(), ("A disk is full.",), True)])
    assert late is not None
    assert late.history[-1].message.endswith("it was to start at 2026-11-21T02:00:00Z: A disk is full.")
    assert (reported_late([late], NIGHT), reported_late([late], NEXT)) == (True, False)
    other = looked([(EARLY, (), False)], late, NEXT)
    assert other is not None
    assert not reported_late([other], NEXT)


def test_an_upgrade_without_a_batch_is_not_noted() -> None:
    nothing = {**PLAN, "batches": []}
    assert before_start(None, nothing, NIGHT, StartFindings(EARLY, (), False), "ops", "now") is None


def test_a_pass_that_is_too_early_for_a_look_keeps_the_findings_of_the_last_one() -> None:
    unseen = before_start(
        None, PLAN, NIGHT, StartFindings(EARLY, ("A disk is full.",), False, noted=False), "ops", "t0"
    )
    assert unseen is not None
    assert unseen.start is not None
    assert (unseen.phase, unseen.start.checked, unseen.start.findings) == (Phase.PENDING, "", ())
    first = looked([(EARLY, ("A disk is full.",), False)])
    again = before_start(first, PLAN, NIGHT, StartFindings(EARLY, (), False, noted=False), "ops", "t1")
    assert first is not None
    assert again is not None
    assert again.start == first.start
    assert again.history == first.history


@given(LOOKS, LOOKS)
def test_an_aborted_upgrade_stays_aborted_whatever_is_seen_before_its_start(early: list[Any], later: list[Any]) -> None:
    """Its reason and its time are those of the abort, and no look is refused."""
    for started in (looked([(EARLY, (), False), *early]), begun(None, PLAN, "night", "ops", "2026-11-21T00:30:00Z")):
        aborted = ended(started, UpgradeEvent.ABORTED, "Aborted on request.", "2026-11-21T00:40:00Z")
        assert aborted is not None
        assert looked(later, aborted, NEXT) == aborted
        restart = replace(aborted, deed=Deed.RESTART)
        assert looked(later, restart, NEXT) == restart, "nor does an upgrade take its place"


def test_an_upgrade_that_supersedes_an_aborted_one_is_scheduled() -> None:
    aborted = ended(looked([(EARLY, (), False)]), UpgradeEvent.ABORTED, "Aborted.", "2026-11-21T00:40:00Z")
    findings = StartFindings(EARLY, (), late=False)
    plan = {**PLAN, "consents": {"supersede": ""}}
    scheduled = before_start(aborted, plan, NEXT, findings, "ops", "2026-11-21T01:00:00Z")
    assert scheduled is not None
    assert (scheduled.phase, scheduled.reason) == (Phase.PENDING, "")
