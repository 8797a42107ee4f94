"""The next step of work that something else carries out on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.node_updates import (
    NodeStep,
    WantedWork,
    fields_to_change,
    labels_of,
    next_step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.node_updates import (
    FailureKind,
    NodePhase,
    NodeUpdate,
)
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 11, 28, tzinfo=timezone.utc)
BUDGETS: Mapping[FailureKind, int] = {FailureKind.TRANSIENT: 2, FailureKind.UNREACHABLE: 1, FailureKind.TERMINAL: 9}
WANTED = WantedWork("new", True, BUDGETS)
READY, FAILED, ABORTED = NodePhase.READY, NodePhase.FAILED, NodePhase.ABORTED


def seen(**own: Any) -> NodeUpdate:
    given_: dict[str, Any] = {
        "name": "w-0-after",
        "uid": "7",
        "resource_version": "1",
        "machine": "w-0",
        "digest": "new",
        "attempt": 1,
        "aborting": False,
        "deadline": NOW + timedelta(minutes=5),
        "leaving": False,
        "phase": NodePhase.IN_PROGRESS,
        "observed_attempt": 1,
        "failure": FailureKind.TERMINAL,
        "failure_reason": "",
        "failure_message": "",
    }
    return NodeUpdate(**{**given_, **own})


LATE = {"deadline": NOW - timedelta(seconds=1)}


@pytest.mark.parametrize(
    ("own", "step"),
    [
        ({}, NodeStep.FOLLOW),
        ({"phase": NodePhase.PENDING, "observed_attempt": 0}, NodeStep.FOLLOW),
        ({"phase": READY}, NodeStep.READY),
        ({"phase": READY, "attempt": 2}, NodeStep.FOLLOW),
        ({"phase": FAILED, "attempt": 2}, NodeStep.FOLLOW),
        ({"digest": "old"}, NodeStep.ABORT),
        ({"digest": "old", "aborting": True}, NodeStep.FOLLOW),
        ({"digest": "old", "phase": READY}, NodeStep.REPLACE),
        ({"digest": "old", "phase": FAILED}, NodeStep.REPLACE),
        (LATE, NodeStep.ABORT),
        ({**LATE, "aborting": True}, NodeStep.FOLLOW),
        ({**LATE, "aborting": True, "phase": ABORTED}, NodeStep.FAILED),
        ({**LATE, "phase": READY}, NodeStep.READY),
        ({"phase": ABORTED}, NodeStep.RETRY),
        ({"phase": READY, "leaving": True}, NodeStep.FOLLOW),
        ({"phase": FAILED}, NodeStep.FAILED),
        ({"phase": FAILED, "failure": FailureKind.TRANSIENT}, NodeStep.RETRY),
        ({"phase": FAILED, "failure": FailureKind.TRANSIENT, "retried": {FailureKind.TRANSIENT: 2}}, NodeStep.FAILED),
        ({"phase": FAILED, "failure": FailureKind.UNREACHABLE, "retried": {FailureKind.TRANSIENT: 2}}, NodeStep.RETRY),
    ],
)
def test_each_step(own: dict[str, Any], step: NodeStep) -> None:
    assert next_step(seen(**own), WANTED, NOW).step is step


def test_nothing_is_started_where_nothing_differs_or_the_upgrade_is_aborted() -> None:
    assert next_step(None, WANTED, NOW).step is NodeStep.CREATE
    assert next_step(None, replace(WANTED, differs=False), NOW).step is NodeStep.READY
    assert next_step(None, replace(WANTED, withdrawn=True), NOW).step is NodeStep.ABORTED


@pytest.mark.parametrize("phase", [READY, FAILED, ABORTED])
def test_an_abort_lets_the_work_come_to_its_end(phase: NodePhase) -> None:
    aborted = replace(WANTED, withdrawn=True)
    assert next_step(seen(), aborted, NOW).step is NodeStep.ABORT
    assert next_step(seen(aborting=True), aborted, NOW).step is NodeStep.FOLLOW
    assert next_step(seen(aborting=True, phase=phase), aborted, NOW).step is NodeStep.ABORTED


def test_a_failure_is_named_as_its_upgrader_says_it() -> None:
    given_ = {"phase": FAILED, "failure_reason": "ImageInvalid", "failure_message": "the signature is missing"}
    assert next_step(seen(**given_), WANTED, NOW).cause == "ImageInvalid: the signature is missing"
    spent = {**given_, "failure": FailureKind.UNREACHABLE, "retried": {FailureKind.UNREACHABLE: 1}}
    assert next_step(seen(**spent), WANTED, NOW).cause.endswith("(after 1 retries)")
    assert next_step(seen(phase=FAILED), WANTED, NOW).cause == "no cause is given"


UPDATES = st.builds(
    seen,
    digest=st.sampled_from(["new", "old"]),
    attempt=st.integers(1, 3),
    observed_attempt=st.integers(0, 3),
    aborting=st.booleans(),
    leaving=st.booleans(),
    deadline=st.sampled_from([None, NOW - timedelta(1), NOW + timedelta(1)]),
    phase=st.sampled_from(NodePhase),
    failure=st.sampled_from(FailureKind),
    retried=st.dictionaries(st.sampled_from(FailureKind), st.integers(0, 3)),
)


@given(UPDATES, st.booleans(), st.booleans())
def test_work_that_is_at_work_is_never_started_again_nor_removed(one: NodeUpdate, differs: bool, gone: bool) -> None:
    step = next_step(one, WantedWork("new", differs, BUDGETS, gone), NOW).step
    if one.is_at_work:
        assert step in (NodeStep.FOLLOW, NodeStep.ABORT)
        assert not (one.aborting and step is NodeStep.ABORT), "an abort is asked for once"
    if step is NodeStep.READY:
        assert (one.phase, one.digest) == (READY, "new"), "only its upgrader says that a machine is ready"
    if step is NodeStep.RETRY and one.phase is FAILED:
        assert one.failure is not FailureKind.TERMINAL


@pytest.mark.parametrize(
    ("now", "made_for", "another"),
    [("a", "b", True), ("a", "A", False), ("", "b", False), ("a", "", False), ("", "", False)],
)
@pytest.mark.parametrize("phase", NodePhase)
def test_work_of_a_machine_that_had_the_name_before_is_no_work_on_this_one(
    now: str, made_for: str, another: bool, phase: NodePhase
) -> None:
    wanted = WantedWork("new", True, BUDGETS, system=now)
    decision = next_step(seen(phase=phase, system=made_for, deadline=None), wanted, NOW)
    at_work = phase in (NodePhase.PENDING, NodePhase.IN_PROGRESS)
    assert (decision.step is NodeStep.REPLACE) is (another and not at_work)
    assert (decision.step is NodeStep.FOLLOW) is at_work


SIZE = {"infraMachine": {"kind": "MetalMachine", "spec": {"size": "l", "disk": 1}}}


@pytest.mark.parametrize(
    ("present", "wanted", "done", "fields"),
    [
        (None, {"version": "v1.36.1"}, True, []),
        (None, {"version": "v1.36.1"}, False, ["version"]),
        (None, {"version": "v1.36.1", **SIZE}, True, ["infraMachine"]),
        (SIZE, {"version": "v1.36.1", **SIZE}, True, []),
        (SIZE, {"version": "v1.36.1", **SIZE}, False, ["version"]),
        (
            {"infraMachine": {**SIZE["infraMachine"], "spec": {"size": "m", "disk": 1}}},
            SIZE,
            True,
            ["infraMachine.spec.size"],
        ),
        (
            {},
            {**SIZE, "version": "v1.36.1"},
            False,
            ["version", *(f"infraMachine.{each}" for each in ("kind", "spec.disk", "spec.size"))],
        ),
    ],
)
def test_the_plan_of_a_machine_has_the_fields_that_differ(
    present: Any, wanted: Mapping[str, Any], done: bool, fields: list[str]
) -> None:
    assert fields_to_change(present, wanted, done=done) == fields


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("upgradetask/upgrades/next", "next"),
        ("upgradetask/next", "next"),
        (f"upgradetask/{'n' * 63}", "n" * 63),
        (f"upgradetask/{'n' * 64}", None),
        ("https://requests.example.com/task?cluster=a", None),
        ("/etc/upgrades/my task.yml", None),
        ("configmap/request", "request"),
        ("", None),
    ],
)
def test_only_a_name_that_a_label_can_have_is_one(source: str, value: str | None) -> None:
    assert labels_of(source) == ({} if value is None else {"upgrade.stateful/upgrade-task": value})
