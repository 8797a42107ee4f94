"""A pause or a missing approval holds an upgrade exactly as long as it should."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.approvals import (
    APPROVED,
    PAUSE,
    Approval,
    Hold,
    Point,
    annotated,
    covered,
    faults_of_points,
    judge_aborted,
    judge_approval,
    judge_hold,
    judge_points,
    with_annotations,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.approval_inputs import faults_of_approvals
from hypothesis import given
from hypothesis import strategies as st

AT = "2026-12-01T12:00:00Z"
POINTS = [Point("canary", 1), Point("rest", 2)]


@given(st.integers(0, 5), st.sets(st.sampled_from(["canary", "rest", "other"])))
def test_a_point_holds_from_its_batch_on_until_it_is_approved(done: int, approved: set[str]) -> None:
    verdict = judge_points(POINTS, [Approval(name, "me", AT) for name in sorted(approved)], done)
    waits = {each.about for each in verdict.reasons}
    assert waits == {each.name for each in POINTS if done >= each.after} - approved


def test_an_approval_is_of_a_place_and_not_of_every_point_of_its_name() -> None:
    approvals = [Approval("canary", "me", AT, Point("canary", 1).place)]
    assert judge_points([Point("canary", 1)], approvals, 5).passed
    assert not judge_points([Point("canary", 5)], approvals, 5).passed
    assert judge_points([Point("canary", 5)], [Approval("canary", "me", AT)], 5).passed, "of an earlier version"


def test_an_annotation_approves_no_point_that_has_moved_since() -> None:
    annotations = {APPROVED: "canary"}
    _hold, approvals = with_annotations(None, (), annotations, AT, [Point("canary", 1)])
    assert [each.place for each in approvals] == ["after 1 batch"]
    assert with_annotations(None, approvals, annotations, "later", [Point("canary", 5)]) == (None, approvals)


def test_points_need_a_record_and_no_points_need_none() -> None:
    assert judge_points(POINTS, None, 0).state is State.REFUSED
    assert judge_points([], None, 0).passed


@pytest.mark.parametrize("phase", Phase)
def test_only_an_aborted_upgrade_waits_to_be_resumed(phase: Phase) -> None:
    reasons = judge_aborted(phase, "3.8.0", "Aborted on request.", AT).reasons
    assert [each.code for each in reasons] == (["aborted_on_request"] if phase is Phase.ABORTED else [])
    assert all(f"was aborted at {AT}: Aborted on request." in each.message for each in reasons)
    assert all("the playbook resume" in each.remedy for each in reasons)


def test_consent_covers_the_points_whatever_their_order() -> None:
    assert covered("p1", []) == "p1"
    assert covered("p1", POINTS) == covered("p1", [*reversed(POINTS)])
    others = [Point("canary", 2), Point("rest", 2)]
    digests = {covered("p1", []), covered("p1", POINTS), covered("p1", POINTS[:1]), covered("p1", others)}
    assert len({*digests, covered("p2", POINTS)}) == 5


@pytest.mark.parametrize(
    ("name", "done", "codes"),
    [
        ("canary", 1, []),
        ("canary", 2, []),
        ("canary", 0, ["approval_too_early"]),
        ("canry", 1, ["approval_unknown"]),
    ],
)
def test_only_a_point_that_is_waited_for_is_approved(name: str, done: int, codes: list[str]) -> None:
    reasons = judge_approval(name, POINTS, done).reasons
    assert [each.code for each in reasons] == codes
    assert all(name in each.message and "status" in each.remedy for each in reasons)


def test_a_name_that_is_no_point_is_answered_with_those_that_are() -> None:
    (said,) = judge_approval("canry", POINTS, 1).reasons
    assert "Its points: canary (after 1 batch), rest (after 2 batches)." in said.message
    (said,) = judge_approval("canry", [], 1).reasons
    assert "It has none at all." in said.message


def test_a_wait_names_the_playbook_and_an_annotation_that_names_no_point() -> None:
    (said,) = judge_points(POINTS, [], 1, ["canry"]).reasons
    assert "playbook approve" in said.remedy
    assert "names canry, but there is no such point" in said.message


def test_annotations_say_the_same_and_are_noted_once() -> None:
    annotations = {PAUSE: "a storm", APPROVED: " canary,, rest, canry ", "other": "x"}
    assert annotated(annotations) == ["canary", "rest", "canry"]
    hold, approvals = with_annotations(None, [Approval("rest", "me", AT)], annotations, AT, POINTS)
    assert [each.name for each in approvals] == ["rest", "canary"]
    assert "a storm." in judge_hold(hold).reasons[0].message
    assert with_annotations(hold, approvals, annotations, "later", POINTS) == (hold, approvals)
    assert with_annotations(None, (), {}, AT, POINTS) == (None, ())
    assert judge_hold(None).passed
    assert judge_hold(Hold("me", AT, "")).reasons[0].message == f"The upgrade has been paused by me since {AT}."


@pytest.mark.parametrize(
    ("points", "fault"),
    [
        ([{"name": "a,b", "after": 1}], "without commas"),
        ([{"name": "a", "after": 1}, {"name": "a", "after": 2}], "the name of another point"),
    ],
)
def test_points_that_could_not_be_approved_are_faults(points: list[dict[str, Any]], fault: str) -> None:
    (said,) = faults_of_points(points)
    assert fault in said
    (also,) = faults_of_approvals({"upgrade_approvals": points})
    assert also == said


def test_approvals_without_a_record_are_a_fault() -> None:
    given: dict[str, Any] = {"upgrade_approvals": [{"name": "a", "after": 1}], "upgrade_record_kept_in": "none"}
    (said,) = faults_of_approvals(given)
    assert "keeps none" in said
